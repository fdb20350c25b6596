package worktree

import (
	"path/filepath"

	"opencode-delegate/internal/tree"
)

// Changes are what differs between two snapshots of one directory, also in files that git ignores. A rename is a file deleted and one added.
func (s *Snapshot) Changes(after *Snapshot) []tree.Change {
	var list []tree.Change
	for _, c := range changes(s, after) {
		kind := tree.Modified
		switch {
		case c.was == nil:
			kind = tree.Added
		case c.is == nil:
			kind = tree.Deleted
		case c.was.sum == c.is.sum && c.was.target == c.is.target && c.was.mode.Type() == c.is.mode.Type():
			kind = tree.Mode
		}
		list = append(list, tree.Change{Path: c.path, Kind: kind})
	}
	return list
}

// Unseen are the files that a run has left and no patch shows, since git ignores them: neither the snapshot of before the run, of which [Snapshot.End] has
// been called, nor after has them. Directories of dependencies are not looked into ([Snapshot.Dependencies]).
func (s *Snapshot) Unseen(after *Snapshot) ([]string, error) {
	end, err := readList(filepath.Join(s.store, endName))
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range end.entries {
		if e := &end.entries[i]; !isDir(e) && s.list.find(e.path) == nil && after.list.find(e.path) == nil {
			names = append(names, e.path)
		}
	}
	return names, nil
}
