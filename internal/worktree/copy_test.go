package worktree

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"opencode-delegate/internal/fault"
)

func (w *world) copyOptions() CopyOptions {
	w.n++
	return CopyOptions{Dir: w.dir, Place: filepath.Join(w.root, fmt.Sprint("place", w.n)), ID: fmt.Sprint("job-", w.n), Environ: w.environ()}
}

func (w *world) newCopy(o CopyOptions) *Copy {
	w.t.Helper()
	_, err := NewCopy(w.t.Context(), o)
	w.must(err)
	c, err := OpenCopy(o.Place)
	w.must(err)
	return c
}

// The copy of a checkout has its files, and however what is done in it lands (by git apply of the patch, by Apply, as a commit, by a merge), it makes of the
// checkout what is in the copy. Until then the repository changes by one ref.
func TestCopyAndItsPatch(t *testing.T) {
	cases(t, 50, func(c *chaos) {
		t := c.t
		for range 5 + c.r.IntN(25) {
			c.put(c.name())
		}
		crlf := c.r.IntN(3) == 0
		if crlf {
			c.git("config", "core.autocrlf", []string{"true", "input"}[c.r.IntN(2)])
		}
		c.commit()
		if c.r.IntN(2) == 0 {
			for range c.r.IntN(6) {
				c.edit()
			}
		}
		dirty := c.git("status", "--porcelain") != ""
		before, git := patchLook(t, c.dir), look(t, c.path(".git"), true)
		o := c.copyOptions()
		o.WithDirty = dirty
		cp := c.newCopy(o)
		if got := patchLook(t, cp.Tree()); got != before {
			t.Fatalf("the copy is another tree:\n%s", differs(before, got))
		}
		if !dirty && c.gitIn(cp.Tree(), "status", "--porcelain") != "" {
			t.Errorf("the copy is not clean: %s", c.gitIn(cp.Tree(), "status", "--porcelain"))
		}
		user := c.dir
		c.dir = cp.Tree()
		for range 1 + c.r.IntN(3) {
			for range 1 + c.r.IntN(8) {
				c.edit()
			}
			switch c.r.IntN(4) {
			case 0, 1:
				c.git("add", "-A")
				c.git("commit", "-q", "--allow-empty", "-m", "by the worker")
			case 2:
				c.git("add", "-A")
				c.git("commit", "-q", "--allow-empty", "--amend", "-m", "amended")
			}
		}
		want := patchLook(t, c.dir)
		c.dir = user
		result := c.result(cp)
		var kept []string
		for line := range strings.SplitSeq(look(t, c.path(".git"), true), "\n") {
			if !strings.HasPrefix(line, `"refs/opencode-delegate`) {
				kept = append(kept, line)
			}
		}
		if got := strings.Join(kept, "\n"); got != git {
			t.Fatalf("the repository changed:\n%s", differs(git, got))
		}
		way := c.bring(cp, result, dirty, crlf)
		if got := patchLook(t, c.dir); got != want {
			t.Fatalf("%s: %s", way, differs(want, got))
		}
		if way != "apply" && way != "Apply" && !dirty && c.git("status", "--porcelain") != "" {
			t.Errorf("%s: not clean: %s", way, c.git("status", "--porcelain"))
		}
	})
}

// bring lands a result in one of the ways there are.
func (c *chaos) bring(cp *Copy, result *Snapshot, dirty, crlf bool) string {
	c.t.Helper()
	switch way := c.r.IntN(4); {
	case way == 0:
		if patch := c.patch(cp.Base(), result); patch != "" {
			c.write(c.root+"/p", patch)
			c.git("config", "core.autocrlf", "false") // or git apply changes line ends; ours does not
			c.git("apply", "--whitespace=nowarn", c.root+"/p")
		}
		return "apply"
	case way == 1 || dirty || crlf:
		done, err := Land(c.t.Context(), cp.Base(), result, c.dir, c.store(), LandOptions{Options: c.options()})
		c.must(err)
		if len(done.Conflicts) > 0 {
			c.t.Errorf("%+v", done.Conflicts)
		}
		return "Apply"
	case way == 2:
		_, err := Land(c.t.Context(), cp.Base(), result, c.dir, c.store(), LandOptions{Options: c.options(), Message: "landed"})
		c.must(err)
		return "commit"
	default:
		_, err := Merge(c.t.Context(), cp, result, MergeOptions{Message: "the rest", Environ: c.environ()})
		c.must(err)
		return "merge"
	}
}

func TestCopyLeavesDirtAtHomeUnlessAsked(t *testing.T) {
	w := newWorld(t)
	w.write("a", "committed\n")
	w.write("gone", "committed\n")
	w.write(".gitignore", "out/\n")
	w.commit()
	w.write("a", "dirty\n")
	w.write("new", "untracked\n")
	w.write("out/x", "ignored\n")
	w.must(os.Remove(w.path("gone")))
	clean := w.newCopy(w.copyOptions())
	if w.read(clean.Tree()+"/a") != "committed\n" || w.read(clean.Tree()+"/gone") != "committed\n" {
		t.Error("the copy is not the commit")
	}
	if _, err := os.Lstat(clean.Tree() + "/new"); err == nil {
		t.Error("an untracked file came along")
	}
	o := w.copyOptions()
	o.WithDirty = true
	dirty := w.newCopy(o)
	if w.read(dirty.Tree()+"/a") != "dirty\n" || w.read(dirty.Tree()+"/new") != "untracked\n" {
		t.Error("the dirt did not come along")
	}
	for _, name := range []string{"gone", "out"} {
		if _, err := os.Lstat(dirty.Tree() + "/" + name); err == nil {
			t.Errorf("%s came along", name)
		}
	}
	w.write(dirty.Tree()+"/.gitignore", "out/\nnew\nbuild/\n")
	w.write(dirty.Tree()+"/build/x", "1")
	w.write(dirty.Tree()+"/made", "1")
	result, err := dirty.Result(t.Context(), w.store(), w.environ())
	w.must(err)
	patch := w.patch(dirty.Base(), result)
	for name, want := range map[string]bool{"made": true, ".gitignore": true, "build/x": false, "new": false, "a": false} {
		if strings.Contains(patch, " b/"+name+"\n") != want {
			t.Errorf("%s in the patch: not %v\n%s", name, want, patch)
		}
	}
}

// Files that git still knows behind what has become a link do not come along as if they were in the tree.
func TestDirtBehindALinkIsNotCopied(t *testing.T) {
	w := newWorld(t)
	w.write("d/x", "x\n")
	w.write("e/x", "other\n")
	w.commit()
	w.must(os.RemoveAll(w.path("d")))
	w.must(os.Symlink("e", w.path("d")))
	o := w.copyOptions()
	o.WithDirty = true
	c := w.newCopy(o)
	if got, want := patchLook(t, c.Tree()), patchLook(t, w.dir); got != want {
		t.Errorf("%s", differs(want, got))
	}
}

// The objects that a copy borrows outlive a reset, an expiry and a collection in the user's repository, and no longer than the ref.
func TestTheRefKeepsTheBase(t *testing.T) {
	w := newWorld(t)
	w.write("a", "one\n")
	w.commit()
	w.write("a", "two\n")
	w.commit()
	c := w.newCopy(w.copyOptions())
	w.in(c, "a", "three\n", commitAs("of the worker")...)
	collect := func() {
		w.git("reset", "-q", "--hard", "HEAD~1")
		w.git("reflog", "expire", "--expire=now", "--all")
		w.git("gc", "-q", "--prune=now")
	}
	collect()
	fresh, err := c.Fresh(t.Context(), w.place())
	w.must(err)
	with, err := c.With(t.Context(), w.result(c), w.place())
	w.must(err)
	for _, c := range []*Copy{c, fresh, with} {
		if got := w.gitIn(c.Tree(), "show", c.BaseCommit()+":a"); got != "two\n" {
			t.Errorf("%q", got)
		}
	}
	if h := w.history(c); h.subjects() != "of the worker" {
		t.Errorf("%+v", h)
	}
	if was, err := c.Release(t.Context()); !was || err != nil {
		t.Errorf("release: %v %v", was, err)
	}
	w.git("gc", "-q", "--prune=now")
	if out, err := w.tryGit(c.Tree(), "show", "HEAD~1:a"); err == nil {
		t.Errorf("without the ref the base lives too, so this test proves nothing: %s", out)
	}
	after := w.result(c)
	if patch := w.patch(c.Base(), after); !strings.Contains(patch, "+three") {
		t.Errorf("without the base there is no patch: %s", patch)
	}
	if h := w.history(c); h.Lost == "" {
		t.Errorf("without the base: %+v", h)
	}
	if _, err := c.Fresh(t.Context(), w.place()); err == nil {
		t.Error("without the base there is a fresh copy")
	}
}

func TestNoCopyOfWhatIsNotReady(t *testing.T) {
	w := newWorld(t)
	refused := func(want string) {
		t.Helper()
		o := w.copyOptions()
		_, err := NewCopy(t.Context(), o)
		if err == nil || fault.Of(err).Kind != fault.Usage || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want %q", err, want)
		}
		if _, err := os.Lstat(o.Place); err == nil {
			t.Errorf("%s: a part was left", want)
		}
	}
	refused("no commit yet")
	w.write("a", "x\n")
	w.commit()
	w.git("checkout", "-q", "-b", "other")
	w.write("a", "other\n")
	w.commit()
	w.git("checkout", "-q", "main")
	w.write("a", "main\n")
	w.commit()
	for _, c := range []struct{ want, begin, end string }{
		{"a merge is under way", "merge other", "merge --abort"}, {"a cherry-pick is under way", "cherry-pick other", "cherry-pick --abort"},
		{"a rebase is under way", "rebase other", "rebase --abort"}, {"a revert is under way", "revert --no-edit HEAD~1", "revert --abort"}, {"a bisect is under way", "bisect start", "bisect reset"},
	} {
		w.tryGit(w.dir, strings.Fields(c.begin)...)
		refused(c.want)
		w.git(strings.Fields(c.end)...)
	}
	blob := strings.TrimSpace(w.git("rev-parse", "HEAD:a"))
	w.must(os.Remove(w.path(".git/objects/" + blob[:2] + "/" + blob[2:])))
	refused("missing")
	w.must(os.RemoveAll(w.path(".git")))
	refused("in no work tree of git")
	o := w.copyOptions()
	o.ID = "../x"
	if _, err := NewCopy(t.Context(), o); err == nil {
		t.Error("an id that leads elsewhere was taken")
	}
}

// Detached, shallow, linked and sparse checkouts can be copied, and programs of the repository do not run.
func TestCopyOfUnusualCheckouts(t *testing.T) {
	w := newWorld(t)
	w.write("a", "one\n")
	w.write("d/x", "x\n")
	w.commit()
	w.write("a", "two\n")
	w.commit()
	w.git("clone", "-q", "--depth=1", "file://"+w.dir, w.root+"/shallow")
	w.git("worktree", "add", "-q", "--detach", w.root+"/linked")
	w.git("clone", "-q", w.dir, w.root+"/sparse")
	w.gitIn(w.root+"/sparse", "sparse-checkout", "set", "--no-cone", "/a")
	marker := w.root + "/marker"
	for _, dir := range []string{"shallow", "linked", "sparse"} {
		dir = w.root + "/" + dir
		for _, key := range []string{"core.fsmonitor", "filter.evil.smudge", "filter.evil.clean"} {
			w.gitIn(dir, "config", key, "touch '"+marker+"'; cat")
		}
		hooks := strings.TrimSpace(w.gitIn(dir, "rev-parse", "--git-path", "hooks"))
		if !filepath.IsAbs(hooks) {
			hooks = filepath.Join(dir, hooks)
		}
		for _, hook := range []string{"post-checkout", "reference-transaction", "post-index-change"} {
			w.write(hooks+"/"+hook, "#!/bin/sh\ntouch '"+marker+"'\n")
			w.must(os.Chmod(hooks+"/"+hook, 0o755))
		}
		w.gitIn(dir, "config", "core.logAllRefUpdates", "always")
		os.Remove(marker)
		o := w.copyOptions()
		o.Dir = dir
		c := w.newCopy(o)
		if _, err := os.Stat(filepath.Join(c.record.Common, "logs", c.Ref())); err == nil {
			t.Errorf("%s: the ref has a log", dir)
		}
		if got, want := patchLook(t, c.Tree()), patchLook(t, dir); got != want {
			t.Errorf("%s:\n%s", dir, differs(want, got))
		}
		if _, err := os.Stat(marker); err == nil {
			t.Errorf("%s: a program of the repository ran", dir)
		}
		w.gitIn(c.Tree(), "log")
		w.tryGit(dir, "update-ref", "refs/x", "HEAD") // the bait works
		if _, err := os.Stat(marker); err != nil {
			t.Errorf("%s: the hook does not run with git either: this proves nothing", dir)
		}
	}
}
