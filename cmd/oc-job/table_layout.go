package main

import (
	"bufio"
	"io"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"opencode-delegate/cmd/oc-job/watch"
	"opencode-delegate/internal/job"
)

// A line of a table is a row and what is said of it beside.
type line struct {
	watch.Row
	work    string // where its work is; the column is there when one has some
	lineage string // is shown where there is room for all of it
	below   string // is shown on a line of its own
}

// task is the last column: the job's name, if it has one, and what it is to do.
func (l line) task() string {
	if l.Name == "" {
		return l.Task
	}
	return l.Name + ": " + l.Task
}

// A column of the table. The task is none, since it takes the rest.
type column struct {
	title string
	cell  func(line) string
	most  int // columns of the terminal
	right bool
	width int
}

const (
	stateColumn = 1
	gap         = "  "
	// taskLeast is what the task should have: on a narrow terminal the columns behind the state make room for it, the last first.
	taskLeast = 10
)

// A table shows a line for each job. Its columns are as wide as what is in them.
type table struct {
	screen
	cols []column
}

func newTable(s screen, lines []line) table {
	t := table{s, []column{
		{"ID", func(l line) string { return l.ID }, 22, false, 0},
		{"STATE", func(l line) string { return l.State }, 11, false, 0},
		{"TIER", func(l line) string { return l.Tier }, 10, false, 0},
		{"AGE", func(l line) string { return l.Age }, 8, true, 0},
		{"COST", func(l line) string { return l.Cost }, 8, true, 0},
	}}
	if slices.ContainsFunc(lines, func(l line) bool { return l.work != "" }) {
		t.cols = slices.Insert(t.cols, stateColumn+1, column{"WORK", func(l line) string { return l.work }, 9, false, 0})
	}
	used := 0
	for i := range t.cols {
		c := &t.cols[i]
		if s.person {
			c.width = len(c.title)
		}
		for _, l := range lines {
			if c.width < c.most && i < len(t.of(l)) {
				c.width = max(c.width, min(columns(known(c.cell(l))), c.most))
			}
		}
		c.width = min(c.width, max(s.width-used, 0))
		used += c.width + len(gap)
	}
	for n := len(t.cols) - 1; n > stateColumn && s.width-used < taskLeast; n-- {
		used -= t.cols[n].width + len(gap)
		t.cols = t.cols[:n]
	}
	return t
}

// of are the columns of a line. Of a record that cannot be read those behind the state are not known: the problem has their room.
func (t table) of(l line) []column {
	if l.State == string(job.Unreadable) {
		return t.cols[:stateColumn+1]
	}
	return t.cols
}

func (t table) print(out io.Writer, lines []line) error {
	w := bufio.NewWriterSize(out, 32<<10)
	if t.person {
		head, room := t.row(t.cols, func(i int) string { return t.cols[i].title }, "")
		w.WriteString(t.style(bold, strings.TrimRight(head+fit("TASK", room), " ")) + "\n")
	}
	for _, l := range lines {
		text, room := t.row(t.of(l), func(i int) string { return known(t.cols[i].cell(l)) }, stateStyle(job.Phase(l.State)))
		task := fit(l.task(), room)
		if l.lineage != "" && columns(task)+len(gap)+columns(l.lineage) <= room {
			task += gap + t.style(faint, l.lineage)
		}
		w.WriteString(strings.TrimRight(text+task, " ") + "\n")
		if l.below != "" {
			w.WriteString(t.style(faint, fit(gap+l.below, t.width)) + "\n")
		}
	}
	return w.Flush()
}

// row lays cells side by side, a gap behind each. room is what is left for the task.
func (t table) row(cols []column, cell func(i int) string, style string) (text string, room int) {
	var b strings.Builder
	room = t.width
	for i, c := range cols {
		text := fit(cell(i), c.width)
		space := strings.Repeat(" ", c.width-columns(text))
		if i == stateColumn {
			text = t.style(style, text)
		}
		if c.right {
			text, space = space+text, ""
		}
		b.WriteString(text + space + gap)
		room -= c.width + len(gap)
	}
	return b.String(), room
}

// known marks a cell of which nothing is known, so that a program still finds the columns.
func known(cell string) string {
	if cell == "" {
		return "-"
	}
	return cell
}

// columns is how many columns of a terminal a clean text takes at most.
func columns(text string) (n int) {
	for text != "" {
		size, w := character(text)
		text = text[size:]
		n += w
	}
	return n
}

// fit is a clean text in at most so many columns; what is too long ends with an ellipsis.
func fit(text string, room int) string {
	whole, cut, used := 0, 0, 0 // bytes that have room, and that have it beside an ellipsis
	for whole < len(text) {
		size, w := character(text[whole:])
		if used += w; used > room {
			if room <= 0 {
				return ""
			}
			return text[:cut] + "…"
		}
		if whole += size; used < room {
			cut = whole
		}
	}
	return text
}

// character is the size in bytes and the width of what a reader takes for the first character of a text. Some terminals count
// this, older ones each code point of it. Nobody can ask a pipe: the wider holds.
func character(text string) (size, width int) {
	if text[0] < 0x80 && (len(text) == 1 || text[1] < 0x80) {
		return 1, 1
	}
	c, w := ansi.FirstGraphemeCluster(text, ansi.GraphemeWidth)
	return len(c), max(w, ansi.StringWidthWc(c))
}
