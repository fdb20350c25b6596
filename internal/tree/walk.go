package tree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// A walker collects the entries of a snapshot. It goes from directory to directory by open handles, so that a link that takes
// a directory's place meanwhile cannot lead it out.
type walker struct {
	ctx          context.Context
	s            *Snapshot
	left         int
	repositories []string // directories that hold a .git
}

// batch is how many names of a directory are read at once.
const batch = 4096

// dir records what a directory holds. at is its path with a slash behind it, empty for the top.
func (w *walker) dir(root *os.Root, at string, depth int) {
	if w.s.reason != "" || w.ctx.Err() != nil {
		return
	}
	if depth > maxDepth {
		w.s.fail(fmt.Sprintf("more than %d levels of directories at %s", maxDepth, Quote(at)))
		return
	}
	names, err := w.list(root)
	if err != nil {
		w.unreadable(root, at, err)
		return
	}
	slices.SortFunc(names, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, d := range names {
		name := d.Name()
		if isDotGit(name) {
			w.repositories = append(w.repositories, at)
			continue
		}
		if at == ".opencode/" && name == "node_modules" {
			continue // what opencode installs for itself; see ownChange
		}
		fi, err := root.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			w.s.fail(fmt.Sprintf("%s: %v", Quote(at+name), reason(err)))
			return
		}
		e := newEntry(at+name, fi)
		if fi.Mode()&fs.ModeSymlink != 0 {
			if target, err := root.Readlink(name); err == nil {
				e.content = linkContent(target)
			} else if !errors.Is(err, fs.ErrNotExist) {
				w.s.fail(fmt.Sprintf("%s: %v", Quote(e.path), reason(err)))
				return
			}
		}
		w.s.entries = append(w.s.entries, e)
		if fi.IsDir() {
			w.sub(root, name, e.path, depth)
		}
	}
}

// sub goes one level down.
func (w *walker) sub(root *os.Root, name, path string, depth int) {
	sub, err := root.OpenRoot(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return
	case err != nil:
		w.unreadableSub(root, name, path, err)
		return
	}
	w.dir(sub, path+"/", depth+1)
	sub.Close()
}

func (w *walker) list(root *os.Root) ([]fs.DirEntry, error) {
	f, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var names []fs.DirEntry
	for {
		some, err := f.ReadDir(batch)
		names = append(names, some...)
		if w.left -= len(some); w.left < 0 {
			w.s.fail("the directory holds more files than are looked at")
			return nil, nil
		}
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, fs.ErrNotExist):
			return names, nil
		case err != nil:
			return nil, err
		case w.ctx.Err() != nil:
			return nil, nil
		}
	}
}

// unreadable handles a directory that can be entered but not listed: a run could have written below it.
func (w *walker) unreadable(root *os.Root, at string, err error) {
	w.s.fail(fmt.Sprintf("%s: %v", Quote(strings.TrimSuffix(at, "/")), reason(err)))
}

// unreadableSub handles a directory that cannot be opened. If it is another user's and cannot be searched either, the run, which
// has no more rights than we have, could not look into it or change it.
func (w *walker) unreadableSub(root *os.Root, name, path string, err error) {
	if fi, serr := root.Lstat(name); serr == nil && foreign(fi) && errors.Is(err, fs.ErrPermission) {
		if _, serr = root.Lstat(name + "/x"); errors.Is(serr, fs.ErrPermission) {
			w.s.closed = append(w.s.closed, path)
			return
		}
	}
	w.s.fail(fmt.Sprintf("%s: %v", Quote(path), reason(err)))
}

// reason is an error without the path that its caller names.
func reason(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

func newEntry(path string, fi fs.FileInfo) entry {
	e := entry{path: path, mode: fi.Mode(), mtime: fi.ModTime().UnixNano()}
	if fi.Mode().IsRegular() {
		e.size = fi.Size()
	}
	e.ctime, e.ino = statExtra(fi)
	return e
}

// sameStat reports whether nothing that the system records about a file's content differs.
func (e *entry) sameStat(b *entry) bool {
	return e.size == b.size && e.mtime == b.mtime && e.ctime == b.ctime && e.ino == b.ino && e.mode.Type() == b.mode.Type()
}

// ChangeTime returns the change time of a file, in ns, and its inode. known is false where the system has none: a program
// may set all times of a file there, so that equal ones prove nothing.
func ChangeTime(fi fs.FileInfo) (ctime int64, ino uint64, known bool) {
	ctime, ino = statExtra(fi)
	return ctime, ino, hasChangeTime
}
