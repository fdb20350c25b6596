package watch

import (
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"opencode-delegate/internal/plain"
)

// A column of the table. The last takes what the others leave.
type column struct {
	title string
	text  func(Row) string
	most  int // columns of the terminal at most
	right bool
}

var columns = [...]column{
	{"ID", func(r Row) string { return r.ID }, 24, false},
	{"STATE", func(r Row) string { return r.State }, 12, false},
	{"TIER", func(r Row) string { return r.Tier }, 12, false},
	{"AGE", func(r Row) string { return r.Age }, 10, true},
	{"COST", func(r Row) string { return r.Cost }, 10, true},
	{"TASK", task, 0, false},
}

const (
	idColumn, stateColumn, tierColumn, ageColumn, costColumn, taskColumn = 0, 1, 2, 3, 4, 5

	// gap is between two columns, and before the first, where the selected row has its mark.
	gap = 2
	// taskLeast is what the task should have; other columns make room for it.
	taskLeast = 16
	// idLeast holds the end of an id, which tells jobs of one second apart.
	idLeast = 9
	// longestCell bounds what is looked at of a text, in code points. Accents have no width, so it is more than a screen's.
	longestCell = 1000
)

// task is the name of a job, if it has one, and what it is to do.
func task(r Row) string {
	if r.Name == "" || r.Task == "" {
		return r.Name + r.Task
	}
	return r.Name + ": " + r.Task
}

// A table is a list of jobs, one of them selected, through a window.
type table struct {
	rows   []Row
	at     int // the selected row
	top    int // the first row in the window
	widest [taskColumn]int
}

func (t *table) selected() (Row, bool) {
	if t.at >= len(t.rows) {
		return Row{}, false
	}
	return t.rows[t.at], true
}

// find returns the present row of a job, or the one that is known when it is gone.
func (t *table) find(known Row) Row {
	if i := t.index(known.ID); i >= 0 {
		return t.rows[i]
	}
	return known
}

func (t *table) index(id string) int {
	return slices.IndexFunc(t.rows, func(r Row) bool { return r.ID == id })
}

// set takes a new list. The same job stays selected; in a list that was scrolled it also stays where it is on the screen.
func (t *table) set(rows []Row) {
	before, ok := t.selected()
	t.rows = rows
	if i := t.index(before.ID); ok && i >= 0 {
		if t.top > 0 {
			t.top += i - t.at
		}
		t.at = i
	}
}

func (t *table) move(n int) { t.at += n }

// show moves the window so that the selected row is in it and nothing is left empty.
func (t *table) show(height int) {
	t.at = max(min(t.at, len(t.rows)-1), 0)
	t.top = min(t.top, t.at, len(t.rows)-height)
	t.top = max(t.top, t.at-height+1, 0)
}

// fit measures what the columns need.
func (t *table) fit(measure ansi.Method) {
	for i := range t.widest {
		c := columns[i]
		t.widest[i] = 0
		for _, r := range t.rows {
			if len(c.text(r)) > t.widest[i] && t.widest[i] < c.most {
				t.widest[i] = max(t.widest[i], min(width(measure, plain.Line(c.text(r), longestCell)), c.most))
			}
		}
		if t.widest[i] > 0 || len(t.rows) == 0 {
			t.widest[i] = max(t.widest[i], len(c.title))
		}
	}
}

// widths shares out a line of the terminal; a column with nothing is not shown. What matters least goes first.
func (t *table) widths(room int) [len(columns)]int {
	var w [len(columns)]int
	copy(w[:], t.widest[:])
	left := func() int {
		used := 0
		for _, n := range w[:taskColumn] {
			if n > 0 {
				used += gap + n
			}
		}
		return room - used - gap
	}
	for _, c := range []int{costColumn, tierColumn, ageColumn} {
		if left() < taskLeast {
			w[c] = 0
		}
	}
	if missing := taskLeast - left(); missing > 0 {
		w[idColumn] = max(w[idColumn]-missing, min(w[idColumn], idLeast))
	}
	w[taskColumn] = max(left(), 0)
	return w
}

// line lays cells side by side, exactly room columns wide.
func line(measure ansi.Method, widths [len(columns)]int, room int, mark string, cell func(i int) string) string {
	var b strings.Builder
	for i, n := range widths {
		if n == 0 {
			continue
		}
		if i == 0 {
			b.WriteString(pad(measure, mark, gap, false))
		} else {
			b.WriteString(strings.Repeat(" ", gap))
		}
		text := plain.Line(cell(i), longestCell)
		if i == idColumn {
			b.WriteString(padLeft(measure, text, n))
		} else {
			b.WriteString(pad(measure, text, n, columns[i].right))
		}
	}
	return pad(measure, b.String(), room, false)
}
