package worktree

import (
	"os"
	"syscall"
	"testing"
)

// A new file has the mode that any program would have given it here, as with git apply; one that is there keeps its own.
func TestLandingKeepsToTheUmask(t *testing.T) {
	w := newWorld(t)
	w.write("old", "one\n")
	w.commit()
	w.must(os.Chmod(w.path("old"), 0o640))
	c := w.newCopy(w.copyOptions())
	w.write(c.Tree()+"/old", "two\n")
	w.write(c.Tree()+"/new/file", "new\n")
	w.write(c.Tree()+"/new/tool", "new\n")
	w.must(os.Chmod(c.Tree()+"/new/tool", 0o755))
	after := w.result(c)
	for mask, want := range map[int][]os.FileMode{0o077: {0o640, 0o700, 0o600, 0o700}, 0o002: {0o640, 0o775, 0o664, 0o775}, 0o022: {0o640, 0o755, 0o644, 0o755}} {
		before := syscall.Umask(mask)
		_, err := Apply(t.Context(), c.Base(), after, w.dir, w.store(), w.options())
		syscall.Umask(before)
		w.must(err)
		for i, name := range []string{"old", "new", "new/file", "new/tool"} {
			if fi, err := os.Stat(w.path(name)); err != nil || fi.Mode().Perm() != want[i] {
				t.Errorf("umask %03o: %s is %v, want %v", mask, name, fi.Mode(), want[i])
			}
		}
		w.must(os.RemoveAll(w.path("new")))
		w.write("old", "one\n")
		w.must(os.Chmod(w.path("old"), 0o640))
	}
}
