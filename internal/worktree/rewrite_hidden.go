package worktree

import (
	"slices"

	"opencode-delegate/internal/tree"
)

// newlyHidden are files of one index that git looked at and by a later one does not.
func newlyHidden(was, is []byte, idSize int) (paths []string) {
	before, err := parseIndex(was, idSize)
	after, err2 := parseIndex(is, idSize)
	if err != nil || err2 != nil {
		return nil
	}
	for p := range after.hidden {
		if _, known := before.blobs[p]; known && !before.hidden[p] {
			paths = append(paths, tree.Quote(p))
		}
	}
	slices.Sort(paths)
	return paths[:min(len(paths), PathsTold)]
}

// hidden tells of files that git was told to overlook: what becomes of them is in no status and no diff.
func (t *teller) hidden() {
	if n := len(t.end.Hidden); n > 0 {
		t.tell(Hidden, "", "git was told to overlook %s: %s", count(n, "tracked file", "tracked files"), t.end.Hidden[0])
		t.told[len(t.told)-1].Paths = t.end.Hidden
	}
}
