package gitdiff

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// lines are the paths of a change with the number of their lines.
func lines(c Change) string {
	var b []string
	for _, list := range [][]File{c.Shown, c.Left, c.Named} {
		for _, f := range list {
			b = append(b, fmt.Sprintf("%s:%d", f.Path, f.Lines))
		}
	}
	return strings.Join(b, " ")
}

// history makes commits, a staged change, a changed and an untracked file.
func history(w *world) {
	w.git(w.dir, "branch", "root")
	w.write("sub/b.txt", strings.Repeat("b\n", 30))
	w.write("a.txt", "one\nTWO\nthree\n")
	w.git(w.dir, "add", "-A")
	w.git(w.dir, "commit", "-qm", "second")
	w.git(w.dir, "mv", "sub/b.txt", "sub/c.txt")
	w.write("gone", "1\n2\n3\n")
	w.git(w.dir, "add", "-A")
	w.git(w.dir, "commit", "-qm", "third")
	w.git(w.dir, "rm", "-q", "gone")
	w.write("a.txt", "one\n")
	w.write("new file", "1\n2")
	w.git(w.dir, "add", "-A")
	w.write("a.txt", "one\ntwo\nthree\nfour\nfive\n")
	w.write("untracked", "1\n2\n3\n4\n")
}

func TestSpans(t *testing.T) {
	for _, c := range []struct {
		name    string
		set     func(w *world, o *Options)
		lines   string
		texts   []string
		not     string
		span    Span
		of, old string // commits
	}{
		// Of a.txt three lines stood at HEAD, one is in the index, five are there: what is taken away can be spoken of too.
		{"pending", func(*world, *Options) {}, "a.txt:5 gone:3 new file:2 untracked:4", []string{"+four\n", "-3\n"}, "", Pending, "", "HEAD"},
		{"staged", func(_ *world, o *Options) { o.Staged = true }, "a.txt:3 gone:3 new file:2", []string{"-three\n", "+2\n\\ No newline"}, "four", Staged, "", "HEAD"},
		{"a commit", func(_ *world, o *Options) { o.Commit = "HEAD" }, "gone:3 sub/c.txt:30", []string{"rename from sub/b.txt\n", "+3\n"}, "four", Committed, "HEAD", "HEAD~1"},
		{"a commit by its name", func(_ *world, o *Options) { o.Commit = "main~1" }, "a.txt:3 sub/b.txt:30", []string{"-two\n+TWO\n"}, "", Committed, "HEAD~1", "root"},
		{"a commit without a parent", func(_ *world, o *Options) { o.Commit = "root" }, "a.txt:3", []string{"new file mode", "+one\n+two\n+three\n"}, "", Committed, "root", ""},
		{"a merge", func(w *world, o *Options) {
			w.git(w.dir, "stash", "-q", "-u")
			w.git(w.dir, "checkout", "-q", "-b", "side", "root")
			w.write("side", "x\n")
			w.git(w.dir, "add", "side")
			w.git(w.dir, "commit", "-qm", "side")
			w.git(w.dir, "checkout", "-q", "main")
			w.git(w.dir, "merge", "-q", "-m", "merge", "side")
			o.Commit = "HEAD"
		}, "side:1", []string{"+x\n"}, "TWO", Committed, "HEAD", "HEAD~1"},
		{"a file", func(w *world, o *Options) { o.Paths = []string{w.dir + "/a.txt"} }, "a.txt:5", []string{"+++ b/a.txt\n@@ -0,0 +1,5 @@\n+one\n"}, "diff --git", Whole, "", ""},
		{"directories", func(w *world, o *Options) {
			w.write(".gitignore", "*.log\n/sub/deep/\n")
			w.write("sub/x.log", "x\n")
			w.write("sub/deep/y", "y\n")
			w.write("sub/bin", "\x00")
			w.write("sub/.env", "hunter2\n")
			w.must(os.Symlink("../a.txt", w.dir+"/sub/link"))
			o.Paths = []string{w.dir + "/sub", w.dir + "/sub/c.txt", w.dir + "/sub/x.log"}
		}, "sub/c.txt:30 sub/x.log:1 sub/.env:0 sub/bin:0 sub/link:0", nil, "hunter2", Whole, "", ""},
		{"all there is", func(w *world, o *Options) { o.Paths = []string{w.dir} }, "a.txt:5 new file:2 sub/c.txt:30 untracked:4", nil, "", Whole, "", ""},
		{"a link to a file of the tree", func(w *world, o *Options) {
			w.must(os.Symlink("a.txt", w.dir+"/link"))
			o.Paths = []string{w.dir + "/link"}
		}, "a.txt:5", nil, "", Whole, "", ""},
		{"a name that is a pattern", func(w *world, o *Options) {
			w.write("[a]*/x", "x\n")
			w.write("a1/y", "y\n")
			o.Paths = []string{w.dir + "/[a]*"}
		}, "[a]*/x:1", nil, "", Whole, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			history(w)
			o := w.options()
			c.set(w, &o)
			change := w.mustCollect(o)
			_, texts := shown(change)
			if got := lines(change); got != c.lines {
				t.Errorf("shown %q, want %q", got, c.lines)
			}
			for _, part := range c.texts {
				if !strings.Contains(texts, part) {
					t.Errorf("no %q in\n%s", part, texts)
				}
			}
			if c.not != "" && strings.Contains(texts, c.not) {
				t.Errorf("%q in\n%s", c.not, texts)
			}
			id := func(name string) string {
				if name == "" {
					return ""
				}
				return strings.TrimSpace(w.git(w.dir, "rev-parse", name))
			}
			if change.Span != c.span || change.Of != id(c.of) || change.Commit != id(c.old) || change.Top != w.dir {
				t.Errorf("%+v", change)
			}
		})
	}
}

// Without a commit there is nothing to compare with, but files can be looked at. A repository whose names are SHA-256 has another empty tree.
func TestSpansOfOtherRepositories(t *testing.T) {
	w := newWorld(t)
	w.git(w.root, "init", "-q", "empty")
	w.write(w.root+"/empty/x", "1\n2\n")
	o := w.options()
	o.Dir, o.Paths = w.root+"/empty", []string{w.root + "/empty"}
	if got := lines(w.mustCollect(o)); got != "x:2" {
		t.Errorf("shown %q", got)
	}
	w.repo(w.root+"/new", "--object-format=sha256")
	o = w.options()
	o.Dir, o.Commit = w.root+"/new", "HEAD"
	if got := lines(w.mustCollect(o)); got != "a.txt:3" {
		t.Errorf("shown %q", got)
	}
	w.git(w.dir, "commit", "-q", "--allow-empty", "-m", "nothing")
	o = w.options()
	o.Commit = "HEAD"
	if c := w.mustCollect(o); !c.Empty() || c.Of == "" {
		t.Errorf("%+v", c)
	}
	w.git(w.root, "clone", "-q", "--depth", "1", "file://"+w.dir, "shallow")
	o = w.options()
	o.Dir, o.Commit = w.root+"/shallow", "HEAD"
	w.refused(o, "is not here, as in a shallow clone")
}

func TestPathsThatAreRefused(t *testing.T) {
	w := newWorld(t)
	w.write(w.root+"/outside/x", "x\n")
	w.must(os.Symlink(w.root+"/outside", w.dir+"/out"))
	w.must(os.Symlink("nowhere", w.dir+"/dangling"))
	for path, want := range map[string]string{
		w.root + "/outside/x": "lies outside of " + w.dir, w.dir + "/out/x": "lies outside", w.dir + "/out": "lies outside", w.dir + "/../outside": "lies outside", "/": "lies outside",
		w.dir + "/none": "is not there", w.dir + "/dangling": "is not there", w.dir + "/.git/config": "belongs to git", w.dir + "/.git": "belongs to git",
	} {
		o := w.options()
		o.Paths = []string{w.dir + "/a.txt", path}
		w.refused(o, want)
	}
}

// A file that git waits for is not waited for, and no limit is passed by what is named.
func TestTooMuchIsOnlyCounted(t *testing.T) {
	s := newSelection(1 << 20)
	for i := range shownLimit + namedLimit + 10 {
		s.add(File{Path: fmt.Sprint(i), Text: "x", Added: 1}, 1)
		s.name(fmt.Sprint("n", i), "why")
	}
	s.add(File{Path: strings.Repeat("x", pathLimit+1), Text: "x", Added: 7}, 1)
	c := selected(s)
	if len(c.Shown) != shownLimit || len(c.Left) != namedLimit || len(c.Named) != namedLimit || c.More.Files != 10+shownLimit+10+1 || c.More.Lines != 17 {
		t.Errorf("%d shown, %d left, %d named, %+v", len(c.Shown), len(c.Left), len(c.Named), c.More)
	}
}
