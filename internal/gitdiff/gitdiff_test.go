package gitdiff

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// What counts as a change, and how it is shown.
func TestCollect(t *testing.T) {
	for _, c := range []struct {
		name    string
		prepare func(w *world)
		base    string
		paths   string   // of what is shown, then of what is named
		texts   []string // parts of the texts
		against string
		not     string // no part of the texts
	}{
		{name: "changed in the tree", prepare: func(w *world) { w.write("a.txt", "one\nTWO\nthree\n") }, paths: "a.txt", texts: []string{"-two\n+TWO\n", " one\n"}},
		{name: "staged only", prepare: func(w *world) {
			w.write("n", "new\n")
			w.git(w.dir, "add", "n")
			w.must(os.Remove(w.dir + "/n"))
			w.write("n", "new\n")
		}, paths: "n", texts: []string{"new file mode 100644", "+new\n"}},
		{name: "staged, then changed again", prepare: func(w *world) {
			w.write("a.txt", "staged\n")
			w.git(w.dir, "add", "a.txt")
			w.write("a.txt", "last\n")
		}, paths: "a.txt", texts: []string{"+last\n"}, not: "staged"},
		{name: "deleted", prepare: func(w *world) { w.must(os.Remove(w.dir + "/a.txt")) }, paths: "a.txt", texts: []string{"deleted file", "-three\n"}},
		{name: "renamed", prepare: func(w *world) { w.git(w.dir, "mv", "a.txt", "b c.txt") }, paths: `b c.txt`, texts: []string{"rename from a.txt\nrename to b c.txt\n"}},
		{name: "mode only", prepare: func(w *world) { w.must(os.Chmod(w.dir+"/a.txt", 0o755)) }, paths: "a.txt", texts: []string{"old mode 100644\nnew mode 100755\n"}},
		{name: "untracked", prepare: func(w *world) { w.write("sub/new.txt", "a\n\tb\nc") }, paths: "sub/new.txt",
			texts: []string{"diff --git a/sub/new.txt b/sub/new.txt\nnew file, untracked\n", "@@ -0,0 +1,3 @@\n+a\n+\tb\n+c\n\\ No newline at end of file\n"}},
		{name: "untracked and empty", prepare: func(w *world) { w.write("e", "") }, paths: "e", texts: []string{"@@ -0,0 +1,0 @@\n"}},
		{name: "ignored", prepare: func(w *world) {
			w.write(".gitignore", "*.log\n")
			w.write("x.log", "x\n")
			w.write(".git/info/exclude", "excluded\n")
			w.write("excluded", "x\n")
			w.write(w.home+"/.config/git/ignore", "*.swp\n")
			w.write("a.swp", "x\n")
		}, paths: ".gitignore"},
		{name: "ignored by core.excludesFile", prepare: func(w *world) {
			w.write(w.home+"/mine", "*.swp\n")
			w.git(w.dir, "config", "--global", "core.excludesFile", "~/mine")
			w.write("a.swp", "x\n")
			w.write("b", "x\n")
		}, paths: "b"},
		{name: "binary", prepare: func(w *world) { w.write("a.txt", "x\x00y"); w.write("new", "\x00") }, paths: "a.txt (binary) new (untracked: binary)"},
		{name: "names that need quotes", prepare: func(w *world) {
			w.write("new\nline", "x\n")
			w.write("bidi\u202e", "x\n")
			w.write("ü b", "x\n")
			w.write("q\"", "x\n")
			w.write(" s", "x\n")
		},
			paths: `" s" "bidi\u202e" "new\nline" "q\"" ü b`, texts: []string{`+++ b/"new\nline"`}},
		{name: "names that need quotes, tracked", prepare: func(w *world) {
			w.write("new\nline \"x\".txt", "x\n")
			w.write("ü ", "x\n")
			w.git(w.dir, "add", "-A")
		}, paths: `"new\nline \"x\".txt" "ü "`},
		{name: "a name with the header's words", prepare: func(w *world) {
			w.write("x b/x b/y", "x\n")
			w.git(w.dir, "add", "-A")
			w.write("m", "")
			w.git(w.dir, "add", "m")
		}, paths: "m x b/x b/y"},
		{name: "secrets", prepare: func(w *world) {
			w.write(".env", "hunter2\n")
			w.write("prod.ENV.local", "hunter2\n")
			w.write(".env.example", "KEY=\n")
			w.git(w.dir, "add", ".env")
			w.write("x/.env", "hunter2\n")
		}, paths: ".env.example .env (its name says that it holds secrets; +1 -0 lines) prod.ENV.local (untracked: its name says that it holds secrets) x/.env (untracked: its name says that it holds secrets)", not: "hunter2"},
		{name: "a secret that was renamed", prepare: func(w *world) {
			w.write(".env", "hunter2\nhunter3\nhunter4\nhunter5\n")
			w.git(w.dir, "add", "-A")
			w.git(w.dir, "commit", "-qm", "x")
			w.git(w.dir, "mv", ".env", "open")
			w.write("open", "hunter2\nhunter3\nhunter4\nhunter6\n")
		}, paths: "open (its name says that it holds secrets; +1 -1 lines)", not: "hunter"},
		{name: "links", prepare: func(w *world) { w.must(os.Symlink("/etc/passwd", w.dir+"/l")) }, paths: "l (untracked: a symbolic link to /etc/passwd)", not: "root"},
		{name: "a directory that became a link", prepare: func(w *world) {
			w.write(w.root+"/elsewhere/f", "outside\n")
			w.must(os.Symlink(w.root+"/elsewhere", w.dir+"/d"))
		}, paths: "d (untracked: a symbolic link to {root}/elsewhere)", not: "outside"},
		{name: "a nested repository", prepare: func(w *world) { w.repo(w.dir + "/nested") }, paths: "nested/ (untracked: a repository of its own)"},
		{name: "a conflict", prepare: func(w *world) {
			w.git(w.dir, "checkout", "-qb", "other")
			w.write("a.txt", "theirs\n")
			w.git(w.dir, "commit", "-qam", "x")
			w.git(w.dir, "checkout", "-q", "main")
			w.write("a.txt", "ours\n")
			w.git(w.dir, "commit", "-qam", "y")
			w.tryGit(w.dir, "merge", "-q", "other")
		}, paths: "a.txt", texts: []string{"+<<<<<<< HEAD\n"}},
		{name: "a line that looks like a header", prepare: func(w *world) {
			w.write("a.txt", "one\ntwo\nthree\ndiff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n")
		}, paths: "a.txt", texts: []string{"+diff --git a/x b/x\n+--- a/x\n++++ b/x\n+@@ -1 +1 @@\n"}},
		{name: "a submodule that is ahead", prepare: func(w *world) {
			w.repo(w.root + "/sub")
			w.git(w.dir, "submodule", "add", "-q", w.root+"/sub", "sub")
			w.git(w.dir, "commit", "-qam", "sub")
			w.git(w.dir+"/sub", "commit", "-q", "--allow-empty", "-m", "more")
		}, paths: "sub", texts: []string{"-Subproject commit"}},
		{name: "against a base", prepare: func(w *world) {
			w.git(w.dir, "checkout", "-qb", "feature")
			w.write("f", "1\n")
			w.git(w.dir, "add", "f")
			w.git(w.dir, "commit", "-qm", "f")
			w.git(w.dir, "checkout", "-q", "main")
			w.write("later", "on main\n")
			w.git(w.dir, "add", "-A")
			w.git(w.dir, "commit", "-qm", "later")
			w.git(w.dir, "checkout", "-q", "feature")
			w.write("f", "1\n2\n")
			w.write("u", "u\n")
		}, base: "main", paths: "f u", texts: []string{"+1\n+2\n"}, against: "main", not: "on main"},
		{name: "ahead of the upstream", prepare: func(w *world) {
			w.git(w.root, "clone", "-q", "--bare", w.dir, "origin.git")
			w.git(w.dir, "remote", "add", "origin", w.root+"/origin.git")
			w.git(w.dir, "fetch", "-q")
			w.git(w.dir, "branch", "-q", "-u", "origin/main")
			w.write("n", "x\n")
			w.git(w.dir, "add", "n")
			w.git(w.dir, "commit", "-qm", "n")
		}, paths: "n", against: "origin/main"},
		{name: "ahead of main, and its own upstream knows it all", prepare: func(w *world) {
			w.git(w.dir, "checkout", "-qb", "feature")
			w.write("n", "x\n")
			w.git(w.dir, "add", "n")
			w.git(w.dir, "commit", "-qm", "n")
			w.git(w.root, "clone", "-q", "--bare", w.dir, "origin.git")
			w.git(w.dir, "remote", "add", "origin", w.root+"/origin.git")
			w.git(w.dir, "fetch", "-q")
			w.git(w.dir, "branch", "-q", "-u", "origin/feature")
		}, paths: "n", against: "main"},
		{name: "in a subdirectory", prepare: func(w *world) { w.write("a.txt", "x\n"); w.write("in/b", "x\n") }, paths: "a.txt in/b"},
		{name: "line ends that git converts", prepare: func(w *world) {
			w.git(w.dir, "config", "core.autocrlf", "true")
			w.write("a.txt", "one\r\ntwo\r\nTHREE\r\n")
		}, paths: "a.txt", texts: []string{" two\n-three\n+THREE\n"}},
		{name: "modes that do not count", prepare: func(w *world) {
			w.git(w.dir, "config", "core.filemode", "false")
			w.must(os.Chmod(w.dir+"/a.txt", 0o755))
			w.write("n", "x\n")
		}, paths: "n"},
		{name: "a split index", prepare: func(w *world) {
			w.git(w.dir, "config", "core.splitIndex", "true") // git finds the other part beside the index
			w.git(w.dir, "update-index", "--split-index")
			w.write("a.txt", "x\n")
			w.git(w.dir, "add", "a.txt")
		}, paths: "a.txt"},
		{name: "settings of the user that change how differences look", prepare: func(w *world) {
			for _, kv := range []string{"diff.noprefix=true", "color.ui=always", "diff.mnemonicPrefix=true", "core.quotePath=true", "diff.renames=false", "status.relativePaths=true", "diff.wordRegex=.", "core.pager=false"} {
				k, v, _ := strings.Cut(kv, "=")
				w.git(w.dir, "config", k, v)
			}
			w.write("a.txt", "one\ntwo\nüß\n")
		}, paths: "a.txt", texts: []string{"--- a/a.txt\n+++ b/a.txt\n", "-three\n+üß\n"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			c.prepare(w)
			o := w.options()
			o.Base = c.base
			if c.name == "in a subdirectory" {
				o.Dir = w.dir + "/in"
			}
			change := w.mustCollect(o)
			paths, texts := shown(change)
			if want := strings.ReplaceAll(c.paths, "{root}", w.root); paths != want {
				t.Errorf("shown\n%s, want\n%s", paths, want)
			}
			for _, part := range c.texts {
				if !strings.Contains(texts, part) {
					t.Errorf("no %q in\n%s", part, texts)
				}
			}
			if c.not != "" && strings.Contains(texts+paths, c.not) {
				t.Errorf("%q in\n%s", c.not, texts)
			}
			if change.Against != c.against || change.Top != w.dir || len(change.Commit) != 40 {
				t.Errorf("against %q, want %q; top %s, commit %s", change.Against, c.against, change.Top, change.Commit)
			}
		})
	}
}

func TestOtherRepositories(t *testing.T) {
	t.Run("a linked work tree", func(t *testing.T) {
		w := newWorld(t)
		w.git(w.dir, "worktree", "add", "-q", w.root+"/linked")
		w.write(w.root+"/linked/a.txt", "x\n")
		w.write("a.txt", "not this one\n")
		o := w.options()
		o.Dir = w.root + "/linked"
		if _, text := shown(w.mustCollect(o)); !strings.Contains(text, "+x\n") {
			t.Error(text)
		}
	})
	t.Run("names by SHA-256", func(t *testing.T) {
		w := newWorld(t)
		w.repo(w.root+"/new", "--object-format=sha256")
		w.write(w.root+"/new/a.txt", "x\n")
		o := w.options()
		o.Dir = w.root + "/new"
		if c := w.mustCollect(o); len(c.Commit) != 64 || len(c.Shown) != 1 {
			t.Errorf("%+v", c)
		}
	})
	t.Run("variables of git in the environment", func(t *testing.T) {
		w := newWorld(t)
		w.repo(w.root + "/other")
		w.write("a.txt", "x\n")
		o := w.options()
		o.Environ = append(o.Environ, "GIT_DIR="+w.root+"/other/.git", "GIT_WORK_TREE="+w.root+"/other", "GIT_INDEX_FILE=/nonexistent", "GIT_EXTERNAL_DIFF="+w.touch(), "GIT_PAGER="+w.touch(), "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.fsmonitor", "GIT_CONFIG_VALUE_0="+w.touch(), "GIT_TRACE="+w.marker)
		if paths, _ := shown(w.mustCollect(o)); paths != "a.txt" || w.fired() {
			t.Errorf("%q is shown, or something ran", paths)
		}
	})
}

func TestRefused(t *testing.T) {
	w := newWorld(t)
	o := w.options()
	for base, want := range map[string]string{
		"--output=/x": "begins with a dash", "-": "begins with a dash", "nowhere": `"nowhere" is no commit`, "main:a.txt": "is no commit", "^main": "is no commit", "main..HEAD": "is no commit",
		"a\nb": "cannot be the name", strings.Repeat("x", 300): "cannot be the name", "\xff": "cannot be the name",
	} {
		o.Base, o.Commit = base, ""
		w.refused(o, "--base: ")
		w.refused(o, want)
		o.Base, o.Commit = "", base
		w.refused(o, "--commit: ")
		w.refused(o, want)
	}
	o = w.options()
	o.Dir = w.root
	w.refused(o, "is in no work tree")
	o.Dir = w.dir + "/.git"
	w.refused(o, "is in no work tree")
	w.git(w.root, "init", "-q", "empty")
	o.Dir = w.root + "/empty"
	w.refused(o, "has no commit yet")
	w.git(w.dir, "checkout", "-q", "--orphan", "alone")
	w.git(w.dir, "commit", "-qm", "alone")
	o = w.options()
	o.Base = "main"
	w.refused(o, "main and HEAD have no commit in common")
	o.Base = ""
	if c := w.mustCollect(o); !c.Empty() || c.Commit == "" {
		t.Errorf("nothing is different, and yet %+v", c)
	}
	o.Environ = []string{"HOME=" + w.home, "PATH=/nonexistent"}
	t.Setenv("PATH", "/nonexistent")
	w.refused(o, "git cannot be found")
}

// What git prints in forms that are rare.
func TestReadPatch(t *testing.T) {
	for text, want := range map[string]string{
		"":                                      "",
		"warning: in the working copy of 'x'\n": "",
		"* Unmerged path a b\n":                 "a b (a merge has left it in conflict)",
		"* Unmerged path \"a\\tb\"\ndiff --git a/x b/x\nindex 1..2\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b": `x "a\tb" (a merge has left it in conflict)`,
		"diff --git a/x y b/x y\nnew file mode 100644\nindex 0000000..e69de29\n":                           "x y",
		"diff --git \"a/\\303\\274\" \"b/\\303\\274\"\nnew file mode 100644\n":                             "ü",
		"diff --git": "",
	} {
		s := newSelection(1000)
		if err := readPatch(strings.NewReader(text), s); err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if paths, _ := shown(selected(s)); paths != want {
			t.Errorf("%q: %s, want %s", text, paths, want)
		}
	}
}

func FuzzReadPatch(f *testing.F) {
	f.Add([]byte("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n* Unmerged path y\n"), 50)
	f.Add([]byte("diff --git \"a/x\nrename from \"\nrename to x\n--- /dev/null\n"), 5)
	f.Fuzz(func(t *testing.T, text []byte, limit int) {
		s := newSelection(limit % 1000)
		if err := readPatch(bytes.NewReader(text), s); err != nil {
			t.Fatal(err)
		}
		_, texts := shown(selected(s))
		if n := utf8.RuneCountInString(texts); n > max(0, limit%1000) {
			t.Errorf("%d characters, limit %d", n, limit%1000)
		}
	})
}

// The smallest differences are shown, as many as there is room for; the others are named.
func TestLimit(t *testing.T) {
	w := newWorld(t)
	for i, n := range []int{300, 10, 100, 20, 1000} {
		w.write(fmt.Sprintf("f%d", i), strings.Repeat("a line of text\n", n))
	}
	w.write("oneline", strings.Repeat("x", 1<<20))
	w.git(w.dir, "add", "f0", "f2", "oneline")
	o := w.options()
	o.Limit = 4000
	c := w.mustCollect(o)
	if paths, text := shown(c); paths != "f2 f1 f3" || len(text) > 4000 {
		t.Errorf("%q is shown, in %d characters", paths, len(text))
	}
	left := func(c Change) (list []string) {
		for _, f := range c.Left {
			if f.Text != "" {
				t.Errorf("%s has a text", f.Path)
			}
			list = append(list, fmt.Sprintf("%s +%d", f.Path, f.Added))
		}
		return list
	}
	if got, want := left(c), []string{"f0 +300", "f4 +1000", "oneline +1"}; !slices.Equal(got, want) {
		t.Errorf("left %q, want %q", got, want)
	}
	o.Limit = 0
	if c := w.mustCollect(o); len(c.Shown) != 0 || len(left(c)) != 6 {
		t.Errorf("%+v", c)
	}
}

func TestSelectionKeepsTheSmallest(t *testing.T) {
	s := newSelection(100)
	for i := range 1000 {
		size := int64(1 + i*7919%500)
		s.add(File{Path: fmt.Sprint(i), Text: "x", Added: size}, size)
		sum := int64(0)
		for _, n := range s.shown {
			sum += n.size
		}
		if sum > 100 || sum != int64(s.size) || len(s.left) > namedLimit {
			t.Fatalf("after %d: %d characters, %d counted, %d left", i, sum, s.size, len(s.left))
		}
	}
	c := selected(s)
	var sizes []int64
	for _, f := range c.Shown {
		sizes = append(sizes, f.Added)
	}
	slices.Sort(sizes)
	// 1,000 sizes from 1 to 500, each twice: 1+1+2+2+…+9+9 = 90.
	if want := []int64{1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10}; !slices.Equal(sizes, want) {
		t.Errorf("%v, want %v", sizes, want)
	}
	if c.Left[0].Added != 10 || len(c.Left) != namedLimit || c.More.Files != int64(1000-len(sizes)-namedLimit) || c.More.Lines == 0 {
		t.Errorf("the first that is left has %d; %d are, and %+v", c.Left[0].Added, len(c.Left), c.More)
	}
}
