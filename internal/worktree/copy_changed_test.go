package worktree

import (
	"os"
	"strings"
	"testing"
	"time"
)

// What only looks changed, by its times or its inode, is not: after touch, or in a repository that was copied.
func TestTouchedFilesAreNotChanged(t *testing.T) {
	w := newWorld(t)
	w.write("a", "one\n")
	w.write("b", "two\n")
	w.commit()
	later := time.Now().Add(time.Minute)
	w.must(os.Chtimes(w.path("a"), later, later))
	w.must(os.Remove(w.path("b")))
	w.write("b", "two\n")
	index := w.read(".git/index")
	c, err := NewCopy(t.Context(), w.copyOptions())
	w.must(err)
	if c.Behind() != 0 || c.record.Dirt || w.read(".git/index") != index {
		t.Errorf("%d files are changed", c.Behind())
	}
	w.write("a", "six\n")
	if c, err = NewCopy(t.Context(), w.copyOptions()); err != nil || c.Behind() != 1 {
		t.Errorf("%d files are changed, %v", c.Behind(), err)
	}
}

// A file is what the user sees of it, whatever a filter of the user's keeps of it, wherever the filter is named; also right after a commit, when git looks into files
// whose times say too little.
func TestCopiesOfFilteredFiles(t *testing.T) {
	for name, place := range map[string]string{"tree": ".gitattributes", "info": ".git/info/attributes", "home": "HOME/.config/git/attributes", "configured": "HOME/my attributes"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if name == "configured" {
				w.git("config", "core.attributesFile", "~/my attributes")
			}
			w.git("config", "filter.up.clean", "tr a-z A-Z")
			w.git("config", "filter.up.smudge", "tr A-Z a-z")
			w.write(strings.Replace(place, "HOME", w.home, 1), "*.up filter=up\n")
			w.write("x.up", "abc\n")
			w.write("deep/y.up", "def\n")
			w.write("plain", "ghi\n")
			w.commit()
			c, err := NewCopy(t.Context(), w.copyOptions())
			w.must(err)
			for _, file := range []string{"x.up", "deep/y.up", "plain"} {
				if got, want := w.read(c.Tree()+"/"+file), w.read(file); got != want {
					t.Errorf("%s is %q, and %q in the copy", file, want, got)
				}
			}
			if c.Behind() != 0 || w.git("show", "HEAD:x.up") != "ABC\n" {
				t.Errorf("%d files are changed, and x.up is kept as %q", c.Behind(), w.git("show", "HEAD:x.up"))
			}
			w.write("plain", "jkl\n") // of the same size, in the same second
			w.write("x.up", "longer\n")
			c, err = NewCopy(t.Context(), w.copyOptions())
			w.must(err)
			if got := w.read(c.Tree() + "/plain"); got != "ghi\n" || c.Behind() != 2 {
				t.Errorf("plain is %q in the copy, %d files are changed", got, c.Behind())
			}
			o := w.copyOptions()
			o.WithDirty = true
			c = w.newCopy(o)
			if got := w.read(c.Tree()+"/plain") + w.read(c.Tree()+"/x.up") + w.read(c.Tree()+"/deep/y.up"); got != "jkl\nlonger\ndef\n" {
				t.Errorf("with the user's changes %q", got)
			}
		})
	}
}
