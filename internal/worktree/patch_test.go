package worktree

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
)

// patchLook is what a patch keeps of a tree: files with their executable bit, links; no directories and no other bits.
func patchLook(t *testing.T, dir string) string {
	t.Helper()
	var out []string
	for line := range strings.SplitSeq(look(t, dir, false), "\n") {
		name, rest, _ := strings.Cut(line, "\t")
		mode, rest, _ := strings.Cut(rest, "\t")
		switch {
		case strings.HasPrefix(mode, "d"):
		case strings.HasPrefix(mode, "-") && mode[3] == 'x':
			out = append(out, fmt.Sprintf("%s 755 %s", name, rest))
		default:
			out = append(out, fmt.Sprintf("%s %c %s", name, mode[0], rest))
		}
	}
	return strings.Join(out, "\n")
}

func (w *world) patch(base, after *Snapshot) string {
	w.t.Helper()
	var b bytes.Buffer
	w.must(Patch(w.t.Context(), base, after, &b, 64<<20))
	return b.String()
}

// The user's own git apply makes of the tree before exactly the tree after.
func TestPatchAppliesByteByByte(t *testing.T) {
	cases(t, 50, func(c *chaos) {
		t := c.t
		for range 5 + c.r.IntN(25) {
			c.put(c.name())
		}
		base := c.take()
		for range 1 + c.r.IntN(20) {
			c.edit()
		}
		after := c.take()
		want := patchLook(t, c.dir)
		patch := c.patch(base, after)
		c.end(base)
		c.restore(base, Undo{})
		for _, p := range c.paths() { // git apply reads as any user does
			if fi, err := os.Lstat(p); err == nil && fi.Mode()&fs.ModeSymlink == 0 {
				c.must(os.Chmod(p, fi.Mode()|0o200))
			}
		}
		if patch == "" {
			if got := patchLook(t, c.dir); got != want {
				t.Fatalf("the patch is empty:\n%s", differs(want, got))
			}
			return
		}
		c.write(c.root+"/p", patch)
		c.git("apply", "--whitespace=nowarn", c.root+"/p")
		if got := patchLook(t, c.dir); got != want {
			t.Fatalf("%s", differs(want, got))
		}
	})
}

func TestPatchIsAsGitWritesIt(t *testing.T) {
	w := newWorld(t)
	w.write(".gitattributes", "* text eol=crlf -diff filter=none\n")
	w.write("old name", strings.Repeat("same\n", 50))
	w.write("tool", "x\r\n")
	base := w.take()
	w.must(os.Rename(w.path("old name"), w.path("new name")))
	w.must(os.Chmod(w.path("tool"), 0o700))
	w.write("bin", "\x00\x01")
	w.must(os.Symlink("tool", w.path("link")))
	patch := w.patch(base, w.take())
	for _, want := range []string{"similarity index 100%\nrename from old name\nrename to new name\n", "old mode 100644\nnew mode 100755\n", "GIT binary patch\n", "new file mode 120000\n"} {
		if !strings.Contains(patch, want) {
			t.Errorf("%q is missing in\n%s", want, patch)
		}
	}
	if err := Patch(t.Context(), base, w.take(), &bytes.Buffer{}, 10); err == nil || !strings.Contains(err.Error(), "more than 10 bytes") {
		t.Errorf("too long: %v", err)
	}
	if same := w.take(); w.patch(same, w.take()) != "" {
		t.Error("a patch of nothing")
	}
}

// git apply refuses a file below the old path of a renamed link, so such a patch has no renames.
func TestPatchOfALinkThatMovedAway(t *testing.T) {
	w := newWorld(t)
	w.must(os.Symlink("somewhere", w.path("a")))
	base := w.take()
	w.must(os.Rename(w.path("a"), w.path("b")))
	w.write("a/inner", "x")
	want := patchLook(t, w.dir)
	w.write(w.root+"/p", w.patch(base, w.take()))
	w.end(base)
	w.restore(base, Undo{})
	w.git("apply", w.root+"/p")
	if got := patchLook(t, w.dir); got != want {
		t.Errorf("%s", differs(want, got))
	}
}
