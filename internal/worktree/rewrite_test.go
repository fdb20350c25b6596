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

// gitLook describes all of a repository that a user sees of its history.
func (w *world) gitLook() string {
	w.t.Helper()
	head := w.read(".git/HEAD")
	refs := w.git("for-each-ref", "--format=%(refname) %(objectname)")
	stash, _ := w.tryGit(w.dir, "stash", "list")
	state, _ := os.ReadFile(w.path(".git/MERGE_HEAD"))
	return head + refs + stash + string(state) + w.git("ls-files", "-s") + w.git("status", "--porcelain") + w.git("log", "--oneline", "--all")
}

func (w *world) historyOf(s *Snapshot) []Rewrite {
	w.t.Helper()
	told, err := s.History(w.t.Context(), HistoryOptions{Environ: w.environ()})
	w.must(err)
	return told
}

func kindsOf(told []Rewrite) []string {
	var kinds []string
	for _, r := range told {
		kinds = append(kinds, string(r.Kind)+" "+r.Ref)
	}
	return kinds
}

// grown is a repository with a history, a second branch, a tag, a stash, uncommitted work and untracked files.
func grown(t *testing.T) *world {
	w := newWorld(t)
	for i := range 3 {
		w.write("a", fmt.Sprintf("%d\n", i))
		w.write(fmt.Sprintf("f%d", i), "x\n")
		w.commit()
	}
	w.git("branch", "other", "HEAD~1")
	w.git("tag", "-a", "-m", "x", "v1", "HEAD~2")
	w.write("a", "stashed\n")
	w.git("stash", "-q")
	w.git("pack-refs", "--all")
	w.write(".gitignore", "out/\n.env\n")
	w.git("add", ".gitignore")
	w.git("commit", "-q", "-m", "ignore")
	w.write("a", "uncommitted\n")
	w.write("f0", "staged\n")
	w.git("add", "f0")
	w.write("new1", "untracked\n")
	w.write("d/new2", "untracked too\n")
	w.write(".env", "SECRET=1\n")
	w.write("out/x", "built\n")
	return w
}

// emptyTree is one that git knows without having it; fsck misses it.
const emptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

var rewrites = []struct {
	name string
	run  func(w *world)
	want []string // kinds and refs
	says string   // part of the first sentence
}{
	{"nothing", func(w *world) { w.write("f1", "edited\n"); w.git("add", "f1") }, nil, ""},
	{"commits on top", func(w *world) {
		w.git("commit", "-q", "-am", "one")
		w.git("commit", "-q", "--allow-empty", "-m", "two")
	}, []string{"committed refs/heads/main"}, "2 commits were made on branch main"},
	{"reset --hard to an older commit", func(w *world) { w.git("reset", "-q", "--hard", "HEAD~2") }, []string{"reset refs/heads/main", "discarded "}, "moved back by 2 commits"},
	{"reset --hard of a changed file", func(w *world) { w.git("reset", "-q", "--hard", "HEAD~3") }, []string{"reset refs/heads/main", "discarded "}, "uncommitted changes of 2 tracked files are gone, they are as committed: a, f0"},
	{"reset --soft", func(w *world) { w.git("reset", "-q", "--soft", "HEAD~1") }, []string{"reset refs/heads/main"}, "nothing leads to 1 commit any more"},
	{"reset --hard in place", func(w *world) { w.git("reset", "-q", "--hard") }, []string{"discarded "}, "uncommitted changes of 2 tracked files are gone, they are as committed: a, f0"},
	{"checkout of one file", func(w *world) { w.git("checkout", "-q", "--", "a") }, []string{"discarded "}, "1 tracked file are gone, it is as committed: a"},
	{"amend", func(w *world) { w.git("commit", "-q", "--amend", "-m", "other") }, []string{"rewritten refs/heads/main"}, "branch main was rewritten: 1 commit was replaced by 1"},
	{"rebase", func(w *world) {
		w.git("stash", "-q", "-u")
		w.git("rebase", "-q", "--force-rebase", "--root")
		w.git("stash", "pop", "-q", "--index")
	}, []string{"rewritten refs/heads/main"}, "replaced by 4"},
	{"branch deleted", func(w *world) { w.git("branch", "-q", "-D", "other") }, []string{"deleted refs/heads/other"}, "its commits are still reachable"},
	{"tag moved and one deleted", func(w *world) { w.git("tag", "-f", "v1"); w.git("tag", "v2") }, []string{"rewritten refs/tags/v1", "created refs/tags/v2"}, "leads to"},
	{"stash", func(w *world) { w.git("stash", "-q") }, []string{"stashed refs/stash", "discarded "}, "1 stash was made and left"},
	{"stash and pop", func(w *world) { w.git("stash", "-q"); w.git("stash", "pop", "-q", "--index") }, nil, ""},
	{"stash dropped", func(w *world) { w.git("stash", "drop", "-q") }, []string{"unstashed refs/stash"}, "1 stash was dropped or applied"},
	{"clean", func(w *world) { w.git("clean", "-qfd") }, []string{"cleaned "}, "2 untracked files of 2 are gone: d/new2, new1"},
	{"one untracked file removed", func(w *world) { w.must(os.Remove(w.path("new1"))) }, []string{"removed "}, "1 untracked file of 2"},
	{"untracked files moved and committed", func(w *world) {
		w.must(os.Rename(w.path("new1"), w.path("moved")))
		w.git("add", "moved", "d")
		w.git("commit", "-qm", "x")
	}, []string{"committed refs/heads/main"}, ""},
	{"another branch, with a commit", func(w *world) { w.git("checkout", "-q", "-b", "feature"); w.git("commit", "-q", "-am", "x") }, []string{"created refs/heads/feature", "switched HEAD"}, "branch feature was made"},
	{"detached", func(w *world) { w.git("checkout", "-q", "--detach") }, []string{"switched HEAD"}, "no longer at branch main"},
	{"merge left unfinished", func(w *world) {
		w.git("commit", "-qam", "x")
		w.git("checkout", "-q", "-b", "side", "HEAD~1")
		w.write("a", "side\n")
		w.git("commit", "-qam", "side")
		w.tryGit(w.dir, "merge", "main")
	},
		[]string{"committed refs/heads/main", "created refs/heads/side", "switched HEAD", "unfinished "}, ""},
	{"a replacement", func(w *world) { w.git("replace", "HEAD", "HEAD~1") }, []string{"rewritten refs/replace/"}, "replacement"},
	{"a history of its own", func(w *world) {
		w.git("update-ref", "refs/heads/main", strings.TrimSpace(w.git("commit-tree", "-m", "x", "HEAD^{tree}")))
	}, []string{"rewritten refs/heads/main"}, "4 commits were replaced by 1"},
	{"the repository removed", func(w *world) { w.must(os.RemoveAll(w.path(".git"))) }, []string{"broken "}, "cannot be read any more"},
	{"HEAD broken", func(w *world) { w.write(".git/HEAD", "rubbish\n") }, []string{"broken "}, "HEAD is not as git writes it"},
	{"lost objects", func(w *world) {
		w.git("reset", "-q", "--hard", "HEAD~2")
		w.git("branch", "-q", "-D", "other")
		w.git("stash", "clear")
		w.git("reflog", "expire", "--expire=now", "--all")
		w.git("gc", "-q", "--prune=now")
	}, []string{"deleted refs/heads/other", "reset refs/heads/main", "unstashed refs/stash", "discarded "}, "nothing leads to"},
}

// What a run did to the history is named, and an undo that is asked for it gives everything back, a gc or not.
func TestHistoryIsNamedAndUndone(t *testing.T) {
	for _, r := range rewrites {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			w := grown(t)
			before, tree := w.gitLook(), look(t, w.dir, false)
			s := w.take()
			r.run(w)
			w.end(s)
			told := w.historyOf(s)
			got := kindsOf(told)
			for i := range got {
				if strings.HasPrefix(got[i], "rewritten refs/replace/") {
					got[i] = "rewritten refs/replace/"
				}
			}
			slices.Sort(got)
			want := slices.Sorted(slices.Values(r.want))
			if !slices.Equal(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
			if len(told) > 0 && !strings.Contains(fmt.Sprint(told), r.says) {
				t.Errorf("%q does not hold %q", told, r.says)
			}
			if len(told) > 0 && told[0].Kind == Broken {
				if _, err := s.Restore(t.Context(), Undo{History: true}); fault.Of(err).Kind != fault.Conflict {
					t.Errorf("%v", err)
				}
				return
			}
			after, afterTree := w.gitLook(), look(t, w.dir, false)
			save := w.store()
			w.restore(s, Undo{History: true, Save: save})
			if got := w.gitLook(); got != before {
				t.Errorf("the repository is not as it was:\n%s", differs(before, got))
			}
			if got := look(t, w.dir, false); got != tree {
				t.Errorf("the tree is not as it was:\n%s", differs(tree, got))
			}
			if out, err := w.tryGit(w.dir, "fsck", "--connectivity-only"); err != nil && strings.Count(out, "missing") != strings.Count(out, "missing tree "+emptyTree) {
				t.Errorf("fsck: %v: %s", err, out)
			}
			saved, err := Open(save)
			w.must(err)
			w.restore(saved, Undo{History: true})
			if got := w.gitLook(); got != after {
				t.Errorf("the undo was not undone:\n%s", differs(after, got))
			}
			if got := look(t, w.dir, false); got != afterTree {
				t.Errorf("%s", differs(afterTree, got))
			}
		})
	}
}

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

// An index is read as git writes it, in all versions, and means the same in all.
func TestIndexVersions(t *testing.T) {
	w := grown(t)
	w.git("add", "-N", "new1")
	w.git("update-index", "--skip-worktree", "f1")
	var first index
	for _, version := range []string{"2", "3", "4"} {
		w.git("update-index", "--index-version", version)
		x, err := parseIndex([]byte(w.read(".git/index")), 20)
		w.must(err)
		n := 0
		for line := range strings.Lines(w.git("ls-files", "-s")) {
			meta, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
			if n++; x.blobs[name] != strings.Fields(meta)[1] {
				t.Errorf("version %s: %s is %q, want %s", version, name, x.blobs[name], meta)
			}
		}
		if n != len(x.blobs) {
			t.Errorf("version %s: %d entries, want %d", version, len(x.blobs), n)
		}
		if version == "2" {
			first = x
		} else if x.mean != first.mean {
			t.Errorf("version %s means something else", version)
		}
		data := w.read(".git/index")
		for cut := range min(len(data), 400) {
			parseIndex([]byte(data[:cut]), 20)
		}
	}
	w.git("update-index", "--no-skip-worktree", "f1")
	if x, err := parseIndex([]byte(w.read(".git/index")), 20); err != nil || x.mean == first.mean {
		t.Error("a mark does not count")
	}
	w.git("update-index", "--split-index")
	if x, err := parseIndex([]byte(w.read(".git/index")), 20); err != nil || !x.split {
		t.Errorf("%v: a split index is not known", err)
	}
}

// A directory that is a part of a repository, and one that is a linked worktree, have their history too.
func TestHistoryFromElsewhere(t *testing.T) {
	w := grown(t)
	w.git("worktree", "add", "-q", "-b", "linked", w.root+"/linked")
	w.write(w.root+"/linked/sub/x", "1\n")
	w.gitIn(w.root+"/linked", "add", "-A")
	w.gitIn(w.root+"/linked", "commit", "-q", "-m", "sub")
	w.write(w.root+"/linked/sub/x", "dirty\n")
	main := w.gitLook()
	w.dir = w.root + "/linked/sub"
	s := w.take()
	w.git("checkout", "-q", "--", "x")
	w.git("reset", "-q", "--soft", "HEAD~1")
	w.end(s)
	if got := kindsOf(w.historyOf(s)); !slices.Equal(got, []string{"reset refs/heads/linked", "discarded "}) {
		t.Errorf("%q", got)
	}
	w.restore(s, Undo{History: true})
	if w.read("x") != "dirty\n" || w.git("log", "-1", "--format=%s") != "sub\n" || w.git("status", "--porcelain") != " M sub/x\n" {
		t.Errorf("%q %q", w.git("log", "-1", "--format=%s"), w.git("status", "--porcelain"))
	}
	w.dir = w.root + "/a work"
	if got := w.gitLook(); got != main {
		t.Errorf("the main work tree:\n%s", differs(main, got))
	}
	w.dir = filepath.Join(w.root, "plain")
	w.write("x", "1")
	if s = w.take(); w.historyOf(s) != nil {
		t.Error("a directory without a repository has a history")
	}
	w.git("init", "-q")
	w.end(s)
	if got := kindsOf(w.historyOf(s)); !slices.Equal(got, []string{"created "}) {
		t.Errorf("%q", got)
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
