package watch

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// The functions of this file go through clean text by what a reader takes for one character, as the renderer does. The library's
// own Truncate and Wrap count a text in the one way and cut it in the other, so that a line of emoji or of Hindi comes out too wide.

// width is the number of columns that a text takes.
func width(measure ansi.Method, text string) (columns int) {
	for len(text) > 0 {
		c, n := ansi.FirstGraphemeCluster(text, measure)
		columns += n
		text = text[len(c):]
	}
	return columns
}

// cut is the longest beginning of a text, in bytes, that has room in so many columns, and the columns that it takes.
func cut(measure ansi.Method, text string, room int) (bytes, columns int) {
	for bytes < len(text) {
		c, n := ansi.FirstGraphemeCluster(text[bytes:], measure)
		if columns+n > room {
			break
		}
		bytes += len(c)
		columns += n
	}
	return bytes, columns
}

// pad makes a text exactly room columns wide; what is too long ends with an ellipsis.
func pad(measure ansi.Method, text string, room int, right bool) string {
	n, columns := cut(measure, text, room)
	if n < len(text) {
		dots := "…"
		n, columns = cut(measure, text, room-width(measure, dots))
		if columns += width(measure, dots); columns > room {
			dots, n, columns = "", 0, 0
		}
		text = text[:n] + dots
	}
	space := strings.Repeat(" ", room-columns)
	if right {
		return space + text
	}
	return text + space
}

// padLeft does as pad, but keeps the end of what is too long.
func padLeft(measure ansi.Method, text string, room int) string {
	over := width(measure, text) - room
	if over <= 0 {
		return pad(measure, text, room, false)
	}
	for gone := 0; gone < over+width(measure, "…") && text != ""; {
		c, n := ansi.FirstGraphemeCluster(text, measure)
		gone += n
		text = text[len(c):]
	}
	return pad(measure, "…"+text, room, false)
}

// wrap breaks a line into rows of at most room columns, behind a space where there is one.
func wrap(measure ansi.Method, text string, room int) (rows []string) {
	for room > 0 {
		n, _ := cut(measure, text, room)
		if n == len(text) {
			break
		}
		if n == 0 { // a character that is wider than the terminal
			c, _ := ansi.FirstGraphemeCluster(text, measure)
			text = text[len(c):]
			continue
		}
		end := n
		if text[n] != ' ' {
			if at := strings.LastIndexByte(text[:n], ' '); at > 0 && strings.TrimLeft(text[:at], " ") != "" {
				end = at + 1
			}
		}
		rows = append(rows, strings.TrimRight(text[:end], " "))
		text = strings.TrimLeft(text[end:], " ")
		if text == "" {
			return rows
		}
	}
	return append(rows, text)
}
