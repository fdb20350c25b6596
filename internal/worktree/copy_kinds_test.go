package worktree

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"opencode-delegate/internal/fault"
)

// submodules is a repository with a submodule in a submodule, and one that is not checked out.
func submodules(t *testing.T) *world {
	w := newWorld(t)
	w.write(w.home+"/.gitconfig", w.read(w.home+"/.gitconfig")+"[protocol \"file\"]\nallow = always\n")
	make := func(name string, subs ...string) {
		dir := w.root + "/" + name
		w.must(os.MkdirAll(dir, 0o755))
		w.gitIn(dir, "init", "-q")
		w.write(dir+"/file of "+name, name+"\n")
		w.write(dir+"/.gitignore", "*.o\n")
		for _, sub := range subs {
			w.gitIn(dir, "submodule", "add", "-q", w.root+"/"+sub, "lib/"+sub)
		}
		w.gitIn(dir, "add", "-A")
		w.gitIn(dir, "commit", "-q", "-m", "first")
	}
	make("inner")
	make("outer one", "inner")
	make("absent")
	w.write("file", "x\n")
	for _, sub := range []string{"outer one", "absent"} {
		w.git("submodule", "add", "-q", w.root+"/"+sub, "lib/"+sub)
	}
	w.git("submodule", "update", "-q", "--init", "--recursive", "lib/outer one")
	w.commit()
	w.git("submodule", "deinit", "-q", "-f", "lib/absent")
	w.must(os.RemoveAll(w.path(".git/modules/lib/absent")))
	for _, sub := range []string{"inner", "outer one", "absent"} { // nobody can ask the network
		w.must(os.RemoveAll(w.root + "/" + sub))
	}
	return w
}

// describes is what `git submodule status` says of the nearest ref of a submodule.
var describes = regexp.MustCompile(` \(.*\)`)

func TestSubmodulesComeAlong(t *testing.T) {
	w := submodules(t)
	inner, outer := "lib/outer one/lib/inner", "lib/outer one"
	git := look(t, w.path(".git"), true)
	c := w.newCopy(w.copyOptions())
	fresh, err := c.Fresh(t.Context(), w.place())
	w.must(err)
	for _, c := range []*Copy{c, fresh} {
		if got, want := patchLook(t, c.Tree()), patchLook(t, w.dir); got != want {
			t.Errorf("%s", differs(want, got))
		}
		if got, want := w.gitIn(c.Tree(), "submodule", "status", "--recursive"), w.git("submodule", "status", "--recursive"); describes.ReplaceAllString(got, "") != describes.ReplaceAllString(want, "") {
			t.Errorf("the submodules are\n%swant\n%s", got, want)
		}
		for _, at := range []string{".", outer, inner} {
			dir := filepath.Join(c.Tree(), at)
			if got := w.gitIn(dir, "status", "--porcelain"); got != "" {
				t.Errorf("%s: not clean: %s", at, got)
			}
			if got, want := w.gitIn(dir, "rev-parse", "HEAD"), w.gitIn(w.path(at), "rev-parse", "HEAD"); got != want {
				t.Errorf("%s: %s, want %s", at, got, want)
			}
			if got := strings.TrimSpace(w.gitIn(dir, "rev-parse", "--absolute-git-dir")); !within(c.Tree(), got) {
				t.Errorf("%s is the user's: %s", at, got)
			}
		}
	}
	w.write(c.Tree()+"/"+inner+"/new", "by the worker\n")
	w.write(c.Tree()+"/"+inner+"/x.o", "ignored\n")
	w.gitIn(c.Tree()+"/"+inner, "add", "-A")
	w.gitIn(c.Tree()+"/"+inner, "commit", "-q", "-m", "in the submodule")
	w.write(c.Tree()+"/"+outer+"/file of outer one", "by the worker\n")
	w.gitIn(c.Tree(), "commit", "-q", "-a", "--allow-empty", "-m", "around it")
	after := w.result(c)
	if patch := w.patch(c.Base(), after); strings.Count(patch, "diff --git") != 2 || strings.Contains(patch, "x.o") {
		t.Errorf("the patch:\n%s", patch)
	}
	with, err := c.With(t.Context(), after, w.place())
	w.must(err)
	if got := w.gitIn(with.Tree()+"/"+inner, "status", "--porcelain"); got != "?? new\n" {
		t.Errorf("with the result: %q", got)
	}
	if _, err := w.merge(c); fault.Of(err).Kind != fault.Usage || !strings.Contains(err.Error(), "submodule at lib/outer one") {
		t.Errorf("merged: %v", err)
	}
	if _, err := w.land(c, true, ""); fault.Of(err).Kind != fault.Usage {
		t.Errorf("staged: %v", err)
	}
	if _, err := w.land(c, false, ""); err != nil || w.read(inner+"/new") != "by the worker\n" || w.gitIn(w.path(inner), "status", "--porcelain") != "?? new\n" {
		t.Errorf("applied: %v", err)
	}
	w.must(c.Discard(t.Context()))
	if got := look(t, w.path(".git"), true); got != git {
		t.Errorf("the repositories changed:\n%s", differs(git, got))
	}
}

func TestSubmodulesWithDirt(t *testing.T) {
	w := submodules(t)
	outer := w.path("lib/outer one")
	w.write(outer+"/committed", "x\n")
	w.gitIn(outer, "add", "-A")
	w.gitIn(outer, "commit", "-q", "-m", "not yet in the repository around it")
	w.write(outer+"/dirt", "x\n")
	clean := w.newCopy(w.copyOptions())
	if _, err := os.Lstat(clean.Tree() + "/lib/outer one/committed"); err == nil {
		t.Error("what is not in the commit came along")
	}
	o := w.copyOptions()
	o.WithDirty = true
	c := w.newCopy(o)
	if got, want := patchLook(t, c.Tree()), patchLook(t, w.dir); got != want {
		t.Errorf("%s", differs(want, got))
	}
	if got := w.gitIn(c.Tree()+"/lib/outer one", "status", "--porcelain"); got != "?? dirt\n" {
		t.Errorf("%q", got)
	}
	w.gitIn(outer, "reset", "-q", "--hard", "HEAD~1")
	w.gitIn(outer, "reflog", "expire", "--expire=now", "--all")
	w.gitIn(outer, "gc", "-q", "--prune=now")
	w.gitIn(c.Tree()+"/lib/outer one", "show", "HEAD")
}

func TestSparseCheckoutsStaySparse(t *testing.T) {
	for _, cone := range []string{"--cone", "--no-cone"} {
		w := newWorld(t)
		for _, name := range []string{"a", "in/x", "in/deep/x", "out/x", "out/y"} {
			w.write(name, name+"\n")
		}
		w.commit()
		w.git("sparse-checkout", "set", cone, "in")
		c := w.newCopy(w.copyOptions())
		fresh, err := c.Fresh(t.Context(), w.place())
		w.must(err)
		for _, c := range []*Copy{c, fresh} {
			if got, want := patchLook(t, c.Tree()), patchLook(t, w.dir); got != want || strings.Contains(got, "out") {
				t.Errorf("%s", differs(want, got))
			}
			if got := w.gitIn(c.Tree(), "status", "--porcelain"); got != "" {
				t.Errorf("not clean: %s", got)
			}
			if got, want := w.gitIn(c.Tree(), "sparse-checkout", "list"), w.git("sparse-checkout", "list"); got != want {
				t.Errorf("patterns %q, want %q", got, want)
			}
			if got, want := w.gitIn(c.Tree(), "ls-files", "-t"), w.git("ls-files", "-t"); got != want {
				t.Errorf("%s", differs(want, got))
			}
		}
		w.in(c, "in/new", "x\n", commitAs("in the cone")...)
		w.in(c, "in/x", "y\n")
		_, err = w.merge(c)
		w.must(err)
		if got := w.git("ls-tree", "-r", "--name-only", "HEAD"); got != "a\nin/deep/x\nin/new\nin/x\nout/x\nout/y\n" {
			t.Errorf("merged: %s", got)
		}
		if _, err := os.Lstat(w.path("out")); err == nil || w.git("status", "--porcelain") != "" {
			t.Error("the checkout is not sparse any more, or not clean")
		}
	}
}

// Contents of Git LFS come from the user's repository where the user has the program; otherwise pointers stay.
func TestLargeFiles(t *testing.T) {
	for _, there := range []bool{true, false} {
		w := newWorld(t)
		content := strings.Repeat("large ", 1000)
		id := fmt.Sprintf("%x", sha256.Sum256([]byte(content)))
		pointed := func(id string) string {
			return fmt.Sprintf("version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %d\n", id, len(content))
		}
		w.write("a.bin", pointed(id))
		w.write("b.bin", pointed(strings.Repeat("a", 64)))
		w.write("c.bin", "no pointer\n")
		w.commit()
		w.write(".git/lfs/objects/"+id[:2]+"/"+id[2:4]+"/"+id, content)
		w.write(".git/lfs/objects/aa/aa/"+strings.Repeat("a", 64), strings.Repeat("wrong ", 1000))
		for _, name := range []string{"a.bin", "b.bin", "c.bin"} {
			w.write(name, "changed by the user")
		}
		// git is not taken from a place like /tmp.
		cache, err := os.UserCacheDir()
		w.must(err)
		w.must(os.MkdirAll(cache, 0o700))
		bin, err := os.MkdirTemp(cache, "oc-delegate-path-*")
		w.must(err)
		t.Cleanup(func() { os.RemoveAll(bin) })
		git, err := filepath.EvalSymlinks("/usr/bin/git")
		w.must(err)
		w.must(os.Symlink(git, bin+"/git"))
		if there {
			w.write(bin+"/git-lfs", "#!/bin/sh\ntouch '"+w.root+"/ran'\n")
			w.must(os.Chmod(bin+"/git-lfs", 0o755))
		}
		t.Setenv("PATH", bin)
		c := w.newCopy(w.copyOptions())
		want := map[string]string{"a.bin": pointed(id), "b.bin": pointed(strings.Repeat("a", 64)), "c.bin": "no pointer\n"}
		if there {
			want["a.bin"] = content
		}
		for name, want := range want {
			if got := w.read(c.Tree() + "/" + name); got != want {
				t.Errorf("%v %s: %.60q", there, name, got)
			}
		}
		if _, err := os.Stat(w.root + "/ran"); err == nil {
			t.Error("a program ran")
		}
	}
}

// A partial clone works for what is there, and a place with a name that git has to quote.
func TestCopiesOfUnusualPlaces(t *testing.T) {
	w := newWorld(t)
	w.write("a", "one\n")
	w.write("d/x", "x\n")
	w.commit()
	w.write("a", "two\n")
	w.commit()
	w.git("config", "uploadpack.allowFilter", "true")
	w.git("clone", "-q", "--filter=blob:none", "file://"+w.dir, w.root+"/partial")
	w.git("clone", "-q", "--filter=blob:none", "--sparse", "file://"+w.dir, w.root+"/sparse")
	w.git("clone", "-q", "--filter=blob:none", "--no-checkout", "file://"+w.dir, w.root+"/lacking")
	w.git("clone", "-q", "--filter=tree:0", "--no-checkout", "file://"+w.dir, w.root+"/treeless")
	w.git("clone", "-q", "--depth=1", "file://"+w.dir, w.root+"/shallow")
	for _, name := range []string{"new\nline", `"quoted"`, "ünï:code", `back\slash`, " "} {
		w.git("clone", "-q", w.dir, w.root+"/"+name)
	}
	w.must(os.Rename(w.dir, w.root+"/gone"))
	for _, name := range []string{"partial", "sparse", "shallow", "new\nline", `"quoted"`, "ünï:code", `back\slash`, " "} {
		w.dir = w.root + "/" + name
		c := w.newCopy(w.copyOptions())
		if got := w.gitIn(c.Tree(), "status", "--porcelain"); got != "" {
			t.Errorf("%q: not clean: %s", name, got)
		}
		w.in(c, "new", "x\n", commitAs("one")...)
		w.in(c, "more", "x\n")
		if got := w.history(c); got.subjects() != "one" || got.Lost != "" || got.Rewritten {
			t.Errorf("%q: %+v", name, got)
		}
		fresh, err := c.Fresh(t.Context(), w.place())
		w.must(err)
		w.gitIn(fresh.Tree(), "log", "-1")
		done, err := w.merge(c)
		w.must(err)
		if !done.FastForward || w.read("new") != "x\n" || w.read("more") != "x\n" || w.git("status", "--porcelain") != "" {
			t.Errorf("%q: %+v", name, done)
		}
	}
	for _, name := range []string{"lacking", "treeless"} {
		o := w.copyOptions()
		o.Dir = w.root + "/" + name
		if _, err := NewCopy(t.Context(), o); fault.Of(err).Kind != fault.Usage || !strings.Contains(err.Error(), "missing") && !strings.Contains(err.Error(), "not all there") {
			t.Errorf("what lacks objects: %v", err)
		}
		if _, err := os.Lstat(o.Place); err == nil || w.gitIn(o.Dir, "for-each-ref", "refs/opencode-delegate") != "" {
			t.Error("something was left")
		}
	}
}

// What is built and checked in a copy asks git for versions and for other branches, and gets the answers of the checkout. None of these refs is taken for the worker's.
func TestCopiesHaveTheRefsOfTheRepository(t *testing.T) {
	w := newWorld(t)
	w.write("a", "one\n")
	w.commit()
	w.git("tag", "-a", "v1.0", "-m", "first")
	w.git("branch", "opencode-delegate") // no branch below it can be
	w.git("branch", "other")
	w.git("update-ref", "refs/remotes/origin/main", "HEAD")
	w.write("a", "two\n")
	w.commit()
	w.git("tag", "light")
	c := w.newCopy(w.copyOptions())
	fresh, err := c.Fresh(t.Context(), w.place())
	w.must(err)
	for _, c := range []*Copy{c, fresh} {
		for _, ask := range [][]string{{"describe", "--match", "v*"}, {"describe", "--tags"}, {"rev-parse", "main", "other", "origin/main", "v1.0^{commit}"}, {"log", "--format=%s", "origin/main..HEAD"}} {
			if got, want := w.gitIn(c.Tree(), ask...), w.git(ask...); got != want {
				t.Errorf("%q: %q, want %q", ask, got, want)
			}
		}
	}
	w.in(c, "a", "three\n", commitAs("mine")...)
	w.in(c, "a", "three\n", []string{"tag", "-f", "light", "HEAD"}, []string{"branch", "-f", "other", "HEAD"}, []string{"pack-refs", "--all"})
	if h := w.history(c); strings.Join(h.Elsewhere, " ") != "refs/heads/other refs/tags/light" || h.subjects() != "mine" || h.Lost != "" {
		t.Errorf("%+v", h)
	}
	_, err = w.merge(c)
	w.must(err)
	if got := w.git("for-each-ref", "--format=%(refname) %(subject)", "refs/heads/other", "refs/tags"); strings.Contains(got, "mine") {
		t.Errorf("the refs of the worker have landed: %s", got)
	}
}

// A repository that lies in the tree and is none of its submodules stays out of a copy, and is named where uncommitted work comes along.
func TestRepositoriesInsideAreNamed(t *testing.T) {
	w := newWorld(t)
	w.write(".gitignore", "ignored\n")
	w.write("a", "one\n")
	w.commit()
	for _, dir := range []string{"z inside", "deep/inside", "ignored/inside"} {
		w.must(os.MkdirAll(w.path(dir), 0o755))
		w.gitIn(w.path(dir), "init", "-q")
		w.write(dir+"/n", "n\n")
	}
	w.write("new", "new\n")
	o := w.copyOptions()
	o.WithDirty = true
	c, err := NewCopy(t.Context(), o)
	w.must(err)
	if got := strings.Join(c.Inside(), ", "); got != "deep/inside, z inside" {
		t.Errorf("named are %q", got)
	}
	if got := patchLook(t, c.Tree()); strings.Contains(got, "inside") || !strings.Contains(got, "new") {
		t.Errorf("%s", got)
	}
	if c, err = NewCopy(t.Context(), w.copyOptions()); err != nil || len(c.Inside()) != 0 {
		t.Errorf("%q, %v", c.Inside(), err)
	}
}
