//go:build unix

package worktree

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// A pipe in the place of what git reads does not hold anything up.
func TestPipesDoNotWait(t *testing.T) {
	w := newWorld(t)
	w.write("a", "x")
	w.must(os.Remove(w.path(".git/config")))
	w.must(syscall.Mkfifo(w.path(".git/config"), 0o600))
	w.must(syscall.Mkfifo(w.path("pipe"), 0o600))
	s := w.take()
	if s.list.find("a") == nil {
		t.Error("not covered")
	}
	if holes, _ := s.Left(); !slices.Contains(holes, Hole{Path: "pipe", Why: "it is no file, link or directory"}) {
		t.Errorf("%+v", holes)
	}
	w.must(syscall.Mkfifo(w.path(".git/index"), 0o600))
	if _, err := Take(t.Context(), w.dir, w.store(), w.options()); err == nil || !strings.Contains(err.Error(), "index") {
		t.Errorf("%v", err)
	}
}
