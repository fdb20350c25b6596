package job

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"opencode-delegate/internal/proc"
)

// A pipe in place of a link or of a presence has nobody at its other end.
func TestAPipeIsNoLink(t *testing.T) {
	s := open(t)
	becomes(t, s, gone(1), "a")
	for _, name := range []string{callerKey("a"), callerKey("b"), presenceOf(proc.Self())} {
		if err := syscall.Mkfifo(filepath.Join(s.root, callersDir, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s = again(t, s)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if s.SameCaller("a", "b") {
			t.Error("one")
		}
		if err := s.Link(t.Context(), gone(1), "b"); err == nil {
			t.Error("a pipe was replaced by a link")
		}
		if err := s.Link(t.Context(), proc.Self(), "b"); err == nil {
			t.Error("a pipe was replaced by a presence")
		}
		if n := len(s.outdated(nil, time.Now().Add(365*24*time.Hour))); n != 1 { // the presence of who has gone
			t.Errorf("%d are outdated", n)
		}
	}()
	select {
	case <-done:
	case <-time.After(5 * time.Second):
		t.Fatal("a pipe is waited for")
	}
}

// Nor is one, or a link to somebody's file, in place of a notice.
func TestAPipeIsNoNotice(t *testing.T) {
	s := open(t)
	aside := filepath.Join(t.TempDir(), "aside")
	if err := os.WriteFile(aside, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, place := range []func(path string) error{
		func(path string) error { return syscall.Mkfifo(path, 0o600) },
		func(path string) error { return os.Symlink(aside, path) },
	} {
		id := endAt(t, runOf(t, s, "a"), time.Now())
		path := s.path(notice{newsOf("a"), id})
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := place(path); err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() { s.Heard("a", id); close(done) }()
		select {
		case <-done:
		case <-time.After(5 * time.Second):
			t.Fatal("a pipe is waited for")
		}
		if got := news(t, s, "a", 9); len(got) != 1 || got[0] != id {
			t.Errorf("told %v", got)
		}
	}
	if data, err := os.ReadFile(aside); err != nil || string(data) != "mine" {
		t.Errorf("what the link leads to is %q, %v", data, err)
	}
}

// Processes that link at once, each its own sessions and one that all of them have: all are one, and the presence of none is taken for that
// of one that has gone.
func TestLinksOfManyProcessesAtOnce(t *testing.T) {
	s := open(t)
	const processes = 5
	sessions := []string{"common"}
	var all sync.WaitGroup
	for i := range processes {
		_, line := role(t, s, "link", fmt.Sprint("JOB_TEST_SESSION=", i))
		for n := range linkedSessions {
			sessions = append(sessions, fmt.Sprint(i, "-", n))
		}
		all.Go(func() {
			if said := line(); said != "<nil>" {
				t.Error(said)
			}
		})
	}
	all.Wait()
	if !one(t, s, sessions...) {
		t.Error("not one")
	}
	present := 0
	for _, name := range s.namesIn(callersDir) {
		if p, ok := processOf(name); ok && p.Lives() {
			present++
		}
	}
	if present != processes {
		t.Errorf("%d presences of %d processes that live", present, processes)
	}
}
