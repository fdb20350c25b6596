package worktree

import (
	"strings"
	"testing"
)

// An index is read as git writes it, in all versions, and means the same in all.
func TestIndexVersions(t *testing.T) {
	w := grown(t)
	w.git("add", "-N", "new1")
	w.git("update-index", "--skip-worktree", "f1")
	var first index
	for _, version := range []string{"2", "3", "4"} {
		w.git("update-index", "--index-version", version)
		x, err := parseIndex([]byte(w.read(".git/index")), 20)
		w.must(err)
		n := 0
		for line := range strings.Lines(w.git("ls-files", "-s")) {
			meta, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
			if n++; x.blobs[name] != strings.Fields(meta)[1] {
				t.Errorf("version %s: %s is %q, want %s", version, name, x.blobs[name], meta)
			}
		}
		if n != len(x.blobs) {
			t.Errorf("version %s: %d entries, want %d", version, len(x.blobs), n)
		}
		if version == "2" {
			first = x
		} else if x.mean != first.mean {
			t.Errorf("version %s means something else", version)
		}
		data := w.read(".git/index")
		for cut := range min(len(data), 400) {
			parseIndex([]byte(data[:cut]), 20)
		}
	}
	w.git("update-index", "--no-skip-worktree", "f1")
	if x, err := parseIndex([]byte(w.read(".git/index")), 20); err != nil || x.mean == first.mean {
		t.Error("a mark does not count")
	}
	w.git("update-index", "--split-index")
	if x, err := parseIndex([]byte(w.read(".git/index")), 20); err != nil || !x.split {
		t.Errorf("%v: a split index is not known", err)
	}
}
