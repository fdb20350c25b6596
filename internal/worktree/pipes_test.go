//go:build unix

package worktree

import (
	"context"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
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

// A worker that puts a pipe in the place of a .gitignore gets no result, and nobody waits.
func TestAPipeForAnIgnoreFileIsNamed(t *testing.T) {
	w := newWorld(t)
	w.write("a", "x")
	w.commit()
	c := w.newCopy(w.copyOptions())
	w.must(os.Mkdir(c.Tree()+"/d", 0o755))
	w.must(syscall.Mkfifo(c.Tree()+"/d/.gitignore", 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := c.Result(ctx, w.store(), w.environ()); err == nil || !strings.Contains(err.Error(), "d/.gitignore is neither") {
		t.Errorf("%v", err)
	}
}

// What a worker plants in the git directory of its copy, and in attributes, runs when git is used there, and not when the result is taken.
func TestNothingOfTheCopyRuns(t *testing.T) {
	w := newWorld(t)
	w.write("a", "x\n")
	w.commit()
	c := w.newCopy(w.copyOptions())
	marker := w.root + "/marker"
	for _, key := range []string{"core.fsmonitor", "filter.evil.clean", "filter.evil.smudge", "diff.evil.textconv", "diff.evil.command", "merge.evil.driver"} {
		w.gitIn(c.Tree(), "config", key, "touch '"+marker+"'; cat")
	}
	w.write(c.Tree()+"/.gitattributes", "* filter=evil diff=evil merge=evil\n")
	w.write(c.Tree()+"/a", "run\n")
	w.write(c.Tree()+"/.git/info/exclude", "a\n*\n")
	os.Remove(marker)
	result, err := c.Result(t.Context(), w.store(), w.environ())
	w.must(err)
	patch := w.patch(c.Base(), result)
	w.write("a", "mine\n")
	if done := w.apply(c.Base(), result); len(done.Conflicts) != 1 || !strings.Contains(patch, "+run\n") {
		t.Errorf("%+v\n%s", done, patch)
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("a program of the worker ran")
	}
	w.tryGit(c.Tree(), "add", "a")
	if _, err := os.Stat(marker); err != nil {
		t.Error("it does not run with git either: this proves nothing")
	}
}
