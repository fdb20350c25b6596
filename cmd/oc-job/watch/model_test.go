package watch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// keys are the messages of the keys that the library has names for.
var keys = map[string]tea.KeyPressMsg{
	"up": {Code: tea.KeyUp}, "down": {Code: tea.KeyDown}, "left": {Code: tea.KeyLeft}, "right": {Code: tea.KeyRight}, "enter": {Code: tea.KeyEnter},
	"esc": {Code: tea.KeyEscape}, "pgup": {Code: tea.KeyPgUp}, "pgdown": {Code: tea.KeyPgDown}, "home": {Code: tea.KeyHome}, "end": {Code: tea.KeyEnd},
	"ctrl+c": {Code: 'c', Mod: tea.ModCtrl},
}

// press feeds keys and returns what the last one asks to be done.
func press(t *testing.T, m *model, names ...string) (cmd tea.Cmd) {
	t.Helper()
	for _, name := range names {
		msg, ok := keys[name]
		if !ok {
			msg = tea.KeyPressMsg{Code: rune(name[0]), Text: name}
		}
		if msg.String() != name {
			t.Fatalf("the library calls %q %q", name, msg)
		}
		_, cmd = m.Update(msg)
	}
	return cmd
}

func quits(cmd tea.Cmd) bool {
	if cmd == nil {
		return false
	}
	_, ok := cmd().(tea.QuitMsg)
	return ok
}

func rows(ids ...string) []Row {
	var all []Row
	for _, id := range ids {
		all = append(all, Row{ID: id, State: "running", Age: "1s", Task: "task of " + id})
	}
	return all
}

// numbered are n jobs, newest first.
func numbered(n int) []Row {
	var ids []string
	for i := n; i > 0; i-- {
		ids = append(ids, fmt.Sprintf("job-%05d", i))
	}
	return rows(ids...)
}

// shown is a model of a terminal of 80 columns and 12 rows with these jobs.
func shown(t *testing.T, src Source, all []Row) *model {
	t.Helper()
	if src.Jobs == nil {
		src.Jobs = func() ([]Row, error) { return all, nil }
	}
	m := newModel(newCommands(t.Context(), src))
	m.Init()
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 12})
	m.Update(jobsMsg{rows: all})
	return m
}

func screen(m *model) string { return ansi.Strip(strings.Join(m.lines(), "\n")) }

func id(m *model) string {
	r, _ := m.table.selected()
	return r.ID
}

func TestSelectionFollowsTheJob(t *testing.T) {
	m := shown(t, Source{}, rows("c", "b", "a"))
	press(t, m, "j")
	if id(m) != "b" || !strings.Contains(screen(m), "\n> b ") {
		t.Fatalf("selected %q:\n%s", id(m), screen(m))
	}
	m.Update(jobsMsg{rows: rows("e", "d", "c", "b", "a")})
	if id(m) != "b" || m.table.top != 0 {
		t.Errorf("two newer jobs: selected %q, window at %d", id(m), m.table.top)
	}
	m.Update(jobsMsg{rows: rows("e", "d", "a")})
	if id(m) != "a" {
		t.Errorf("the job is gone: selected %q", id(m))
	}
	m.Update(jobsMsg{})
	if _, ok := m.table.selected(); ok || !strings.Contains(screen(m), "no jobs") {
		t.Errorf("no jobs:\n%s", screen(m))
	}
	for _, key := range []string{"j", "k", "enter", "c", "y", "pgdown", "end", "home"} {
		if cmd := press(t, m, key); cmd != nil {
			t.Errorf("%s does something without a job", key)
		}
	}
	m.Update(jobsMsg{rows: rows("x")})
	if id(m) != "x" {
		t.Errorf("selected %q", id(m))
	}
}

func TestThousandsOfJobs(t *testing.T) {
	m := shown(t, Source{}, numbered(5000))
	see := func(key, want string, top int) {
		t.Helper()
		press(t, m, key)
		if id(m) != want || m.table.top != top {
			t.Errorf("%s: selected %s, window at %d, want %s at %d", key, id(m), m.table.top, want, top)
		}
		if !strings.Contains(screen(m), "\n> "+want) {
			t.Errorf("%s: %s is not on the screen:\n%s", key, want, screen(m))
		}
	}
	see("up", "job-05000", 0)
	see("pgdown", "job-04991", 0)
	see("down", "job-04990", 1)
	see("pgdown", "job-04981", 10)
	see("up", "job-04982", 10)
	see("end", "job-00001", 4990)
	see("down", "job-00001", 4990)
	see("pgup", "job-00010", 4990)
	see("k", "job-00011", 4989)
	// What is looked at stays where it is while jobs come and go above.
	before := strings.Split(screen(m), "\n")[1:11]
	m.Update(jobsMsg{rows: numbered(5007)})
	if after := strings.Split(screen(m), "\n")[1:11]; !slices.Equal(before, after) {
		t.Errorf("seven newer jobs moved\n%s\nto\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
	}
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 32})
	if lines := strings.Split(screen(m), "\n"); m.table.top != 5007-30 || strings.TrimSpace(lines[30]) == "" {
		t.Errorf("a higher terminal is not filled: window at %d", m.table.top)
	}
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 12})
	see("home", "job-05007", 0)
	// At the top newer jobs are seen.
	m.Update(jobsMsg{rows: numbered(5010)})
	if id(m) != "job-05007" || m.table.top != 0 || !strings.Contains(screen(m), "  job-05010") {
		t.Errorf("three newer jobs: selected %s, window at %d", id(m), m.table.top)
	}
	press(t, m, "end")
	m.Update(jobsMsg{rows: numbered(3)})
	if m.table.top != 0 || id(m) != "job-00001" {
		t.Errorf("few jobs are left: window at %d, selected %s", m.table.top, id(m))
	}
}

func TestJobsAreAskedForOneAtATime(t *testing.T) {
	calls := 0
	m := newModel(newCommands(t.Context(), Source{Jobs: func() ([]Row, error) { calls++; return rows("a"), nil }}))
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 5})
	first := m.Init()
	if !strings.Contains(screen(m), "looking for jobs") {
		t.Errorf("before the first answer:\n%s", screen(m))
	}
	if cmd := m.refresh(); cmd != nil {
		t.Error("a second question while the first is under way")
	}
	_, second := m.Update(first())
	if second == nil || calls != 1 {
		t.Fatalf("%d calls, and none after the first", calls)
	}
	_, tick := m.Update(second())
	if calls != 2 || tick == nil {
		t.Fatalf("%d calls", calls)
	}
	start := time.Now()
	msg := tick()
	if d := time.Since(start); d < interval/2 {
		t.Errorf("the next tick after %v", d)
	}
	if _, cmd := m.Update(tickMsg{m.ticks - 1}); cmd != nil {
		t.Error("a tick of before asks for the jobs")
	}
	if _, cmd := m.Update(msg); cmd == nil || !m.loading {
		t.Error("the tick asks for nothing")
	}
}

func TestPause(t *testing.T) {
	for took, want := range map[time.Duration]time.Duration{
		0: time.Second, 100 * time.Millisecond: time.Second, 300 * time.Millisecond: 3 * time.Second, time.Minute: 10 * time.Second,
	} {
		if got := pause(took); got != want {
			t.Errorf("after %v: %v, want %v", took, got, want)
		}
	}
}

func TestAnErrorIsShownAndEndsNothing(t *testing.T) {
	m := shown(t, Source{}, rows("a", "b"))
	_, cmd := m.Update(jobsMsg{err: errors.New("disk\x1b[2J\nfull")})
	if cmd == nil {
		t.Error("nothing asks again")
	}
	if s := screen(m); !strings.Contains(s, "cannot list the jobs: disk full") || !strings.Contains(s, "> a") {
		t.Errorf("%q", s)
	}
	m.Update(jobsMsg{rows: rows("a")})
	if s := screen(m); strings.Contains(s, "disk") {
		t.Errorf("the error stays:\n%s", s)
	}
}

func TestCancel(t *testing.T) {
	var cancelled []string
	fail := error(nil)
	m := shown(t, Source{Cancel: func(_ context.Context, id string) error { cancelled = append(cancelled, id); return fail }}, rows("b", "a"))
	press(t, m, "c")
	if s := screen(m); !strings.Contains(s, "cancel? y/n  b (task of b)") {
		t.Errorf("no question:\n%s", s)
	}
	for _, key := range []string{"n", "esc", "enter", "q", "c"} {
		m.question = nil
		press(t, m, "c")
		if cmd := press(t, m, key); cmd != nil || m.question != nil || !strings.Contains(screen(m), "job b is left alone") {
			t.Errorf("%s is taken for a yes:\n%s", key, screen(m))
		}
	}
	press(t, m, "c")
	m.Update(jobsMsg{rows: rows("c", "a")}) // the question stays about the job that it was asked of
	cmd := press(t, m, "y")
	if s := screen(m); cmd == nil || len(cancelled) > 0 || !strings.Contains(s, "cancelling b") {
		t.Fatalf("%v before anything was done:\n%s", cancelled, s)
	}
	m.question = &Row{ID: "b"}
	if press(t, m, "y") != nil {
		t.Error("the same job is cancelled twice at once")
	}
	m.loading = false
	if _, cmd := m.Update(cmd()); cmd == nil || !slices.Equal(cancelled, []string{"b"}) {
		t.Errorf("cancelled %v, and the jobs are not asked for", cancelled)
	}
	if s := screen(m); !strings.Contains(s, "job b has ended") {
		t.Errorf("not said:\n%s", s)
	}
	fail = errors.New("it is another caller's job")
	m.Update(press(t, m, "c", "y")())
	if s := screen(m); !strings.Contains(s, "cannot cancel a: it is another caller's job") && !strings.Contains(s, "cannot cancel c: it is another caller's job") {
		t.Errorf("not said:\n%s", s)
	}
	press(t, m, "j")
	if s := screen(m); strings.Contains(s, "cannot cancel") {
		t.Errorf("still said after a key:\n%s", s)
	}
}

func TestLeaving(t *testing.T) {
	src := Source{Cancel: func(context.Context, string) error { return nil }}
	for _, key := range []string{"q", "ctrl+c"} {
		if m := shown(t, src, rows("a")); !quits(press(t, m, key)) {
			t.Errorf("%s does not leave", key)
		}
	}
	m := shown(t, src, rows("b", "a"))
	if press(t, m, "c"); !quits(press(t, m, "ctrl+c")) {
		t.Error("ctrl+c does not leave a question")
	}

	m = shown(t, src, rows("b", "a"))
	press(t, m, "c", "y", "j", "c", "y")
	if cmd := press(t, m, "q"); cmd != nil || !strings.Contains(screen(m), "leaving as soon as") {
		t.Fatalf("jobs are left half dead:\n%s", screen(m))
	}
	if _, cmd := m.Update(cancelMsg{id: "b"}); quits(cmd) {
		t.Error("left with one job half dead")
	}
	if _, cmd := m.Update(cancelMsg{id: "a"}); !quits(cmd) {
		t.Error("all have ended, and the view is not left")
	}
	press(t, m, "c", "y")
	m.leaving = true
	if _, cmd := m.Update(cancelMsg{id: "b", err: errors.New("refused")}); quits(cmd) || m.leaving || !strings.Contains(screen(m), "refused") {
		t.Errorf("a refusal is not seen:\n%s", screen(m))
	}
	press(t, m, "c", "y")
	if press(t, m, "q"); !quits(press(t, m, "q")) {
		t.Error("a second q does not leave")
	}
}
