package worktree

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Files are the files and links of a snapshot, sorted, relative and with slashes.
func (s *Snapshot) Files() []string {
	var all []string
	for i := range s.list.entries {
		if e := &s.list.entries[i]; !isDir(e) {
			all = append(all, e.path)
		}
	}
	return all
}

// Has reports whether the snapshot has a file or link of that path.
func (s *Snapshot) Has(path string) bool { return s.list.leaf(path) != nil }

// Below are those of the files that a path is or holds.
func (s *Snapshot) Below(path string) []string {
	var all []string
	for i := range s.list.entries {
		if e := &s.list.entries[i]; !isDir(e) && (e.path == path || strings.HasPrefix(e.path, path+"/")) {
			all = append(all, e.path)
		}
	}
	return all
}

// Read gives the first limit bytes of what a file of the snapshot held, and the target of a link.
func (s *Snapshot) Read(path string, limit int64) ([]byte, error) {
	e := s.list.leaf(path)
	switch {
	case e == nil:
		return nil, &fs.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
	case e.mode.Type() == fs.ModeSymlink:
		return []byte(e.target), nil
	}
	kept, err := os.Open(filepath.Join(s.store, contentsName))
	if err != nil {
		return nil, err
	}
	defer kept.Close()
	text, err := io.ReadAll(io.LimitReader(readContent(kept, *e), limit))
	if err != nil {
		return nil, fmt.Errorf("%s of the snapshot in %s: %w", path, s.store, err)
	}
	return text, nil
}
