package worktree

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"

	"opencode-delegate/internal/crashpoint"
	"opencode-delegate/internal/fault"
)

// lockedPut replaces a file of a git directory in the way of git: the new content is in name.lock first, complete from the moment that there is one. So one that
// an earlier try left behind is known by its content.
func lockedPut(root *os.Root, name string, data []byte, mode fs.FileMode) error {
	lock := name + ".lock"
	if fi, err := root.Lstat(name); err == nil && !fi.Mode().IsRegular() {
		return fault.New(fault.Conflict, "%s in the repository is no file", name)
	}
	if err := putIn(root, name+unfinished, bytes.NewReader(data), mode); err != nil {
		return err
	}
	crashpoint.Here("prepared", name)
	err := root.Link(name+unfinished, lock)
	if errors.Is(err, fs.ErrExist) {
		if there, rerr := readIn(root, lock, maxIndex); rerr == nil && bytes.Equal(there, data) {
			err = nil
		}
	}
	root.Remove(name + unfinished)
	if err != nil {
		return fault.New(fault.Conflict, "%s is locked: another git is at work in the repository, or one has left %s behind", name, lock)
	}
	crashpoint.Here("locked", name)
	err = root.Rename(lock, name)
	crashpoint.Here("put back", name)
	return err
}

// putFile writes a small file of a git directory, or removes it.
func putFile(root *os.Root, name string, text []byte, there bool) error {
	if !there {
		err := root.Remove(name)
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		if dir := path.Dir(name); slices.Contains(stateDirs, dir) {
			root.Remove(dir) // where it is empty now
		}
		return err
	}
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	return putIn(root, name, bytes.NewReader(text), 0o644)
}

// putIn writes a file in one step.
func putIn(root *os.Root, name string, r io.Reader, mode fs.FileMode) error {
	if link := linkAbove(root, name); link != "" {
		return fault.New(fault.Conflict, "%s in the repository is a link; nothing is written through it", link)
	}
	tmp := name + ".oc-tmp"
	if err := root.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := root.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	if err == nil {
		err = f.Chmod(mode)
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = root.Rename(tmp, name)
	}
	if err != nil {
		root.Remove(tmp)
	}
	return err
}

// linkAbove is the first directory of a path that is a link; empty when there is none.
func linkAbove(root *os.Root, name string) string {
	for up := path.Dir(name); up != "."; up = path.Dir(up) {
		if fi, err := root.Lstat(up); err == nil && fi.Mode()&fs.ModeSymlink != 0 {
			return up
		}
	}
	return ""
}

// linkIn is the first link at a path or below it; empty when there is none.
func linkIn(root *os.Root, name string) string {
	fi, err := root.Lstat(name)
	switch {
	case err != nil:
		return ""
	case fi.Mode()&fs.ModeSymlink != 0:
		return name
	case !fi.IsDir():
		return ""
	}
	for _, sub := range namesIn(root, name, maxObjects) {
		if link := linkIn(root, path.Join(name, sub)); link != "" {
			return link
		}
	}
	return ""
}
