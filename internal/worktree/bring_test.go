package worktree

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"opencode-delegate/internal/fault"
)

func (w *world) result(c *Copy) *Snapshot {
	w.t.Helper()
	after, err := c.Result(w.t.Context(), w.store(), w.environ())
	w.must(err)
	return after
}

func (w *world) merge(c *Copy) (Merged, error) {
	w.t.Helper()
	return Merge(w.t.Context(), c, w.result(c), MergeOptions{Message: "the rest\n", Environ: w.environ()})
}

func (w *world) head() string {
	w.t.Helper()
	return strings.TrimSpace(w.git("rev-parse", "HEAD"))
}

// hook plants a program of the user's.
func (w *world) hook(name, script string) {
	w.t.Helper()
	w.write(".git/hooks/"+name, "#!/bin/sh\n"+script+"\n")
	w.must(os.Chmod(w.path(".git/hooks/"+name), 0o755))
}

func TestMergeGoesForwardWithCommitsAndRest(t *testing.T) {
	w, c := based(t)
	w.in(c, "new", "committed\n", commitAs("of the worker")...)
	head := strings.TrimSpace(w.gitIn(c.Tree(), "rev-parse", "HEAD"))
	w.in(c, "bin", "\x00not committed")
	w.must(os.Chmod(c.Tree()+"/a", 0o755))
	w.must(os.RemoveAll(c.Tree() + "/d"))
	w.must(os.Symlink("a", c.Tree()+"/d"))
	w.write(c.Tree()+"/.git/hooks/post-merge", "#!/bin/sh\ntouch '"+w.root+"/worker'\n")
	w.hook("post-merge", "touch '"+w.root+"/user'")
	w.write("untracked", "of the user")
	want := patchLook(t, c.Tree())
	done, err := w.merge(c)
	w.must(err)
	if !done.FastForward || done.Already || done.Commits != 1 || !done.Rest || done.Squashed != "" || done.Commit != w.head() {
		t.Errorf("%+v", done)
	}
	w.must(os.Remove(w.path("untracked")))
	if got := patchLook(t, w.dir); got != want {
		t.Errorf("%s", differs(want, got))
	}
	if got := w.git("status", "--porcelain"); got != "" {
		t.Errorf("not clean: %s", got)
	}
	if got := w.git("log", "--format=%s|%an", "-2"); got != "the rest|t\nof the worker|The Worker\n" || strings.TrimSpace(w.git("rev-parse", "HEAD~1")) != head {
		t.Errorf("%s", got)
	}
	w.git("fsck", "--strict")
	if _, err := os.Stat(w.root + "/user"); err != nil {
		t.Error("the user's hook did not run")
	}
	if _, err := os.Stat(w.root + "/worker"); err == nil {
		t.Error("the worker's hook ran")
	}
	if again, err := w.merge(c); err != nil || !again.Already || again.Commit != done.Commit {
		t.Errorf("again: %+v %v", again, err)
	}
}

func TestMergeWithWorkOfTheUser(t *testing.T) {
	w, c := based(t)
	w.in(c, "new", "of the worker\n", commitAs("of the worker")...)
	w.write("mine", "of the user\n")
	w.commit()
	mine := w.head()
	done, err := w.merge(c)
	w.must(err)
	if parents := strings.TrimSpace(w.git("log", "-1", "--format=%P")); done.FastForward || parents != mine+" "+strings.TrimSpace(w.gitIn(c.Tree(), "rev-parse", "HEAD")) {
		t.Errorf("%+v, parents %s", done, parents)
	}
	if w.read("new") != "of the worker\n" || w.read("mine") != "of the user\n" || w.git("status", "--porcelain") != "" {
		t.Error("the merge is not both")
	}
}

// A merge that cannot be leaves everything as it was.
func TestMergeLeavesNothingHalfDone(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(w *world)
		kind    fault.Kind
		want    string
		paths   []string
	}{
		"conflicts":  {func(w *world) { w.write("a", "of the user\n"); w.write("made", "of the user\n"); w.commit() }, fault.Conflict, "both sides changed a, made", []string{"a", "made"}},
		"in the way": {func(w *world) { w.write("made", "untracked\n") }, fault.Conflict, "made", nil},
		"changed":    {func(w *world) { w.write("d/b", "changed\n") }, fault.Usage, "uncommitted work: d/b", nil},
		"staged":     {func(w *world) { w.write("staged", "x"); w.git("add", "staged") }, fault.Usage, "uncommitted work: staged", nil},
		"under way":  {func(w *world) { w.git("bisect", "start") }, fault.Usage, "bisect is under way", nil},
		"a hook says no": {func(w *world) {
			w.write("x", "x")
			w.commit()
			w.hook("pre-merge-commit", "echo not today >&2; exit 1")
		}, fault.RunFailed, "not today", nil},
	} {
		t.Run(name, func(t *testing.T) {
			w, cp := based(t)
			w.in(cp, "a", "of the worker\n", commitAs("one")...)
			w.in(cp, "made", "of the worker\n")
			c.prepare(w)
			before, head, index, status := look(t, w.dir, false), w.head(), w.git("ls-files", "-s"), w.git("status", "--porcelain=v2")
			_, err := w.merge(cp)
			if err == nil || fault.Of(err).Kind != c.kind || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v, want %s %q", err, c.kind, c.want)
			}
			if both := (*Unmerged)(nil); errors.As(err, &both) != (c.paths != nil) || both != nil && !slices.Equal(both.Paths, c.paths) {
				t.Errorf("paths: %v", both)
			}
			if got := look(t, w.dir, false); got != before || w.head() != head || w.git("ls-files", "-s") != index || w.git("status", "--porcelain=v2") != status {
				t.Errorf("something was left: %s", differs(before, got))
			}
			if got := w.history(cp).subjects(); got != "one" {
				t.Errorf("the copy: %s", got)
			}
		})
	}
}

// Commits that cannot come as they are come as one, which says so, and nothing that git would not take comes.
func TestMergeOfRewrittenHistory(t *testing.T) {
	w, c := based(t)
	w.in(c, "", "", []string{"reset", "-q", "--hard", "HEAD~1"})
	w.in(c, "new", "x\n", commitAs("elsewhere")...)
	want := patchLook(t, c.Tree())
	base := w.head()
	done, err := w.merge(c)
	w.must(err)
	if !strings.Contains(done.Squashed, "do not descend") || done.Commits != 0 || !done.Rest || strings.TrimSpace(w.git("rev-parse", "HEAD~1")) != base {
		t.Errorf("%+v", done)
	}
	if got := patchLook(t, w.dir); got != want {
		t.Errorf("%s", differs(want, got))
	}

	w, c = based(t)
	w.in(c, "new", "x\n", commitAs("fine")...)
	w.must(os.RemoveAll(c.Tree() + "/.git"))
	done, err = w.merge(c)
	w.must(err)
	if !strings.Contains(done.Squashed, "no git directory") || w.read("new") != "x\n" || w.git("status", "--porcelain") != "" {
		t.Errorf("%+v", done)
	}

	w, c = based(t)
	if done, err = w.merge(c); err != nil || !done.Already || done.Squashed != "" || done.Rest || done.Commit != c.BaseCommit() {
		t.Errorf("nothing: %+v %v", done, err)
	}
}

func TestMergeOfACopyWithDirtIsRefused(t *testing.T) {
	w := newWorld(t)
	w.write("a", "x\n")
	w.commit()
	o := w.copyOptions()
	o.WithDirty = true
	w.in(w.newCopy(o), "", "")
	if _, err := w.merge(w.newCopy(CopyOptions{Dir: w.dir, Place: w.place(), ID: "clean", WithDirty: true, Environ: w.environ()})); err != nil {
		t.Errorf("there was no dirt: %v", err)
	}
	for _, dirt := range []string{"a", "untracked"} {
		w.write(dirt, "dirt\n")
		o := w.copyOptions()
		o.WithDirty = true
		c := w.newCopy(o)
		w.in(c, "new", "x")
		w.git("stash", "-u", "-q")
		if _, err := w.merge(c); fault.Of(err).Kind != fault.Usage || !strings.Contains(err.Error(), "began with uncommitted work") {
			t.Errorf("%s: %v", dirt, err)
		}
	}
}

// What git takes from files is what it would take from the user: line ends and filters of the user's configuration count.
func TestMergeTakesFilesAsTheUserWould(t *testing.T) {
	w := newWorld(t)
	w.git("config", "core.autocrlf", "true")
	w.git("config", "filter.up.clean", "tr a-z A-Z")
	w.git("config", "filter.up.smudge", "tr A-Z a-z")
	w.write(".gitattributes", "*.up filter=up\n")
	w.write("lines", "one\r\n")
	w.write("x.up", "abc\r\n")
	w.commit()
	c := w.newCopy(w.copyOptions())
	w.in(c, "lines", "one\r\ntwo\r\n")
	w.in(c, "x.up", "abc\r\ndef\r\n")
	w.in(c, "deep/y.up", "new\r\n")
	want := patchLook(t, c.Tree())
	_, err := w.merge(c)
	w.must(err)
	if got := patchLook(t, w.dir); got != want || w.git("status", "--porcelain") != "" {
		t.Errorf("%s\n%s", differs(want, got), w.git("status", "--porcelain"))
	}
	for name, want := range map[string]string{"lines": "one\ntwo\n", "x.up": "ABC\nDEF\n", "deep/y.up": "NEW\n"} {
		if got := w.git("show", "HEAD:"+name); got != want {
			t.Errorf("%s is kept as %q", name, got)
		}
	}
}
