package watch

import (
	"bytes"
	"context"
	"sync"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
)

const (
	// kept is the number of lines of a log that the view remembers.
	kept = 2000
	// longest is the most bytes of a line; the rest goes on in the next.
	longest = 4 << 10
	// gather is how long lines are collected before they are shown: a flood of them must not redraw at each one.
	gather = 50 * time.Millisecond
)

// logMsg is what a tail has gathered.
type logMsg struct {
	from  *tail
	lines []string
	ended bool // there will be no more
	err   error
}

// A tail hands lines from a log's reader to the view. It never holds up the reader, and holds twice kept lines at most.
type tail struct {
	done   <-chan struct{} // closed when nobody looks any more
	change chan struct{}
	mu     sync.Mutex
	lines  []string
	part   []byte // of a line that has no end yet
	ended  bool
	err    error
}

func newTail(done <-chan struct{}) *tail {
	return &tail{done: done, change: make(chan struct{}, 1)}
}

// Write takes clean text in pieces of any size.
func (t *tail) Write(p []byte) (int, error) {
	select {
	case <-t.done:
		return 0, context.Canceled
	default:
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for rest := p; len(rest) > 0; {
		if rest[0] == '\n' {
			t.line(len(t.part))
			rest = rest[1:]
			continue
		}
		if len(t.part) >= longest {
			t.line(whole(t.part))
		}
		take := rest[:min(len(rest), longest-len(t.part))]
		if end := bytes.IndexByte(take, '\n'); end > 0 {
			take = take[:end]
		}
		t.part = append(t.part, take...)
		rest = rest[len(take):]
	}
	return len(p), nil
}

// line ends a line after n bytes; what follows them begins the next.
func (t *tail) line(n int) {
	if len(t.lines) >= 2*kept {
		t.lines = t.lines[:copy(t.lines, t.lines[len(t.lines)-kept:])]
	}
	t.lines = append(t.lines, string(t.part[:n]))
	t.part = t.part[:copy(t.part, t.part[n:])]
	t.signal()
}

// whole is the length of b without a code point that is cut off at its end.
func whole(b []byte) int {
	for n := len(b); n > len(b)-utf8.UTFMax && n > 0; n-- {
		if utf8.RuneStart(b[n-1]) {
			if utf8.FullRune(b[n-1:]) {
				break
			}
			return n - 1
		}
	}
	return len(b)
}

// end says that the log is over, or why it cannot be read any further.
func (t *tail) end(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.part) > 0 {
		t.line(len(t.part))
	}
	t.ended, t.err = true, err
	t.signal()
}

func (t *tail) signal() {
	select {
	case t.change <- struct{}{}:
	default:
	}
}

// next waits for lines or the end and answers with a logMsg, or with nothing when nobody looks any more.
func (t *tail) next() tea.Msg {
	select {
	case <-t.done:
		return nil
	case <-t.change:
	}
	select {
	case <-t.done:
		return nil
	case <-time.After(gather):
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	m := logMsg{from: t, lines: t.lines, ended: t.ended, err: t.err}
	t.lines = nil
	return m
}
