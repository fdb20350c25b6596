//go:build unix

package worktree

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// contentsOf reads every content of a snapshot again.
func (w *world) contentsOf(s *Snapshot) string {
	w.t.Helper()
	kept, err := os.Open(filepath.Join(s.store, contentsName))
	w.must(err)
	defer kept.Close()
	var all []string
	for i := range s.list.entries {
		e := &s.list.entries[i]
		line := fmt.Sprintf("%q %v %q", e.path, e.mode, e.target)
		if e.mode.IsRegular() {
			text, err := io.ReadAll(readContent(kept, *e))
			w.must(err)
			line += fmt.Sprintf(" %q", text)
		}
		all = append(all, line)
	}
	return strings.Join(all, "\n")
}

// A snapshot that goes on from an earlier one is the same as one that does not, and needs it no longer.
func TestSinceChangesNothing(t *testing.T) {
	cases(t, 20, func(c *chaos) {
		for range 5 + c.r.IntN(20) {
			c.put(c.name())
		}
		c.commit()
		s := c.take()
		if c.r.IntN(2) == 0 {
			time.Sleep(2 * unsettled)
			s = c.take()
		}
		for range 3 {
			for range c.r.IntN(8) {
				c.edit()
			}
			o := c.options()
			o.Since = s
			next, err := Take(c.t.Context(), c.dir, c.store(), o)
			c.must(err)
			c.must(os.RemoveAll(s.store))
			if got, want := c.contentsOf(next), c.contentsOf(c.take()); got != want {
				c.t.Fatalf("%s", differs(want, got))
			}
			s, err = Open(next.store)
			c.must(err)
		}
	})
}

// What nobody has touched is not read again, and what was touched in the same instant is.
func TestSinceReadsWhatWasTouched(t *testing.T) {
	w := newWorld(t)
	w.write("a", "1234")
	w.write("b", "1234")
	old := time.Now().Add(-time.Hour)
	time.Sleep(2 * unsettled)
	s := w.take()
	if fi, err := os.Lstat(w.path("a")); err != nil || s.untouched("a", fi) == nil {
		t.Error("a file that nobody touched is read again")
	}
	w.write("b", "5678")
	w.must(os.Chtimes(w.path("a"), old, old))
	now, err := s.now(t.Context())
	w.must(err)
	if !same(now.find("a"), s.list.find("a")) || same(now.find("b"), s.list.find("b")) {
		t.Error("what was touched was not read")
	}
	w.write("a", "4321")
	s = w.take()
	if fi, err := os.Lstat(w.path("a")); err != nil || s.untouched("a", fi) != nil {
		t.Error("a file that may be changed again without a sign is not read again")
	}
	o := w.options()
	o.Since = s
	w.write(w.root+"/other/x", "1")
	if _, err := Take(t.Context(), w.root+"/other", w.store(), o); err == nil {
		t.Error("it went on from a snapshot of another directory")
	}
}

// Contents of all lengths come back, each kept once.
func TestContentsOfAllLengths(t *testing.T) {
	c := &chaos{world: newWorld(t), r: newRand(1)}
	random := make([]byte, 3*maxBlock)
	for i := range random {
		random[i] = byte(c.r.Uint32())
	}
	for i, n := range []int{0, 1, 4096, maxBlock - 1, maxBlock, maxBlock + 1, 2*maxBlock + 7, len(random)} {
		c.write(fmt.Sprintf("random%d", i), string(random[:n]))
		c.write(fmt.Sprintf("text%d", i), strings.Repeat("some text\n", n/10))
		c.write(fmt.Sprintf("twice%d", i), string(random[:n]))
	}
	before := look(t, c.dir, false)
	s := c.take()
	fi, err := os.Stat(filepath.Join(s.store, contentsName))
	c.must(err)
	if least, most := int64(8*maxBlock), int64(9*maxBlock); fi.Size() < least || fi.Size() > most {
		t.Errorf("%d bytes are kept", fi.Size())
	}
	for _, p := range c.paths() {
		c.must(os.Remove(p))
	}
	c.end(s)
	c.restore(s, Undo{})
	if got := look(t, c.dir, false); got != before {
		t.Errorf("%s", differs(before, got))
	}
}

// Line ends are bytes, whatever git would make of them, and files of a repository inside are files.
func TestLineEndsAndNestedRepositories(t *testing.T) {
	w := newWorld(t)
	w.git("config", "core.autocrlf", "true")
	w.write(".gitattributes", "*.txt text eol=crlf\n*.lf text eol=lf\n*.bin binary\n*.id ident\n*.utf working-tree-encoding=UTF-16\n")
	w.write("inner/own.txt", "one\r\ntwo\n")
	w.gitIn(w.dir+"/inner", "init", "-q")
	w.gitIn(w.dir+"/inner", "add", "-A")
	w.gitIn(w.dir+"/inner", "commit", "-qm", "inner")
	names := []string{"a.txt", "b.lf", "c.bin", "d.id", "e.utf", "f"}
	for _, name := range names {
		w.write(name, "one\r\ntwo\nthree\r\n$Id$\r\n")
	}
	w.git("add", ".gitattributes", "a.txt", "b.lf", "c.bin", "d.id", "f")
	w.git("commit", "-q", "-m", "x")
	before := look(t, w.dir, false)
	s := w.take()
	for _, name := range names {
		w.write(name, "one\ntwo\n")
	}
	w.write("inner/own.txt", "run\n")
	w.gitIn(w.dir+"/inner", "commit", "-qam", "by the run")
	w.git("checkout", "-q", "HEAD", "--", ".")
	w.end(s)
	w.restore(s, Undo{History: true})
	if got := look(t, w.dir, false); got != before {
		t.Errorf("%s", differs(before, got))
	}
}

// What lands is what git does not ignore, and what was there before; a destroyed repository changes little of it.
func TestALandingLeavesOutWhatGitIgnores(t *testing.T) {
	for _, c := range []struct {
		name string
		run  func(w *world)
		want string
	}{
		{"as it is", func(*world) {}, ".env .gitignore a d d/new vendor vendor/f"},
		{"with other patterns", func(w *world) { w.write(".gitignore", "a\nd\nvendor\n") }, ".env .gitignore a node_modules node_modules/m node_modules/m/f out out/x"},
		{"without a repository", func(w *world) { w.must(os.RemoveAll(w.path(".git"))) }, ".env .gitignore a d d/new out out/x vendor vendor/f"},
		{"with a damaged one", func(w *world) { w.write(".git/index", "rubbish") }, ".env .gitignore a d d/new out out/x vendor vendor/f"},
		{"with a pipe for a pattern file", func(w *world) {
			w.must(os.MkdirAll(w.path("p"), 0o755))
			w.must(exec.Command("mkfifo", w.path("p/.gitignore")).Run())
		}, ".env .gitignore a d d/new out out/x p vendor vendor/f"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.write(".gitignore", "node_modules\nout\n.env\n")
			w.write(".env", "SECRET=1\n")
			w.write("a", "1\n")
			w.commit()
			s := w.take()
			for _, name := range []string{".env", "a", "d/new", "vendor/f", "out/x", "node_modules/m/f"} {
				w.write(name, "run\n")
			}
			c.run(w)
			asked := 0
			o := w.options()
			o.Since, o.Landing = s, true
			o.Cage = func(argv []string) ([]string, []string, error) { asked++; return argv, nil, nil }
			after, err := Take(t.Context(), w.dir, w.store(), o)
			w.must(err)
			var got []string
			for _, e := range after.list.entries {
				got = append(got, e.path)
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
			if _, err := os.Lstat(w.path(".git")); err == nil && asked == 0 {
				t.Error("git was asked outside of the cage")
			}
		})
	}
}

// TestUnseen: what a run makes where git ignores it is in neither snapshot and is named; what it changes there is in both.
func TestUnseen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(".gitignore", "*.mk\nnode_modules\n")
	w.write("old.mk", "1\n")
	w.write("a", "1\n")
	w.commit()
	s := w.take()
	for _, name := range []string{"old.mk", "new.mk", "d/other.mk", "node_modules/m/f", "a", "b"} {
		w.write(name, "run\n")
	}
	w.must(os.Chmod(w.path(".gitignore"), 0o755))
	w.must(s.End(t.Context()))
	o := w.options()
	o.Since, o.Landing = s, true
	after, err := Take(t.Context(), w.dir, w.store(), o)
	w.must(err)
	names, err := s.Unseen(after)
	w.must(err)
	if got := strings.Join(names, " "); got != "d/other.mk new.mk node_modules/m/f" {
		t.Errorf("%q", got)
	}
	var got []string
	for _, c := range s.Changes(after) {
		got = append(got, string(c.Kind)+" "+c.Path)
	}
	if got := strings.Join(got, ", "); got != "mode .gitignore, modified a, added b, modified old.mk" {
		t.Errorf("%q", got)
	}
}
