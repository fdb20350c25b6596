package worktree

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"opencode-delegate/internal/fault"
)

// What the user did to the history since is a conflict, unless it is forced.
func TestHistoryMovedSince(t *testing.T) {
	w := grown(t)
	before := w.gitLook()
	s := w.take()
	w.git("reset", "-q", "--soft", "HEAD~1")
	w.git("branch", "-q", "-D", "other")
	w.end(s)
	w.git("commit", "-q", "-m", "by the user")
	w.git("branch", "mine")
	present := w.gitLook()
	_, err := s.Restore(t.Context(), Undo{History: true})
	var c *Conflict
	if !errors.As(err, &c) || fault.Of(err).Kind != fault.Conflict || !slices.Equal(c.History, []string{"refs/heads/main"}) && !slices.Equal(c.History, []string{"refs/heads/main", "the index"}) {
		t.Fatalf("%v: %+v", err, c)
	}
	if got := w.gitLook(); got != present {
		t.Fatalf("a refused undo changed\n%s", differs(present, got))
	}
	save := w.store()
	done := w.restore(s, Undo{History: true, Force: true, Save: save})
	if !slices.Contains(done.History, "refs/heads/main") || !slices.Contains(done.History, "refs/heads/other") {
		t.Errorf("%q", done.History)
	}
	w.git("branch", "-q", "-D", "mine") // which the run left alone, and so did the undo
	if got := w.gitLook(); got != before {
		t.Errorf("by force:\n%s", differs(before, got))
	}
	saved, err := Open(save)
	w.must(err)
	w.restore(saved, Undo{History: true})
	w.git("branch", "mine")
	if got := w.gitLook(); got != present {
		t.Errorf("what force overwrote is not kept:\n%s", differs(present, got))
	}
}

// Nothing that a worker planted runs or is written through.
func TestUndoOfHistoryRunsAndFollowsNothing(t *testing.T) {
	w := grown(t)
	s := w.take()
	marker := w.root + "/marker"
	script := "#!/bin/sh\ntouch '" + marker + "'\n"
	w.write(".git/hooks/reference-transaction", script)
	w.must(os.Chmod(w.path(".git/hooks/reference-transaction"), 0o755))
	w.git("config", "core.fsmonitor", "touch '"+marker+"'")
	w.git("config", "alias.update-ref", "!touch '"+marker+"'")
	w.git("reset", "-q", "--soft", "HEAD~1")
	os.Remove(marker)
	w.end(s)
	w.historyOf(s)
	w.restore(s, Undo{History: true})
	if _, err := os.Lstat(marker); err == nil {
		t.Error("a program of the worker ran")
	}
	w.git("branch", "bait")
	if _, err := os.Lstat(marker); err != nil {
		t.Error("the hook does not run with git either: this proves nothing")
	}
	s = w.take()
	w.git("update-ref", "-d", "refs/heads/other")
	w.end(s)
	outside := w.root + "/outside"
	w.must(os.Rename(w.path(".git/logs/refs/heads"), outside))
	w.must(os.Symlink(outside, w.path(".git/logs/refs/heads")))
	was := look(t, outside, true)
	if _, err := s.Restore(t.Context(), Undo{History: true}); err == nil || !strings.Contains(err.Error(), "logs/refs/heads in the repository is a link") {
		t.Errorf("%v", err)
	}
	if got := look(t, outside, true); got != was {
		t.Errorf("written through a link:\n%s", differs(was, got))
	}
}

// Whatever a run does with git at random, an undo gives back the tree and the history.
func TestUndoGivesBackTheHistory(t *testing.T) {
	cases(t, 15, func(c *chaos) {
		t := c.t
		for range 3 + c.r.IntN(4) {
			c.put(c.name())
			c.commit()
			if c.r.IntN(3) == 0 {
				c.git("branch", fmt.Sprintf("b%d/x", c.r.IntN(1000)))
			}
		}
		for range c.r.IntN(5) {
			c.edit()
		}
		if c.r.IntN(3) == 0 {
			c.tryGit(c.dir, "stash", "-q")
			c.edit()
		}
		if c.r.IntN(2) == 0 {
			c.git("pack-refs", "--all")
		}
		before, tree := c.gitLook(), look(t, c.dir, false)
		s := c.take()
		var done []string
		for range 1 + c.r.IntN(8) {
			op := [][]string{
				{"reset", "-q", "--hard", "HEAD~1"}, {"reset", "-q", "--soft", "HEAD~1"}, {"stash", "-q", "-u"}, {"stash", "pop", "-q"}, {"stash", "drop", "-q"}, {"clean", "-qfdx"},
				{"add", "-A"}, {"commit", "-qam", "run", "--allow-empty"}, {"commit", "-q", "--amend", "-m", "amended"}, {"checkout", "-q", "-b", fmt.Sprint("n", c.r.IntN(1000))},
				{"checkout", "-q", "--detach"}, {"branch", "b1"}, {"rebase", "-q", "--root"}, {"gc", "-q", "--prune=now"}, {"reflog", "expire", "--expire=now", "--all"}, {"checkout", "--", "."}, {"tag", "-f", "t"},
			}[c.r.IntN(17)]
			c.tryGit(c.dir, op...)
			done = append(done, strings.Join(op, " "))
			if c.r.IntN(2) == 0 {
				c.edit()
			}
		}
		for line := range strings.Lines(c.git("for-each-ref", "--format=%(refname)", "refs/heads/b*")) {
			if c.r.IntN(2) == 0 {
				c.tryGit(c.dir, "update-ref", "-d", strings.TrimSpace(line))
			}
		}
		c.end(s)
		c.historyOf(s)
		c.restore(s, Undo{History: true})
		if got := c.gitLook(); got != before {
			t.Errorf("%q: the repository is not as it was:\n%s", done, differs(before, got))
		}
		if got := look(t, c.dir, false); got != tree {
			t.Errorf("%q: the tree is not as it was:\n%s", done, differs(tree, got))
		}
	})
}

// Each git that reads what a worker wrote runs in the cage.
func TestTheCageIsClosed(t *testing.T) {
	w := grown(t)
	s := w.take()
	w.git("reset", "-q", "--hard", "HEAD~1")
	w.end(s)
	n := 0
	o := HistoryOptions{Environ: w.environ(), Cage: func(argv []string) ([]string, []string, error) {
		if n++; !filepath.IsAbs(argv[0]) {
			t.Errorf("%q", argv)
		}
		return append([]string{"/usr/bin/env", "CAGE=1"}, argv...), []string{"X=1"}, nil
	}}
	told, err := s.History(t.Context(), o)
	w.must(err)
	if n < 3 || len(told) != 2 {
		t.Errorf("%d gits in the cage, %v", n, told)
	}
	o.Cage = func([]string) ([]string, []string, error) { return nil, nil, errors.New("no cage") }
	if _, err := s.Restore(t.Context(), Undo{History: true, Git: o}); err == nil || !strings.Contains(err.Error(), "no cage") {
		t.Errorf("%v", err)
	}
}

// Where a run has removed the logs of the repository, the refs come back all the same.
func TestUndoWithoutLogs(t *testing.T) {
	w := grown(t)
	w.write("new", "work\n")
	w.git("stash", "-q", "-u")
	refs, stash := w.git("for-each-ref"), w.git("stash", "list")
	s := w.take()
	w.git("stash", "drop", "-q")
	w.git("branch", "-q", "-D", "other")
	w.must(os.RemoveAll(w.path(".git/logs")))
	w.end(s)
	w.restore(s, Undo{History: true})
	if got := w.git("for-each-ref"); got != refs {
		t.Errorf("%s", differs(refs, got))
	}
	if got := w.git("stash", "list"); got != stash {
		t.Errorf("%q, want %q", got, stash)
	}
}
