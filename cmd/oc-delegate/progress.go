package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/term"

	"opencode-delegate/internal/delegate"
	"opencode-delegate/internal/plain"
)

// A meter shows the progress of a run on stderr: a live line on a terminal, a line an event with --progress plain.
type meter struct {
	mu     sync.Mutex
	w      io.Writer
	say    func(format string, args ...any)
	live   bool
	lines  bool
	closed bool
	width  int
	last   delegate.Progress
	start  time.Time
	said   chan string // lines to print; one that finds no room is dropped, since a reader that sleeps must not hold up the run
	stop   chan struct{}
	done   chan struct{}
}

// newMeter decides by the kind that was asked for and by what stderr is.
func newMeter(kind string, stderr io.Writer, say func(format string, args ...any)) *meter {
	m := &meter{w: stderr, say: say, start: time.Now(), said: make(chan string, 256), stop: make(chan struct{}), done: make(chan struct{})}
	switch kind {
	case "plain":
		m.lines = true
	case "auto":
		if f, ok := stderr.(*os.File); ok && term.IsTerminal(f.Fd()) {
			m.live, m.width = true, 80
			if w, _, err := term.GetSize(f.Fd()); err == nil && w > 20 {
				m.width = w
			}
		}
	}
	switch {
	case m.live:
		go m.tick()
	case m.lines:
		go m.tell()
	default:
		close(m.done)
	}
	return m
}

// tell prints the lines.
func (m *meter) tell() {
	defer close(m.done)
	for line := range m.said {
		m.say("%s", line)
	}
}

// tick redraws twice a second, so that the time moves while the model thinks.
func (m *meter) tick() {
	defer close(m.done)
	t := time.NewTicker(500 * time.Millisecond)
	defer t.Stop()
	for {
		select {
		case <-m.stop:
			fmt.Fprint(m.w, "\r\x1b[K")
			return
		case <-t.C:
			m.mu.Lock()
			line := m.line()
			m.mu.Unlock()
			fmt.Fprint(m.w, "\r\x1b[K"+line)
		}
	}
}

func (m *meter) line() string {
	p := m.last
	parts := []string{time.Since(m.start).Truncate(time.Second).String()}
	if p.Step > 0 {
		parts = append(parts, fmt.Sprintf("step %d", p.Step))
	}
	if p.Todo != nil {
		parts = append(parts, fmt.Sprintf("%d of %d done", p.Todo.Done, p.Todo.Total))
	}
	if p.Tokens > 0 {
		parts = append(parts, fmt.Sprintf("%d tokens", p.Tokens))
	}
	if p.CostUSD != nil {
		parts = append(parts, fmt.Sprintf("$%.4f", *p.CostUSD))
	}
	if acted := p.Acted(); p.Retry != nil {
		parts = append(parts, "waits: "+p.Retry.Reason)
	} else if acted != "" {
		parts = append(parts, acted)
	}
	return plain.Line(strings.Join(parts, "  "), m.width-1)
}

// show takes in what the run reports.
func (m *meter) show(p delegate.Progress) {
	m.mu.Lock()
	defer m.mu.Unlock()
	said := p.Said
	m.last = p
	if m.lines && said != "" && !m.closed {
		select {
		case m.said <- fmt.Sprintf("%6.1fs %s", p.Elapsed.Seconds(), said):
		default:
		}
	}
}

// close ends the display; nothing of it stays on a terminal. A reader that sleeps is not waited for longer than a second.
func (m *meter) close() {
	m.mu.Lock()
	m.closed = true
	close(m.said)
	m.mu.Unlock()
	close(m.stop)
	select {
	case <-m.done:
	case <-time.After(time.Second):
	}
}
