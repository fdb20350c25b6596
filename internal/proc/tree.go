package proc

import "strings"

// An identity names one process: a pid alone is used again.
type identity struct {
	pid   int
	start uint64 // in the unit of the system's process table; only compared
}

// An entry is one row of the process table.
type entry struct {
	identity
	ppid, pgid, sid int
	dead            bool // a zombie of which no thread lives
	stopped         bool
	stuck           bool // in an uninterruptible wait: a signal takes effect only after it
}

// A tree selects, from the process table, the processes that came of one child.
type tree struct {
	self   int    // never a member, and no way leads through it
	root   int    // the guardian, never a member; 0 when there is none
	since  uint64 // nothing that started earlier is a member
	marker string
	// adopted tells of a child of self whether it came to us by the death of the guardian; nil when that cannot be.
	adopted func(entry) bool
	// carries tells whether a process has the marker in its environment.
	carries func(entry) bool
	// groups are process groups of the tree, grown by each look; nil where descent alone is certain.
	groups map[int]bool
}

// members returns the rows that belong to the tree, the dead ones too.
func (t *tree) members(table []entry) []entry {
	children := make(map[int][]int, len(table))
	for i, e := range table {
		children[e.ppid] = append(children[e.ppid], i)
	}
	in := make([]bool, len(table))
	var found []entry
	var add func(i int)
	add = func(i int) {
		e := table[i]
		if in[i] || e.pid == t.self || e.start < t.since {
			return
		}
		in[i] = true
		if e.pid != t.root {
			found = append(found, e)
		}
		for _, k := range children[e.pid] {
			add(k)
		}
	}
	if t.root != 0 {
		for _, i := range children[t.root] {
			add(i)
		}
	}
	if t.adopted != nil {
		for _, i := range children[t.self] {
			if e := table[i]; e.pid != t.root && e.start >= t.since && t.adopted(e) {
				add(i)
			}
		}
	}
	for i, e := range table {
		if in[i] || e.dead || e.pid == t.self || e.pid == t.root || e.start < t.since {
			continue
		}
		if t.groups[e.pgid] || t.carries(e) {
			add(i)
		}
	}
	if t.groups != nil {
		for _, e := range found {
			t.groups[e.pgid] = true
		}
	}
	return found
}

// living drops the dead.
func living(es []entry) []entry {
	var alive []entry
	for _, e := range es {
		if !e.dead {
			alive = append(alive, e)
		}
	}
	return alive
}

// nameLimit bounds what is told of a process: its command line is the worker's text.
const nameLimit = 256

// printable makes a line of text out of a command line with NUL between its arguments.
func printable(b []byte) string {
	s := strings.TrimRight(string(b), "\x00")
	s = strings.Map(func(r rune) rune {
		switch {
		case r == 0:
			return ' '
		case r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069':
			return '?'
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	for len(s) > nameLimit {
		s = s[:nameLimit]
		s = strings.ToValidUTF8(s, "")
	}
	return s
}
