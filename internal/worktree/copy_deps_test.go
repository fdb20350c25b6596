package worktree

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"opencode-delegate/internal/fault"
)

// Dependencies are there in every copy, git shows nothing of them, and whatever becomes of them does not land.
func TestDependenciesComeAlongAndNeverLand(t *testing.T) {
	w := newWorld(t)
	w.write("web/index.js", "x\n")
	w.write(".gitignore", "node_modules/\n.venv/\n")
	w.commit()
	w.write("web/node_modules/left pad/index.js", "pad\n")
	w.write("web/.venv/bin/run", "#!/bin/sh\n")
	w.must(os.Chmod(w.path("web/.venv/bin/run"), 0o755))
	w.must(os.Symlink("/usr/bin/env", w.path("web/.venv/bin/python")))
	w.write("web/.venv/repo/.git/config", "x")
	w.must(os.MkdirAll(w.path("web/.venv/ro"), 0o500))
	w.write("web/not ignored/x", "x")
	for _, dirty := range []bool{false, true} {
		o := w.copyOptions()
		o.Dir, o.WithDirty, o.Link, o.Copy = w.path("web"), dirty, []string{"node_modules"}, []string{".venv/", "./not ignored"}
		c := w.newCopy(o)
		fresh, err := c.Fresh(t.Context(), w.place())
		w.must(err)
		after, err := c.Result(t.Context(), w.store(), w.environ())
		w.must(err)
		with, err := c.With(t.Context(), after, w.place())
		w.must(err)
		for _, c := range []*Copy{c, fresh, with} {
			at := c.Dir(w.path("web"))
			if target, err := os.Readlink(at + "/node_modules"); err != nil || target != w.path("web/node_modules") {
				t.Errorf("linked: %q %v", target, err)
			}
			if w.read(at+"/node_modules/left pad/index.js") != "pad\n" || w.read(at+"/not ignored/x") != "x" {
				t.Error("they do not have their contents")
			}
			want := strings.Replace(look(t, w.path("web/.venv"), false), `"repo/.git"`, "", 1)
			if got := look(t, at+"/.venv", false); got != want {
				t.Errorf("copied:\n%s", differs(want, got))
			}
			if _, err := os.Lstat(at + "/.venv/repo/.git"); err == nil {
				t.Error("a repository inside came along")
			}
			if got := w.gitIn(c.Tree(), "status", "--porcelain"); got != "" {
				t.Errorf("git shows %q", got)
			}
			w.write(at+"/.venv/bin/run", "patched")
			w.write(at+"/.gitignore", "!*\n")
			w.must(os.Remove(at + "/node_modules"))
			w.write(at+"/node_modules", "a file now")
			w.write(c.Tree()+"/.gitignore", "node_modules/\n.venv/\n!*\n")
			w.write(c.Tree()+"/.git/info/exclude", "")
			result, err := c.Result(t.Context(), w.store(), w.environ())
			w.must(err)
			if patch := w.patch(c.Base(), result); strings.Contains(patch, "/node_modules") || strings.Contains(patch, ".venv/b") || strings.Contains(patch, "not ignored") || !strings.Contains(patch, "web/.gitignore") {
				t.Errorf("the patch:\n%s", patch)
			}
		}
		if w.read("web/.venv/bin/run") != "#!/bin/sh\n" {
			t.Error("what was copied is the user's own")
		}
	}
}

// Where the result has something else in their place, a copy with it has that.
func TestDependenciesGiveWayToAResult(t *testing.T) {
	w := newWorld(t)
	w.write("web/index.js", "x\n")
	w.commit()
	w.write("web/node_modules/x", "x")
	o := w.copyOptions()
	o.Link = []string{"web/node_modules"}
	c := w.newCopy(o)
	w.must(os.RemoveAll(c.Tree() + "/web"))
	w.must(os.Symlink(w.root, c.Tree()+"/web"))
	after, err := c.Result(t.Context(), w.store(), w.environ())
	w.must(err)
	with, err := c.With(t.Context(), after, w.place())
	w.must(err)
	if target, _ := os.Readlink(with.Tree() + "/web"); target != w.root {
		t.Errorf("web leads to %q", target)
	}
	if _, err := os.Lstat(w.root + "/node_modules"); err == nil {
		t.Error("the link of the result was followed")
	}
}

func TestWhatCannotBeLinkedOrCopied(t *testing.T) {
	w := newWorld(t)
	w.write("src/x", "x\n")
	w.write("gone/x", "x\n")
	w.commit()
	w.git("rm", "-q", "-r", "gone")
	w.write("gone/y", "untracked, but gone/x is in the commit")
	w.write("dep/deep/x", "x")
	w.must(os.Symlink(w.root, w.path("out")))
	w.must(os.Symlink("dep", w.path("in")))
	for name, want := range map[string]string{
		"src": "tracked by git", "src/x": "tracked by git", "gone": "tracked by git", "none": "there is no none", "dep/none/x": "there is no dep/none", "out": "is itself a symbolic link",
		"out/home": "out is itself a symbolic link", "in": "symbolic link", "../home": "no path below", "/etc": "no path below", "": "no path below", ".": "no path below", ".git/hooks": "belongs to git", "x\x00": "no path below",
	} {
		for _, link := range []bool{true, false} {
			o := w.copyOptions()
			if o.Copy = []string{name}; link {
				o.Link, o.Copy = o.Copy, nil
			}
			_, err := NewCopy(t.Context(), o)
			if err == nil || fault.Of(err).Kind != fault.Usage || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%q: %v, want %q", name, err, want)
			}
			if _, err := os.Lstat(o.Place); err == nil || w.git("for-each-ref", "refs/opencode-delegate") != "" {
				t.Errorf("%q: something was left", name)
			}
		}
	}
	o := w.copyOptions()
	o.Link, o.Copy = []string{"dep"}, []string{"dep/deep"}
	if _, err := NewCopy(t.Context(), o); err == nil || !strings.Contains(err.Error(), "lie in one another") {
		t.Errorf("one in the other: %v", err)
	}
}

// What was lent to the copy does not land with a commit either: the branch comes as one commit, which says why.
func TestCommitsOfWhatWasLentDoNotLand(t *testing.T) {
	for _, link := range []bool{true, false} {
		w := newWorld(t)
		w.write(".gitignore", ".env\ndep\n")
		w.write("a", "one\n")
		w.commit()
		w.write(".env", "KEY=secret\n")
		w.write("dep/x", "lib\n")
		o := w.copyOptions()
		if o.Copy = []string{".env", "dep"}; link {
			o.Link, o.Copy = o.Copy, nil
		}
		c := w.newCopy(o)
		w.in(c, "a", "two\n", []string{"add", "-A", "-f"})
		w.in(c, "a", "two\n", commitAs("all of it")...)
		w.in(c, "b", "new\n", []string{"rm", "-q", "-r", "--cached", ".env", "dep"})
		w.in(c, "b", "new\n", commitAs("taken back")...)
		done, err := w.merge(c)
		w.must(err)
		if !strings.Contains(done.Squashed, ".env, which was lent") || done.Commits != 0 {
			t.Errorf("%+v", done)
		}
		if got := w.git("log", "--format=", "--name-only", "-m", "HEAD"); strings.Contains(got, ".env") || strings.Contains(got, "dep") || !strings.Contains(got, "b\n") {
			t.Errorf("the history has %s", got)
		}
		var out bytes.Buffer
		if some, err := c.Bundle(t.Context(), &out, 1<<20); some || err != nil {
			t.Errorf("a bundle of it: %v", err)
		}
	}
}
