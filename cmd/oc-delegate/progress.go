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
	mu    sync.Mutex
	w     io.Writer
	say   func(format string, args ...any)
	live  bool
	lines bool
	width int
	last  delegate.Progress
	start time.Time
	stop  chan struct{}
	done  chan struct{}
}

// newMeter decides by the kind that was asked for and by what stderr is.
func newMeter(kind string, stderr io.Writer, say func(format string, args ...any)) *meter {
	m := &meter{w: stderr, say: say, start: time.Now(), stop: make(chan struct{}), done: make(chan struct{})}
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
	if m.live {
		go m.tick()
	} else {
		close(m.done)
	}
	return m
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
			fmt.Fprint(m.w, "\r\x1b[K"+m.line())
			m.mu.Unlock()
		}
	}
}

func (m *meter) line() string {
	p := m.last
	parts := []string{time.Since(m.start).Truncate(time.Second).String()}
	if p.Step > 0 {
		parts = append(parts, fmt.Sprintf("step %d", p.Step))
	}
	if p.Tokens > 0 {
		parts = append(parts, fmt.Sprintf("%d tokens", p.Tokens))
	}
	if p.CostUSD > 0 {
		parts = append(parts, fmt.Sprintf("$%.4f", p.CostUSD))
	}
	if p.Tool != "" {
		parts = append(parts, p.Tool)
	}
	return plain.Line(strings.Join(parts, "  "), m.width-1)
}

// show takes in what the run reports.
func (m *meter) show(p delegate.Progress) {
	m.mu.Lock()
	defer m.mu.Unlock()
	said := p.Said
	m.last = p
	if m.lines && said != "" {
		m.say("%6.1fs %s", p.Elapsed.Seconds(), said)
	}
}

// close ends the display; nothing of it stays on a terminal.
func (m *meter) close() {
	close(m.stop)
	<-m.done
}
