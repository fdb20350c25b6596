package watch

import (
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// An entry is one line of a log, and the number of rows that it takes at the present width.
type entry struct {
	text string
	rows int
}

// A log is the log of one job through a window, which follows its end unless the person who looks went up.
type log struct {
	row     Row // what is known of the job
	source  follower
	entries []entry
	rows    int // of all entries
	top     int // the first row in the window
	follows bool
	ended   bool
	trouble string

	measure       ansi.Method
	width, height int
}

func newLog(row Row, source follower) *log {
	return &log{row: row, source: source, follows: true}
}

func (l *log) resize(measure ansi.Method, width, height int) {
	l.measure, l.width, l.height = measure, width, height
	at := l.entryAt(l.top)
	l.rows, l.top = 0, 0
	for i := range l.entries {
		if i == at {
			l.top = l.rows
		}
		l.entries[i].rows = len(l.wrap(l.entries[i].text))
		l.rows += l.entries[i].rows
	}
	l.show()
}

// entryAt is the index of the entry that a row belongs to.
func (l *log) entryAt(row int) int {
	for i, e := range l.entries {
		if row -= e.rows; row < 0 {
			return i
		}
	}
	return len(l.entries)
}

// add takes the next lines and forgets the oldest beyond kept.
func (l *log) add(msg logMsg) {
	for _, text := range msg.lines {
		e := entry{text, len(l.wrap(text))}
		l.entries = append(l.entries, e)
		l.rows += e.rows
	}
	if over := len(l.entries) - kept; over > 0 {
		for _, e := range l.entries[:over] {
			l.rows -= e.rows
			l.top -= e.rows
		}
		l.entries = slices.Delete(l.entries, 0, over)
	}
	l.ended = msg.ended
	if msg.err != nil {
		l.trouble = "cannot read the log: " + msg.err.Error()
	}
	l.show()
}

func (l *log) scroll(n int) {
	if n == 0 {
		return
	}
	l.top += n
	l.follows = l.top >= l.rows-l.height
	l.show()
}

// show moves the window to where it belongs.
func (l *log) show() {
	end := max(l.rows-l.height, 0)
	if l.top = max(min(l.top, end), 0); l.follows {
		l.top = end
	}
}

// window returns the rows that are to be seen.
func (l *log) window() []string {
	var seen []string
	skip := l.top
	for _, e := range l.entries {
		if skip >= e.rows {
			skip -= e.rows
			continue
		}
		seen = append(seen, l.wrap(e.text)[skip:]...)
		skip = 0
		if len(seen) >= l.height {
			return seen[:max(l.height, 0)]
		}
	}
	return seen
}

// wrap breaks a line into the rows that it takes in the window.
func (l *log) wrap(text string) []string {
	return wrap(l.measure, strings.ReplaceAll(text, "\t", "    "), l.width)
}
