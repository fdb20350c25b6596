package tree

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
)

// A Kind says what happened to a file.
type Kind string

// The kinds of change. A file whose type changed, a link in place of a file for instance, is Modified.
const (
	Added    Kind = "added"
	Modified Kind = "modified"
	Deleted  Kind = "deleted"
	Renamed  Kind = "renamed" // same content under another name, and no other file with this content came or went
	Mode     Kind = "mode"    // only permission bits; the one change that is also reported of directories
)

// A Change is one changed file. In JSON its names are as Quote gives them.
type Change struct {
	Path string // relative to the directory, with slashes, exactly as on the disk
	Kind Kind
	From string // the old name of a renamed file; else empty
}

type changeJSON struct {
	Path string `json:"path"`
	Kind Kind   `json:"change"`
	From string `json:"from,omitempty"`
}

// MarshalJSON writes the names so that any file name survives.
func (c Change) MarshalJSON() ([]byte, error) {
	return json.Marshal(changeJSON{Quote(c.Path), c.Kind, Quote(c.From)})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (c *Change) UnmarshalJSON(b []byte) error {
	var j changeJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	path, err := Unquote(j.Path)
	if err != nil {
		return err
	}
	from, err := Unquote(j.From)
	if err != nil {
		return err
	}
	*c = Change{path, j.Kind, from}
	return nil
}

// Changes are the differences between two snapshots.
type Changes struct {
	Known  bool   `json:"known"`
	Reason string `json:"reason,omitempty"` // why they are not known; empty when they are
	// Files is sorted by path. It is not nil, but may be empty, when the changes are known, and nil otherwise.
	Files []Change `json:"files"`
	// Insertions and Deletions are lines over all text files, as git counts them; binary files count none. nil: not known,
	// because an old content was not held, or a comparison would have taken too long.
	Insertions *int `json:"insertions"`
	Deletions  *int `json:"deletions"`
}

func unknown(format string, args ...any) Changes {
	return Changes{Reason: fmt.Sprintf(format, args...)}
}

// A pair is one changed file with its states; before is nil for an added one, after for a deleted one.
type pair struct {
	Change
	before, after *entry
}

// Compare lists the differences. Both snapshots must be of the same directory; nil stands for one that could not be taken. It reads
// changed files again to count lines, so it belongs right behind the second Take. The end of ctx costs only the counts.
func Compare(ctx context.Context, before, after *Snapshot) Changes {
	switch {
	case before == nil:
		return unknown("there is no fingerprint from before the run")
	case after == nil:
		return unknown("there is no fingerprint from after the run")
	case before.reason != "":
		return unknown("before the run: %s", before.reason)
	case after.reason != "":
		return unknown("after the run: %s", after.reason)
	case before.dir != after.dir:
		return unknown("the fingerprints are of different directories")
	case !slices.Equal(before.closed, after.closed):
		return unknown("directories that could not be read before and after the run are not the same")
	}
	pairs := rename(differences(before, after))
	slices.SortFunc(pairs, func(a, b pair) int { return cmp.Compare(a.Path, b.Path) })
	c := Changes{Known: true, Files: make([]Change, len(pairs))}
	for i, p := range pairs {
		c.Files[i] = p.Change
	}
	if ins, del, ok := countLines(ctx, before, after, pairs); ok {
		c.Insertions, c.Deletions = &ins, &del
	}
	return c
}

// differences merges the two lists; both are in the order of compareNames.
func differences(before, after *Snapshot) []pair {
	var pairs []pair
	note := func(k Kind, b, a *entry) {
		e := cmp.Or(a, b)
		if ownChange(before, after, b, a) {
			return
		}
		pairs = append(pairs, pair{Change{Path: e.path, Kind: k}, b, a})
	}
	i, j := 0, 0
	for i < len(before.entries) || j < len(after.entries) {
		var b, a *entry
		order := 0
		switch {
		case i >= len(before.entries):
			order = 1
		case j >= len(after.entries):
			order = -1
		default:
			order = compareNames(before.entries[i].path, after.entries[j].path)
		}
		if order <= 0 {
			b = &before.entries[i]
			i++
		}
		if order >= 0 {
			a = &after.entries[j]
			j++
		}
		if b != nil && b.mode.IsDir() && (a == nil || !a.mode.IsDir()) {
			b = nil // a directory is no file
		}
		if a != nil && a.mode.IsDir() && (b == nil || !b.mode.IsDir()) {
			a = nil
		}
		switch {
		case a == nil && b == nil:
		case b == nil:
			note(Added, nil, a)
		case a == nil:
			note(Deleted, b, nil)
		case !sameContent(b, a):
			note(Modified, b, a)
		case b.mode != a.mode:
			note(Mode, b, a)
		}
	}
	return pairs
}

// sameContent reports whether two states of a path hold the same. Without both contents, the times decide: a file that may
// have changed counts as changed.
func sameContent(b, a *entry) bool {
	switch {
	case b.mode.Type() != a.mode.Type():
		return false
	case b.content != nil && a.content != nil:
		return b.content.sum == a.content.sum
	case b.mode.IsRegular():
		return b.sameStat(a)
	}
	return true
}

// rename joins a deleted and an added file that are the same file: by content when exactly one went and one came with it, else
// by inode with size and time. Empty files are only joined by inode.
func rename(pairs []pair) []pair {
	type key struct {
		sum   [32]byte
		ino   uint64
		size  int64
		mtime int64
	}
	bySum := func(e *entry) (key, bool) {
		return key{sum: sumOf(e)}, e.content != nil && e.size > 0
	}
	byInode := func(e *entry) (key, bool) { return key{ino: e.ino, size: e.size, mtime: e.mtime}, e.ino != 0 }
	gone := map[int]bool{}
	for _, keyOf := range []func(*entry) (key, bool){bySum, byInode} {
		from, to := map[key][]int{}, map[key][]int{}
		for i, p := range pairs {
			e := cmp.Or(p.before, p.after)
			if gone[i] || !e.mode.IsRegular() {
				continue
			}
			k, ok := keyOf(e)
			switch {
			case !ok:
			case p.Kind == Deleted:
				from[k] = append(from[k], i)
			case p.Kind == Added:
				to[k] = append(to[k], i)
			}
		}
		for k, f := range from {
			if t := to[k]; len(f) == 1 && len(t) == 1 && likely(pairs[f[0]].before, pairs[t[0]].after) {
				p := &pairs[t[0]]
				p.Kind, p.From, p.before = Renamed, pairs[f[0]].Path, pairs[f[0]].before
				gone[f[0]] = true
			}
		}
	}
	kept := pairs[:0]
	for i, p := range pairs {
		if !gone[i] {
			kept = append(kept, p)
		}
	}
	return kept
}

// likely rejects a pair that matches by inode but is known to differ.
func likely(b, a *entry) bool {
	return b.content == nil || a.content == nil || b.content.sum == a.content.sum
}

func sumOf(e *entry) (sum [32]byte) {
	if e.content != nil {
		sum = e.content.sum
	}
	return sum
}
