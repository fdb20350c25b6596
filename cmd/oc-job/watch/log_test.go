package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
)

// logged is the log of job a, opened, in a window of 10 rows.
func logged(t *testing.T) *model {
	t.Helper()
	m := shown(t, Source{Log: func(context.Context, string, io.Writer) error { return nil }}, rows("a", "b"))
	if press(t, m, "enter") == nil || m.log == nil {
		t.Fatal("enter opens no log")
	}
	return m
}

func (m *model) feed(lines ...string) tea.Cmd {
	_, cmd := m.Update(logMsg{from: m.log.source.tail, lines: lines})
	return cmd
}

func counted(from, to int) (lines []string) {
	for i := from; i < to; i++ {
		lines = append(lines, fmt.Sprintf("line %d.", i))
	}
	return lines
}

func TestLogFollowsItsEnd(t *testing.T) {
	m := logged(t)
	if s := screen(m); !strings.HasPrefix(s, "a running 1s task of a ") || !strings.Contains(s, "live") {
		t.Errorf("the head:\n%s", s)
	}
	if m.feed(counted(0, 5)...) == nil {
		t.Error("nobody waits for what comes next")
	}
	see := func(first, last int, place string) {
		t.Helper()
		lines := strings.Split(screen(m), "\n")
		if got := strings.TrimSpace(lines[1]); got != fmt.Sprintf("line %d.", first) {
			t.Errorf("first %q, want %d", got, first)
		}
		if got := strings.TrimSpace(lines[10]); got != fmt.Sprintf("line %d.", last) {
			t.Errorf("last %q, want %d", got, last)
		}
		if !strings.HasSuffix(lines[11], place) {
			t.Errorf("%q does not end with %q", lines[11], place)
		}
	}
	m.feed(counted(5, 100)...)
	see(90, 99, "live")
	press(t, m, "pgup")
	see(81, 90, "91%")
	m.feed(counted(100, 120)...)
	see(81, 90, "75%")
	press(t, m, "k")
	see(80, 89, "75%")
	press(t, m, "home")
	see(0, 9, "8%")
	press(t, m, "pgdown", "j")
	see(10, 19, "16%")
	press(t, m, "end")
	see(110, 119, "live")
	m.feed("line 120.")
	see(111, 120, "live")
	press(t, m, "up", "down")
	m.feed("line 121.")
	see(112, 121, "live")
	if _, cmd := m.Update(logMsg{from: m.log.source.tail, ended: true}); cmd != nil {
		t.Error("something waits after the end")
	}
	see(112, 121, "end of log")
}

func TestLogIsBounded(t *testing.T) {
	m := logged(t)
	m.feed(counted(0, 1500)...)
	press(t, m, "home", "pgdown", "pgdown") // line 18 is the first
	m.feed(counted(1500, 2010)...)
	if n := len(m.log.entries); n != kept || m.log.rows != kept {
		t.Errorf("%d lines in %d rows are kept", n, m.log.rows)
	}
	if s := screen(m); !strings.Contains(s, "\nline 18. ") && !strings.Contains(s, "\nline 18.\n") {
		t.Errorf("what is looked at has moved:\n%s", s)
	}
	m.feed(counted(2010, 5000)...)
	if s := screen(m); len(m.log.entries) != kept || !strings.Contains(s, "\nline 3000.") {
		t.Errorf("%d lines are kept:\n%s", len(m.log.entries), s)
	}
	if c := cap(m.log.entries); c > 4*kept {
		t.Errorf("room for %d lines", c)
	}
}

func TestLogIsClosed(t *testing.T) {
	for _, key := range []string{"esc", "left", "h"} {
		m := logged(t)
		old := m.log.source.tail
		press(t, m, key)
		if m.log != nil || !strings.Contains(screen(m), "> a") {
			t.Errorf("%s does not lead back:\n%s", key, screen(m))
		}
		if _, err := old.Write([]byte("x\n")); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: the reader may go on: %v", key, err)
		}
		if msg := old.next(); msg != nil {
			t.Errorf("%s: %v comes from a closed log", key, msg)
		}
		press(t, m, "down", "right")
		if _, cmd := m.Update(logMsg{from: old, lines: []string{"of the other"}}); cmd != nil || strings.Contains(screen(m), "of the other") {
			t.Errorf("%s: a line of another job:\n%s", key, screen(m))
		}
		if m.log.row.ID != "b" {
			t.Errorf("%s: the log of %s", key, m.log.row.ID)
		}
	}
}

func TestLogKnowsItsJob(t *testing.T) {
	m := logged(t)
	all := rows("b", "a")
	all[1].State = "succeeded"
	m.Update(jobsMsg{rows: all})
	if s := screen(m); !strings.HasPrefix(s, "a succeeded") {
		t.Errorf("the head is old:\n%s", s)
	}
	m.Update(jobsMsg{rows: rows("b")})
	if s := screen(m); !strings.HasPrefix(s, "a succeeded") {
		t.Errorf("the head of a job that is gone:\n%s", s)
	}
	press(t, m, "c")
	if m.question == nil || m.question.ID != "a" {
		t.Errorf("c in a log asks about %v", m.question)
	}
	press(t, m, "n")
	m.Update(jobsMsg{err: errors.New("unreadable")})
	m.Update(logMsg{from: m.log.source.tail, ended: true, err: errors.New("no such file")})
	press(t, m, "k")
	if s := screen(m); !strings.Contains(s, "cannot read the log: no such file") {
		t.Errorf("the error is not shown:\n%s", s)
	}
}

func TestLogWraps(t *testing.T) {
	m := logged(t)
	m.feed("    if x {", "\tindented", strings.Repeat("word ", 30), strings.Repeat("界", 50), "last")
	lines := strings.Split(screen(m), "\n")
	for i, want := range []string{"    if x {", "    indented", strings.TrimSpace(strings.Repeat("word ", 16)), strings.TrimSpace(strings.Repeat("word ", 14)), strings.Repeat("界", 40), strings.Repeat("界", 10), "last"} {
		if got := strings.TrimRight(lines[i+1], " "); got != want {
			t.Errorf("row %d is %q, want %q", i, got, want)
		}
	}
}

// In another width the same line of the log is at the top, and the window can begin within a line.
func TestLogKeepsItsPlace(t *testing.T) {
	m := logged(t)
	m.feed("first", "second", "one two three four five six seven eight nine ten")
	m.feed(counted(0, 100)...)
	m.Update(tea.WindowSizeMsg{Width: 40, Height: 6})
	see := func(key, want string) {
		t.Helper()
		if key != "" {
			press(t, m, key)
		}
		if lines := strings.Split(screen(m), "\n"); len(lines) != 6 || strings.TrimSpace(lines[1]) != want {
			t.Errorf("after %q, %q is not at the top:\n%s", key, want, strings.Join(lines, "\n"))
		}
	}
	see("home", "first")
	press(t, m, "down")
	see("down", "one two three four five six seven eight")
	m.Update(tea.WindowSizeMsg{Width: 20, Height: 6})
	see("", "one two three four")
	see("down", "five six seven eight")
	see("down", "nine ten")
	see("down", "line 0.")
}
