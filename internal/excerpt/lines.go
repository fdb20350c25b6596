package excerpt

import (
	"bytes"
	"unicode/utf8"

	"opencode-delegate/internal/plain"
)

// A line is one of the log, or a piece of one that is very long.
type line struct {
	number int64
	text   []byte // cleaned; good until the next
	piece  bool   // it goes on in the line of the piece before
	ended  bool   // nothing of its line follows
}

// lines cuts a log into lines. Where a line was overwritten (a bar of progress) its last state counts, and each state that looks like a failure is a line of
// its own with the same number.
type lines struct {
	most  int // bytes of a piece
	fails func([]byte) bool
	take  func(line)

	clean  *plain.Writer
	state  []byte // what is being written
	shown  []byte // what was written before it, over which it goes
	dirty  bool   // the cleaner has got something
	piece  bool   // a piece of the state is gone already
	begun  bool   // there is something of the line
	given  bool   // and it was taken to its end, unless more of it follows
	number int64  // of lines that have ended
}

func newLines(most int, fails func([]byte) bool, take func(line)) lines {
	return lines{most: most, fails: fails, take: take}
}

func (l *lines) write(p []byte) {
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			l.states(p)
			return
		}
		l.states(p[:i])
		l.end()
		p = p[i+1:]
	}
}

func (l *lines) states(b []byte) {
	l.begun = true // or it ends at once
	for {
		i := bytes.IndexByte(b, '\r')
		if i < 0 {
			l.add(b)
			return
		}
		l.add(b[:i])
		l.endState()
		b = b[i+1:]
	}
}

func (l *lines) add(b []byte) {
	if l.clean == nil {
		l.clean = plain.NewWriter((*sink)(&l.state))
	}
	for len(b) > 0 {
		n := min(len(b), 32<<10)
		l.clean.Write(b[:n]) // into memory
		l.dirty, b = true, b[n:]
		for len(l.state) > l.most {
			l.drop()
			n := cut(l.state, l.most)
			l.take(line{number: l.number + 1, text: l.state[:n], piece: l.piece})
			l.piece = true
			l.state = l.state[:copy(l.state, l.state[n:])]
		}
	}
}

// A sink appends.
type sink []byte

func (s *sink) Write(p []byte) (int, error) {
	*s = append(*s, p...)
	return len(p), nil
}

// cut is where a text is cut into pieces: behind white space where there is some, else between two characters.
func cut(b []byte, most int) int {
	if i := bytes.LastIndexAny(b[most*3/4:most], " \t"); i >= 0 {
		return most*3/4 + i + 1
	}
	n := most
	for n > most-utf8.UTFMax && !utf8.RuneStart(b[n]) {
		n--
	}
	return n
}

// drop forgets what was overwritten.
func (l *lines) drop() {
	if len(l.shown) > 0 && l.fails(l.shown) {
		l.take(line{number: l.number + 1, text: l.shown, ended: true})
	}
	l.shown = l.shown[:0]
}

// endState is for a carriage return. A state without a character leaves the one before it.
func (l *lines) endState() {
	if l.dirty {
		l.clean.Close() // into memory
		l.dirty = false
	}
	switch {
	case l.piece: // too long for something that is overwritten
		l.take(line{number: l.number + 1, text: l.state, piece: true, ended: true})
		l.piece, l.given = false, true
	case len(l.state) > 0:
		l.drop()
		l.shown, l.state = l.state, l.shown
	}
	l.state = l.state[:0]
}

func (l *lines) end() {
	l.endState()
	if !l.given || len(l.shown) > 0 {
		l.take(line{number: l.number + 1, text: l.shown, ended: true})
	}
	l.shown, l.begun, l.given = l.shown[:0], false, false
	l.number++
}

// close ends the log, and reports whether its last line had an end.
func (l *lines) close() bool {
	if !l.begun {
		return true
	}
	l.end()
	return false
}
