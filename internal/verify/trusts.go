package verify

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Given is a trust that a person has given.
type Given struct {
	Root, Hash string
	At         time.Time
}

// listed bounds the repositories that Trusts looks at.
const listed = 10_000

// Trusts lists what is trusted, by repository and then by time. What cannot be read, or does not stand where it says, is not trusted and not listed.
func Trusts(store string) (all []Given) {
	roots, _ := os.ReadDir(store)
	for _, r := range roots[:min(len(roots), listed)] {
		files, _ := os.ReadDir(filepath.Join(store, r.Name()))
		for _, f := range files[:min(len(files), trustMost+1)] {
			t, err := readTrust(filepath.Join(store, r.Name(), f.Name()))
			if err != nil {
				continue
			}
			if _, file, err := place(store, t.Root, t.Hash); err == nil && file == filepath.Join(store, r.Name(), f.Name()) {
				all = append(all, Given(t))
			}
		}
	}
	slices.SortFunc(all, func(a, b Given) int { return cmp.Or(cmp.Compare(a.Root, b.Root), a.At.Compare(b.At)) })
	return all
}
