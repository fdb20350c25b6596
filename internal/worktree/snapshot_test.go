package worktree

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"opencode-delegate/internal/fault"
)

// What a run does at random is undone, byte by byte, with modes, links and empty directories; the repository's own directory stays as the run left it.
func TestUndoGivesBackTheTree(t *testing.T) {
	cases(t, 50, func(c *chaos) {
		t := c.t
		for range 5 + c.r.IntN(30) {
			c.put(c.name())
		}
		c.commit()
		for range c.r.IntN(6) {
			c.edit()
		}
		before := look(t, c.dir, false)
		s := c.take()
		for range 1 + c.r.IntN(25) {
			c.edit()
		}
		if c.r.IntN(3) == 0 {
			c.git("add", "-A")
			c.git("commit", "-q", "--allow-empty", "-m", "by the run")
		}
		after := look(t, c.dir, true)
		c.end(s)
		done := c.restore(s, Undo{Save: c.store()})
		if got := look(t, c.dir, false); got != before {
			t.Fatalf("the tree is not as it was:\n%s", differs(before, got))
		}
		if strings.Contains(look(t, c.dir, true), unfinished) {
			t.Error("a temporary file was left")
		}
		if len(done.Stayed) > 0 {
			t.Errorf("stayed: %q", done.Stayed)
		}
		if len(done.Changed) == 0 { // the edits came to nothing, and nothing was kept
			return
		}
		saved, err := Open(c.root + "/store2")
		c.must(err)
		c.restore(saved, Undo{})
		if got := look(t, c.dir, true); got != after {
			t.Fatalf("the undo was not undone:\n%s", differs(after, got))
		}
	})
}

func TestHolesAreNamed(t *testing.T) {
	w := newWorld(t)
	w.write(".gitignore", "node_modules\n.env\n*.big\nbuild/\n.venv/\nignored/\n")
	for _, name := range []string{"node_modules/m/f", ".env", "build/out", "x.big", "small.big", "src/node_modules/tracked", "src/node_modules/other", "vendor/v", ".venv/bin/p", "ignored/vendor/f", "ignored/go.mod", "ignored/f"} {
		w.write(name, "1234")
	}
	w.write("x.big", "12345")
	w.write("large", "123456789")
	w.git("add", "-f", "src/node_modules/tracked")
	w.write("nested/f", "1")
	w.write("nested/.gitignore", "node_modules\n")
	w.write("nested/node_modules/f", "1")
	w.write("nested/vendor/f", "1")
	w.gitIn(w.dir+"/nested", "init", "-q")
	w.write("broken/.git", "gitdir: nowhere\n")
	w.write("broken/f", "1")
	o := w.options()
	o.MaxIgnored = 4
	s, err := Take(t.Context(), w.dir, w.store(), o)
	w.must(err)
	var got []string
	holes, all := s.Left()
	for _, h := range holes {
		got = append(got, h.Path+": "+h.Why)
	}
	want := []string{
		".git: a .git is not covered", ".venv: dependencies, which git ignores", "broken/.git: a .git is not covered", "ignored/vendor: dependencies, which git ignores",
		"nested/.git: a .git is not covered", "nested/node_modules: dependencies, which git ignores", "node_modules: dependencies, which git ignores",
		"src/node_modules/other: dependencies, which git ignores", "x.big: git ignores it, and it is too large",
	}
	if !slices.Equal(got, want) || all != len(want) {
		t.Errorf("%d holes:\n%s\nwant\n%s", all, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, name := range []string{".env", "build/out", "small.big", "large", "src/node_modules/tracked", "vendor/v", "nested/f", "nested/vendor/f", "ignored/f", "broken/f"} {
		if s.list.find(name) == nil {
			t.Errorf("%s is not covered", name)
		}
	}
}

// What was left out before the run is left alone by an undo, whatever the run did with .gitignore or with the index.
func TestUndoLeavesHolesAlone(t *testing.T) {
	w := newWorld(t)
	w.write(".gitignore", "node_modules\n")
	w.write("node_modules/m/f", "before")
	w.write("a", "before")
	w.commit()
	s := w.take()
	w.write("node_modules/m/f", "run")
	w.write("node_modules/n/f", "run")
	w.write("vendor/f", "run")
	w.write(".gitignore", "a\nvendor\n")
	w.git("rm", "-q", "--cached", "a")
	w.end(s)
	done := w.restore(s, Undo{})
	if want := []string{".gitignore", "vendor", "vendor/f"}; !slices.Equal(done.Changed, want) {
		t.Errorf("%q, want %q", done.Changed, want)
	}
	if w.read("node_modules/m/f") != "run" || w.read("node_modules/n/f") != "run" || w.read("a") != "before" {
		t.Error("a hole was touched")
	}
}

// The user's own ignore file counts, and a directory without a repository goes by names.
func TestWhoIgnores(t *testing.T) {
	w := newWorld(t)
	w.write("node_modules/f", "1")
	w.write("keep", "1")
	if s := w.take(); s.list.find("node_modules/f") == nil {
		t.Error("what nobody ignores is not covered")
	}
	w.write(w.home+"/.config/git/ignore", "node_modules\n")
	if s := w.take(); s.list.find("node_modules") != nil {
		t.Error("the user's own ignore file does not count")
	}
	w.must(os.Remove(w.home + "/.config/git/ignore"))
	w.write(w.home+"/mine", "node_modules\n")
	for name, config := range map[string]string{
		"core.excludesFile":       "[core]\nexcludesFile = ~/mine\n",
		"an included file":        "[include]\npath = inc\n",
		"one in home":             "[include]\npath = ~/inc\n",
		"by the directory":        "[includeIf \"gitdir:~/../a work/\"]\npath = inc\n[includeIf \"gitdir:a work/.git\"]\npath = inc\n",
		"by the directory, cases": "[includeIf \"gitdir/i:A WORK/\"]\npath = inc\n",
		"by the branch":           "[includeIf \"onbranch:ma*\"]\npath = inc\n",
	} {
		w.write(w.home+"/inc", "[core]\nexcludesFile = ~/mine\n[include]\n"+strings.Repeat("path = inc\n", 30))
		w.write(w.home+"/.gitconfig", config)
		if s := w.take(); s.list.find("node_modules") != nil {
			t.Errorf("%s does not count", name)
		}
	}
	w.write(w.home+"/.gitconfig", "[includeIf \"onbranch:other\"]\npath = inc\n[includeIf \"gitdir:elsewhere/\"]\npath = inc\n")
	if s := w.take(); s.list.find("node_modules") == nil {
		t.Error("an include counts of which the condition is not met")
	}
	w.must(os.Remove(w.home + "/mine"))
	w.must(os.RemoveAll(w.dir + "/.git"))
	if s := w.take(); s.list.find("node_modules") != nil || s.list.find("keep") == nil {
		t.Error("without a repository the names do not count")
	}
}

func TestLaterChangesAreConflicts(t *testing.T) {
	w := newWorld(t)
	w.write("a", "before")
	w.write("d/x", "before")
	w.write("mine", "before")
	w.write("was file", "before")
	before := look(t, w.dir, false)
	s := w.take()
	w.write("a", "run")
	w.write("d/x", "run")
	w.write("new", "run")
	w.must(os.Remove(w.path("was file")))
	w.write("was file/run", "run")
	w.end(s)
	w.write("a", "user")
	w.must(os.RemoveAll(w.path("d")))
	w.write("was file/user", "user")
	w.write("mine", "user")
	present := look(t, w.dir, false)

	_, err := s.Restore(t.Context(), Undo{})
	var c *Conflict
	if !errors.As(err, &c) || fault.Of(err).Kind != fault.Conflict || !slices.Equal(c.Paths, []string{"a", "d", "d/x", "was file/user"}) {
		t.Fatalf("%v: %+v", err, c)
	}
	if got := look(t, w.dir, false); got != present {
		t.Fatalf("a refused undo changed\n%s", differs(present, got))
	}
	if _, err := s.Restore(t.Context(), Undo{Force: true}); fault.Of(err).Kind != fault.Usage {
		t.Errorf("by force without a place: %v", err)
	}
	save := w.store()
	w.restore(s, Undo{Force: true, Save: save})
	if w.read("mine") != "user" {
		t.Error("what the run left alone was undone")
	}
	w.write("mine", "before")
	if got := look(t, w.dir, false); got != before {
		t.Errorf("by force:\n%s", differs(before, got))
	}
	w.write("mine", "user")
	saved, err := Open(save)
	w.must(err)
	w.restore(saved, Undo{})
	if got := look(t, w.dir, false); got != present {
		t.Errorf("what force overwrote is not kept:\n%s", differs(present, got))
	}
}

func TestWithoutAnEndOnlyForceUndoes(t *testing.T) {
	w := newWorld(t)
	w.write("a", "before")
	s := w.take()
	w.write("a", "run")
	if _, err := s.Restore(t.Context(), Undo{}); fault.Of(err).Kind != fault.Conflict || w.read("a") != "run" {
		t.Errorf("%v", err)
	}
	w.restore(s, Undo{Force: true, Save: w.store()})
	if w.read("a") != "before" {
		t.Error("not undone")
	}
}

// A repository that the run made inside is not removed, and one in the place of a file is named before anything is touched.
func TestARepositoryOfTheRunStays(t *testing.T) {
	w := newWorld(t)
	w.write("a", "before")
	s := w.take()
	w.write("made/f", "run")
	w.gitIn(w.dir+"/made", "init", "-q")
	w.end(s)
	if done := w.restore(s, Undo{}); !slices.Equal(done.Stayed, []string{"made"}) || !slices.Equal(done.Changed, []string{"made/f"}) {
		t.Errorf("%+v", done)
	}
	if _, err := os.Stat(w.path("made/.git/HEAD")); err != nil {
		t.Error(err)
	}
	s = w.take()
	w.must(os.Remove(w.path("a")))
	w.must(os.Rename(w.path("made"), w.path("a")))
	w.end(s)
	present := look(t, w.dir, true)
	if _, err := s.Restore(t.Context(), Undo{}); fault.Of(err).Kind != fault.Conflict || !strings.Contains(err.Error(), "a/.git is in the way") {
		t.Errorf("%v", err)
	}
	if got := look(t, w.dir, true); got != present {
		t.Errorf("a refused undo changed\n%s", differs(present, got))
	}
}

// A run that destroys the repository, or makes links of its directories, changes nothing of what undo does.
func TestNothingOfTheRepositoryIsNeeded(t *testing.T) {
	w := newWorld(t)
	w.write("d/x", "before")
	w.write("e/x", "other")
	w.commit()
	before := look(t, w.dir, false)
	s := w.take()
	w.must(os.RemoveAll(w.path(".git")))
	w.must(os.RemoveAll(w.path("d")))
	w.must(os.Symlink("e", w.path("d")))
	outside := w.root + "/outside"
	w.write(outside+"/x", "outside")
	w.must(os.Rename(w.path("e"), w.path("f")))
	w.must(os.Symlink(outside, w.path("e")))
	w.end(s)
	w.restore(s, Undo{})
	if got := look(t, w.dir, false); got != before {
		t.Errorf("%s", differs(before, got))
	}
	if w.read(outside+"/x") != "outside" {
		t.Error("undo went through a link")
	}
}

// A link that takes the place of a directory when everything is decided ends the undo; nothing is written behind it.
func TestUndoGoesThroughNoLink(t *testing.T) {
	w := newWorld(t)
	w.write("d/x", "before")
	w.write("e/x", "other")
	s := w.take()
	w.write("d/x", "run")
	w.end(s)
	now, err := s.now(t.Context())
	w.must(err)
	todo, _ := plan(s.list, now, now)
	w.must(os.RemoveAll(w.path("d")))
	w.must(os.Symlink("e", w.path("d")))
	if _, err := s.apply(t.Context(), todo); err == nil || !strings.Contains(err.Error(), "no directory") || w.read("e/x") != "other" {
		t.Errorf("%v; %q", err, w.read("e/x"))
	}
}

func TestTheRepositoryIsNotTouchedAndRunsNothing(t *testing.T) {
	w := newWorld(t)
	w.write("a", "x\r\n")
	w.write(".gitattributes", "* text=auto filter=evil\n")
	w.commit()
	marker := w.root + "/marker"
	for _, key := range []string{"core.fsmonitor", "filter.evil.clean", "filter.evil.smudge", "filter.evil.process"} {
		w.git("config", key, "touch '"+marker+"'")
	}
	w.write("a", "y\r\n")
	git := look(t, w.path(".git"), true)
	s := w.take()
	w.write("a", "z\r\n")
	w.end(s)
	w.restore(s, Undo{})
	if w.read("a") != "y\r\n" {
		t.Errorf("%q", w.read("a"))
	}
	if got := look(t, w.path(".git"), true); got != git {
		t.Errorf("the repository changed:\n%s", differs(git, got))
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("a program of the repository ran")
	}
	w.tryGit(w.dir, "status") // and the bait works
	if _, err := os.Stat(marker); err != nil {
		t.Error("the program does not run with git either: this test proves nothing")
	}
}

func TestWhatIsNoSnapshot(t *testing.T) {
	w := newWorld(t)
	w.write("a", "x")
	for _, store := range []string{w.dir + "/in", w.root, w.dir} {
		if _, err := Take(t.Context(), w.dir, store, w.options()); err == nil {
			t.Errorf("kept in %s", store)
		}
	}
	o := w.options()
	o.MaxBytes = 0
	o.MaxEntries = 1
	store := w.store()
	if _, err := Take(t.Context(), w.dir, store, o); fault.Of(err) == nil || fault.Of(err).Kind != fault.Usage {
		t.Errorf("too many files: %v", err)
	}
	o = w.options()
	o.MaxBytes = 1
	w.write("b", "y")
	if _, err := Take(t.Context(), w.dir, store, o); fault.Of(err) == nil || fault.Of(err).Kind != fault.Usage {
		t.Errorf("too much content: %v", err)
	}
	if _, err := os.Lstat(store); err == nil {
		t.Error("a part was left")
	}
	if _, err := Open(store); fault.Of(err).Kind != fault.NotFound {
		t.Errorf("%v", err)
	}
	s := w.take()
	w.write("a", "run")
	w.write("b", "run")
	w.end(s)
	kept := filepath.Join(s.store, contentsName)
	w.must(os.WriteFile(kept, []byte(strings.Repeat("\x01", 40)), 0o600))
	if _, err := s.Restore(t.Context(), Undo{}); err == nil || !strings.Contains(err.Error(), "damaged") || w.read("a") != "run" {
		t.Errorf("damaged contents: %v", err)
	}
	list := w.read(filepath.Join(s.store, beforeName))
	for _, bad := range []string{`"../a"`, `"/a"`, `".git/config"`, `"a/.GIT/y"`, `""`, `"."`, `"aa/parent"`, `"a//b"`} {
		w.write(filepath.Join(s.store, beforeName), strings.Replace(list, `{"path":"a"`, `{"path":`+bad, 1))
		if _, err := Open(s.store); err == nil {
			t.Errorf("%s was read", bad)
		}
	}
}
