package main

import (
	"bufio"
	"io"
	"slices"
	"strings"
)

// A grid is a table of words and numbers, with a head and perhaps a row of sums, as wide as what is in it. What has no room is cut at its right.
type grid struct {
	screen
	head  []string
	align string // a letter for each column: l, or r for numbers
	rows  [][]string
	total []string // nil = none
}

// without is the grid without a column.
func (g grid) without(title string) grid {
	at := slices.Index(g.head, title)
	cut := func(row []string) []string { return slices.Delete(slices.Clone(row), at, at+1) }
	g.head, g.align = cut(g.head), g.align[:at]+g.align[at+1:]
	g.rows = slices.Clone(g.rows)
	for i := range g.rows {
		g.rows[i] = cut(g.rows[i])
	}
	if g.total != nil {
		g.total = cut(g.total)
	}
	return g
}

func (g grid) print(out io.Writer) error {
	all := append([][]string{g.head}, g.rows...)
	if g.total != nil {
		all = append(all, g.total)
	}
	widths := make([]int, len(g.head))
	for _, row := range all {
		for i, cell := range row {
			widths[i] = max(widths[i], min(columns(cell), cellLimit))
		}
	}
	rest := 0
	for _, w := range widths[1:] {
		rest += len(gap) + w
	}
	widths[0] = min(widths[0], max(g.width-rest, g.width/3, taskLeast)) // a path may be longer than a line
	w := bufio.NewWriter(out)
	for n, row := range all {
		var b strings.Builder
		for i, cell := range row {
			if i == 0 {
				cell = fitEnd(cell, widths[i])
			}
			cell = fit(cell, widths[i])
			space := strings.Repeat(" ", widths[i]-columns(cell))
			if g.align[i] == 'l' {
				b.WriteString(cell + space + gap)
			} else {
				b.WriteString(space + cell + gap)
			}
		}
		text := strings.TrimRight(fit(strings.TrimRight(b.String(), " "), g.width), " ")
		if n == 0 || g.total != nil && n == len(all)-1 {
			text = g.style(bold, text)
		}
		w.WriteString(text + "\n")
	}
	return w.Flush()
}

// fitEnd is fit for a path or a model, of which the end tells more than the beginning.
func fitEnd(text string, room int) string {
	over := columns(text) - room
	if over <= 0 || room < 1 {
		return fit(text, room)
	}
	for gone := 0; gone < over+1 && text != ""; {
		size, w := character(text)
		text, gone = text[size:], gone+w
	}
	return "…" + text
}

// eighths are the parts of a cell of a bar.
var eighths = []string{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"}

// bar is part of whole, in at most so many columns; what is there at all can be seen.
func bar(part, whole float64, cells int) string {
	if !(part > 0) || !(whole > 0) || cells < 1 {
		return ""
	}
	n := max(1, min(int(part/whole*float64(cells)*8+0.5), cells*8))
	return strings.Repeat("█", n/8) + eighths[n%8]
}
