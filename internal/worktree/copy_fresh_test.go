package worktree

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"opencode-delegate/internal/fault"
)

func (w *world) place() string { w.n++; return fmt.Sprintf("%s/other%d", w.root, w.n) }

// Further copies have the recorded base, whatever the user and the worker did since; one with a result has the result, and git shows it against the base.
func TestFurtherCopiesOfOneBase(t *testing.T) {
	cases(t, 15, func(c *chaos) {
		t := c.t
		for range 5 + c.r.IntN(20) {
			c.put(c.name())
		}
		c.commit()
		o := c.copyOptions()
		if o.WithDirty = c.r.IntN(2) == 0; o.WithDirty {
			for range c.r.IntN(6) {
				c.edit()
			}
		}
		first := c.newCopy(o)
		base := look(t, first.Tree(), false)
		status := c.gitIn(first.Tree(), "status", "--porcelain")
		user := c.dir
		c.dir = first.Tree()
		for range 1 + c.r.IntN(10) {
			c.edit()
		}
		after, err := first.Result(t.Context(), c.store(), c.environ())
		c.must(err)
		want := look(t, first.Tree(), false)
		c.write(first.Tree()+"/.git/config", "[core]\nhooksPath = /nowhere\nfsmonitor = /bin/false\n")
		c.dir = user
		for range 1 + c.r.IntN(5) {
			c.edit()
		}
		c.commit()

		_, err = first.Fresh(t.Context(), c.place())
		c.must(err)
		fresh, err := OpenCopy(fmt.Sprintf("%s/other%d", c.root, c.n))
		c.must(err)
		if got := look(t, fresh.Tree(), false); got != base {
			t.Fatalf("fresh:\n%s", differs(base, got))
		}
		if got := c.gitIn(fresh.Tree(), "status", "--porcelain"); got != status {
			t.Errorf("status of the fresh one: %q, want %q", got, status)
		}
		with, err := fresh.With(t.Context(), after, c.place())
		c.must(err)
		if got := look(t, with.Tree(), false); got != want {
			t.Fatalf("with the result:\n%s", differs(want, got))
		}
		if head := strings.TrimSpace(c.gitIn(with.Tree(), "rev-parse", "HEAD")); head != first.BaseCommit() {
			t.Errorf("HEAD is %s", head)
		}
		if branch := strings.TrimSpace(c.gitIn(with.Tree(), "symbolic-ref", "--short", "HEAD")); branch != first.Branch() {
			t.Errorf("the branch is %s", branch)
		}
		again, err := with.Result(t.Context(), c.store(), c.environ())
		c.must(err)
		if got := c.patch(after, again); got != "" {
			t.Errorf("the result of the result is another:\n%s", got)
		}
		if got := c.patch(with.Base(), first.Base()); got != "" {
			t.Errorf("the base is another:\n%s", got)
		}
	})
}

// Work goes on from the same base in a copy with a ref of its own, whatever becomes of the first one.
func TestAnOnwardCopyHasTheWork(t *testing.T) {
	cases(t, 15, func(c *chaos) {
		t := c.t
		for range 5 + c.r.IntN(20) {
			c.put(c.name())
		}
		c.commit()
		o := c.copyOptions()
		o.ID = "first"
		if o.WithDirty = c.r.IntN(2) == 0; o.WithDirty {
			for range c.r.IntN(6) {
				c.edit()
			}
		}
		first := c.newCopy(o)
		status := c.gitIn(first.Tree(), "status", "--porcelain")
		user := c.dir
		c.dir = first.Tree()
		for range 1 + c.r.IntN(10) {
			c.edit()
		}
		c.dir = user
		after, err := first.Result(t.Context(), c.store(), c.environ())
		c.must(err)
		var want bytes.Buffer
		c.must(Patch(t.Context(), first.Base(), after, &want, 1<<30))
		_, err = first.Onward(t.Context(), "next", c.place())
		c.must(err)
		next, err := OpenCopy(fmt.Sprintf("%s/other%d", c.root, c.n))
		c.must(err)
		if got := c.gitIn(next.Tree(), "status", "--porcelain"); got != status {
			t.Fatalf("status of the next one: %q, want %q", got, status)
		}
		c.must(first.Discard(t.Context()))
		if got := c.gitIn(c.dir, "for-each-ref", "--format=%(refname)", "refs/opencode-delegate"); strings.TrimSpace(got) != "refs/opencode-delegate/next" {
			t.Errorf("refs %q", got)
		}
		if got := c.gitIn(next.Tree(), "for-each-ref", "--format=%(refname)"); strings.TrimSpace(got) != "refs/heads/main\nrefs/heads/opencode-delegate/next" {
			t.Errorf("branches of the next one %q", got)
		}
		c.must(next.Resume(t.Context(), after))
		came, err := next.Result(t.Context(), c.store(), c.environ())
		c.must(err)
		var got bytes.Buffer
		c.must(Patch(t.Context(), next.Base(), came, &got, 1<<30))
		if got.String() != want.String() {
			t.Errorf("the work is\n%s\nwant\n%s", &got, &want)
		}
	})
}

// What could not be made leaves no ref.
func TestAnOnwardCopyThatFailsLeavesNothing(t *testing.T) {
	w := newWorld(t)
	w.write("a", "a\n")
	w.commit()
	first := w.newCopy(w.copyOptions())
	place := w.place()
	if _, err := first.Onward(t.Context(), "../next", place); err == nil {
		t.Error("an id that is no part of a ref was taken")
	}
	w.must(os.RemoveAll(filepath.Join(first.place, ownGitName)))
	if _, err := first.Onward(t.Context(), "next", place); err == nil {
		t.Error("a copy came of half a copy")
	}
	if _, err := os.Lstat(place); err == nil {
		t.Error("a place is left")
	}
	if got := w.gitIn(w.dir, "for-each-ref", "--format=%(refname)", "refs/opencode-delegate/next"); got != "" {
		t.Errorf("left: %s", got)
	}
}

// Ten at once in one repository: each gets its copy, and of the repository nothing changes but the refs.
func TestTenCopiesAtOnce(t *testing.T) {
	w := newWorld(t)
	for i := range 50 {
		w.write(fmt.Sprintf("d%d/f%d", i%7, i), fmt.Sprint(i))
	}
	w.commit()
	w.git("pack-refs", "--all")
	git := look(t, w.path(".git"), true)
	copies, errs := make([]*Copy, 10), make([]error, 10)
	var all sync.WaitGroup
	for i := range copies {
		o := w.copyOptions()
		all.Go(func() {
			if copies[i], errs[i] = NewCopy(t.Context(), o); errs[i] == nil {
				_, errs[i] = copies[i].Fresh(t.Context(), o.Place+"-again")
			}
		})
	}
	for range 5 {
		all.Go(func() { w.tryGit(w.dir, "pack-refs", "--all") })
	}
	all.Wait()
	want := patchLook(t, w.dir)
	for i, err := range errs {
		w.must(err)
		if got := patchLook(t, copies[i].Tree()); got != want {
			t.Errorf("copy %d:\n%s", i, differs(want, got))
		}
		if strings.TrimSpace(w.git("rev-parse", copies[i].Ref())) != copies[i].BaseCommit() {
			t.Errorf("the ref of copy %d", i)
		}
	}
	for i := range copies {
		all.Go(func() { errs[i] = copies[i].Discard(t.Context()) })
	}
	all.Wait()
	for i, err := range errs {
		w.must(err)
		if _, err := os.Lstat(copies[i].place); err == nil {
			t.Errorf("copy %d is there", i)
		}
	}
	w.git("pack-refs", "--all")
	if got := look(t, w.path(".git"), true); got != git {
		t.Errorf("the repository changed:\n%s", differs(git, got))
	}
}

func TestWhereTheUserIs(t *testing.T) {
	w := newWorld(t)
	w.write("sub/deep/x", "x")
	w.commit()
	w.must(os.MkdirAll(w.path("new/empty"), 0o755))
	w.must(os.Symlink("a work/sub", w.root+"/short"))
	o := w.copyOptions()
	o.Dir = w.path("new/empty")
	c := w.newCopy(o)
	for dir, want := range map[string]string{w.dir: ".", w.path("sub/deep"): "sub/deep", w.root + "/short/deep": "sub/deep", w.path("new/empty"): "new/empty", w.root: ".", "/": "."} {
		if got := c.Dir(dir); got != filepath.Join(c.Tree(), want) {
			t.Errorf("%s is %s", dir, got)
		}
		if fi, err := os.Stat(c.Dir(dir)); err != nil || !fi.IsDir() {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

func TestTheEndOfACopy(t *testing.T) {
	w := newWorld(t)
	w.write("a", "x\n")
	w.commit()
	c := w.newCopy(w.copyOptions())
	outside := w.root + "/outside"
	w.write(outside+"/precious", "x")
	w.must(os.Symlink(outside, c.Tree()+"/out"))
	w.write(c.Tree()+"/ro/deep/x", "x")
	w.must(os.Symlink(outside, c.Tree()+"/ro/deep/out"))
	w.must(os.Chmod(c.Tree()+"/ro/deep", 0o500))
	w.must(os.Chmod(c.Tree()+"/ro", 0))
	fresh, err := c.Fresh(t.Context(), w.place())
	w.must(err)
	w.must(RemovePlace(fresh.place))
	w.must(RemovePlace(fresh.place))
	if _, err := OpenCopy(fresh.place); fault.Of(err).Kind != fault.NotFound {
		t.Errorf("what was removed: %v", err)
	}
	w.git("rev-parse", "--verify", c.Ref())
	if was, err := c.Release(t.Context()); err != nil || !was {
		t.Errorf("release: %v %v", was, err)
	}
	if was, err := c.Release(t.Context()); err != nil || was {
		t.Errorf("release again: %v %v", was, err)
	}
	w.git("commit", "-q", "--allow-empty", "-m", "later")
	w.git("update-ref", c.Ref(), "HEAD")
	if _, err := c.Release(t.Context()); err == nil {
		t.Error("the ref of another commit was removed")
	}
	if was, err := ReleaseID(t.Context(), w.dir, c.record.ID); err != nil || !was {
		t.Errorf("release by id: %v %v", was, err)
	}
	w.must(c.Discard(t.Context()))
	if _, err := os.Lstat(c.place); err == nil {
		t.Error("the place is there")
	}
	if w.read(outside+"/precious") != "x" {
		t.Error("a link was followed")
	}
	gone := w.newCopy(w.copyOptions())
	w.must(os.RemoveAll(w.dir))
	w.must(gone.Discard(t.Context()))
	if _, err := os.Lstat(gone.place); err == nil {
		t.Error("without the repository the place stays")
	}
}
