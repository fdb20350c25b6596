package worktree

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

func (w *world) apply(base, after *Snapshot) Landing {
	w.t.Helper()
	done, err := Apply(w.t.Context(), base, after, w.dir, w.store(), w.options())
	w.must(err)
	return done
}

// Into an untouched tree everything lands, byte by byte; a second time nothing does; and the snapshot that was taken undoes it.
func TestApplyMakesTheSameTree(t *testing.T) {
	cases(t, 50, func(c *chaos) {
		t := c.t
		for range 5 + c.r.IntN(25) {
			c.put(c.name())
		}
		base := c.take()
		before := look(t, c.dir, false)
		for range 1 + c.r.IntN(20) {
			c.edit()
		}
		after := c.take()
		want := patchLook(t, c.dir)
		c.end(base)
		c.restore(base, Undo{})
		git := look(t, c.path(".git"), true)
		done := c.apply(base, after)
		undo := c.root + fmt.Sprintf("/store%d", c.n)
		if got := patchLook(t, c.dir); got != want || len(done.Conflicts) > 0 {
			t.Fatalf("%+v\n%s", done.Conflicts, differs(want, got))
		}
		if got := look(t, c.path(".git"), true); got != git {
			t.Errorf("the repository changed:\n%s", differs(git, got))
		}
		landed := look(t, c.dir, false)
		if again := c.apply(base, after); len(again.Changed)+len(again.Conflicts) > 0 || again.Same != len(done.Changed) {
			t.Errorf("a second time: %+v", again)
		}
		if got := look(t, c.dir, false); got != landed {
			t.Errorf("a second time:\n%s", differs(landed, got))
		}
		s, err := Open(undo)
		c.must(err)
		c.restore(s, Undo{})
		if got := look(t, c.dir, false); got != before {
			t.Errorf("undone:\n%s", differs(before, got))
		}
	})
}

func numbered(change map[int]string) string {
	var b strings.Builder
	for i := range 30 {
		text, ok := change[i]
		if !ok {
			text = fmt.Sprint("line ", i)
		}
		b.WriteString(text + "\r\n")
	}
	return b.String()
}

func TestApplyMergesWhatBothSidesChanged(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"merges", "clashes", "mode", "gone here", "gone there", "link there"} {
		w.write(name, numbered(nil))
	}
	w.write("bin", "\x00base")
	w.write("dir/x", "x")
	w.write("was dir/x", "x")
	w.write("becomes dir", "x")
	w.write("goes/deep/x", "x")
	w.commit()
	base := w.take()
	w.write("merges", numbered(map[int]string{2: "theirs"}))
	w.write("clashes", numbered(map[int]string{9: "theirs"}))
	w.must(os.Chmod(w.path("mode"), 0o755))
	w.write("gone here", "theirs")
	w.must(os.Remove(w.path("gone there")))
	w.must(os.Remove(w.path("link there")))
	w.must(os.Symlink("x", w.path("link there")))
	w.write("bin", "\x00theirs")
	w.write("both made", "theirs")
	w.write("was dir/new", "theirs")
	w.must(os.Remove(w.path("becomes dir")))
	w.write("becomes dir/x", "theirs")
	w.write("lands", "theirs")
	w.must(os.RemoveAll(w.path("goes")))
	w.must(os.RemoveAll(w.path("dir")))
	w.write("dir", "a file now")
	after := w.take()
	w.end(base)
	w.restore(base, Undo{})
	w.write("merges", numbered(map[int]string{27: "mine"}))
	w.write("clashes", numbered(map[int]string{9: "mine"}))
	w.write("mode", numbered(map[int]string{1: "mine"}))
	w.must(os.Remove(w.path("gone here")))
	w.write("gone there", "mine")
	w.write("link there", "mine")
	w.write("bin", "\x00mine")
	w.write("both made", "mine")
	w.write("dir/mine", "mine")
	w.must(os.RemoveAll(w.path("was dir")))
	w.write("was dir", "mine")
	w.commit()
	index := w.read(".git/index")
	done := w.apply(base, after)
	var got []string
	for _, c := range done.Conflicts {
		got = append(got, fmt.Sprintf("%s: %s %v", c.Path, c.Why, c.Markers))
	}
	want := []string{
		"bin: binary, and changed on both sides false", "both made: made on both sides, with different contents false", "clashes: changed on both sides in the same place true",
		"dir: here it is a directory with other files in it false", "gone here: deleted here, changed there false", "gone there: changed here, deleted there false",
		"link there: a file here, a link there or the reverse false", "was dir/new: here was dir is no directory false",
	}
	if !slices.Equal(got, want) {
		t.Errorf("conflicts:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if w.read("merges") != numbered(map[int]string{2: "theirs", 27: "mine"}) {
		t.Errorf("merged: %q", w.read("merges"))
	}
	if w.read("clashes") != numbered(map[int]string{9: "<<<<<<< here\r\nmine\r\n=======\r\ntheirs\r\n>>>>>>> there"}) {
		t.Errorf("markers: %q", w.read("clashes"))
	}
	if fi, err := os.Stat(w.path("mode")); err != nil || fi.Mode().Perm() != 0o755 || w.read("mode") != numbered(map[int]string{1: "mine"}) {
		t.Errorf("mode: %v %v", fi, err)
	}
	for _, name := range []string{"bin", "both made", "gone there", "link there", "dir/mine", "was dir"} {
		if text := w.read(name); strings.TrimLeft(text, "\x00") != "mine" {
			t.Errorf("%s: %q", name, text)
		}
	}
	if _, err := os.Lstat(w.path("goes")); err == nil {
		t.Error("a directory that the landing has emptied stays")
	}
	if w.read("lands") != "theirs" || w.read("becomes dir/x") != "theirs" || w.read(".git/index") != index {
		t.Error("the rest did not land, or the index was touched")
	}
}
