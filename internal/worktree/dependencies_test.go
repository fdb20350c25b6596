package worktree

import (
	"os"
	"slices"
	"testing"
	"time"
)

func (w *world) dependencies(s *Snapshot) Dependencies {
	w.t.Helper()
	d, err := s.Dependencies(w.t.Context())
	w.must(err)
	return d
}

func TestChangedDependencies(t *testing.T) {
	set := func(w *world, name, text string) { // the same size, and the old times again
		fi, err := os.Stat(w.path(name))
		w.must(err)
		w.write(name, text)
		w.must(os.Chtimes(w.path(name), fi.ModTime(), fi.ModTime()))
	}
	for _, c := range []struct {
		name string
		run  func(w *world)
		want []string
	}{
		{"nothing", func(w *world) { w.write("a", "run"); w.write("src/new", "run") }, nil},
		{"read only", func(w *world) { w.read("node_modules/m/index.js") }, nil},
		{"a file that came and went", func(w *world) {
			w.write("node_modules/m/tmp", "1")
			w.must(os.Remove(w.path("node_modules/m/tmp")))
		}, nil},
		{"a file with its times set back", func(w *world) { set(w, "node_modules/m/index.js", "evil") }, []string{"node_modules"}},
		{"a file replaced by one of the same size and time", func(w *world) {
			w.must(os.Rename(w.path("node_modules/m/index.js"), w.path("old")))
			w.write("node_modules/m/index.js", "1234")
		}, []string{"node_modules"}},
		{"a file more", func(w *world) { w.write("web/node_modules/n/deep/f", "1") }, []string{"web/node_modules"}},
		{"a file less", func(w *world) { w.must(os.Remove(w.path(".venv/lib/p.py"))) }, []string{".venv"}},
		{"a mode", func(w *world) { w.must(os.Chmod(w.path(".venv/lib/p.py"), 0o755)) }, []string{".venv"}},
		{"a link that leads elsewhere", func(w *world) {
			w.must(os.Remove(w.path("node_modules/link")))
			w.must(os.Symlink("n", w.path("node_modules/link")))
		}, []string{"node_modules"}},
		{"one that is gone", func(w *world) { w.must(os.RemoveAll(w.path(".venv"))) }, []string{".venv"}},
		{"one that is a link now", func(w *world) {
			w.must(os.Rename(w.path(".venv"), w.root+"/elsewhere"))
			w.must(os.Symlink(w.root+"/elsewhere", w.path(".venv")))
		}, []string{".venv"}},
		{"a new one", func(w *world) { w.write("other/node_modules/m/f", "1"); w.write("bin/x", "1") }, []string{"other/node_modules"}},
		{"a large ignored file", func(w *world) { w.write("out/lib.so", "12345678901") }, []string{"out/lib.so"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.write(".gitignore", "node_modules\n.venv\nout\n")
			for _, name := range []string{"a", "src/a", "node_modules/m/index.js", "node_modules/n/index.js", "web/node_modules/n/f", ".venv/lib/p.py"} {
				w.write(name, "1234")
			}
			w.write("out/lib.so", "1234567890")
			w.must(os.Symlink("m", w.path("node_modules/link")))
			w.commit()
			o := w.options()
			o.MaxIgnored = 4
			s, err := Take(t.Context(), w.dir, w.store(), o)
			w.must(err)
			time.Sleep(10 * time.Millisecond) // a step of the file system's clock
			before := w.dependencies(s)
			c.run(w)
			s, err = Open(s.store)
			w.must(err)
			if got := ChangedDependencies(before, w.dependencies(s)); !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
