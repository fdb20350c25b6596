package worktree

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/tree"
)

// maxDepth bounds the levels of directories: each open level holds a file descriptor.
const maxDepth = 256

// keptBits are the bits of a mode that a list holds.
const keptBits = fs.ModeType | fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

// A coverage decides what of a directory a list holds.
type coverage interface {
	// enter is told of each directory before what is in it is looked at, the top ("") included; git says that it holds a .git.
	enter(ctx context.Context, path string, git bool) error
	// hole says why a path is not covered; empty when it is. size is that of a file.
	hole(path string, dir bool, size, maxIgnored int64) string
}

// A keeper takes a content to its end and returns its length, its sum and where it is kept.
type keeper func(ctx context.Context, r io.Reader) (size int64, sum [sha256.Size]byte, at int64, err error)

type walker struct {
	ctx   context.Context
	o     Options
	cover coverage
	keep  keeper
	list  list
	left  int
}

// walk lists dir. It goes from directory to directory by open handles, follows no link and opens only what is a regular file.
func walk(ctx context.Context, dir string, o Options, cover coverage, keep keeper) (list, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return list{}, err
	}
	defer root.Close()
	w := &walker{ctx: ctx, o: o, cover: cover, keep: keep, list: list{dir: dir}, left: o.MaxEntries}
	if err := w.dir(root, "", 0); err != nil {
		return list{}, err
	}
	slices.SortFunc(w.list.entries, func(a, b entry) int { return cmp.Compare(a.path, b.path) })
	slices.SortFunc(w.list.holes, func(a, b Hole) int { return cmp.Compare(a.Path, b.Path) })
	return w.list, nil
}

// dir lists what a directory holds. at is its path, empty for the top.
func (w *walker) dir(root *os.Root, at string, depth int) error {
	if depth > maxDepth {
		return fault.New(fault.Usage, "there are more than %d levels of directories at %s", maxDepth, tree.Quote(at))
	}
	names, err := w.names(root)
	if err != nil {
		return fmt.Errorf("%s: %w", tree.Quote(at), err)
	}
	if err := w.cover.enter(w.ctx, at, slices.ContainsFunc(names, isDotGit)); err != nil {
		return err
	}
	for _, name := range names {
		path := name
		if at != "" {
			path = at + "/" + name
		}
		if err := w.entry(root, name, path, depth); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s: %w", tree.Quote(path), err)
		}
	}
	return nil
}

func (w *walker) names(root *os.Root) ([]string, error) {
	f, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []string
	for {
		if err := w.ctx.Err(); err != nil {
			return nil, context.Cause(w.ctx)
		}
		some, err := f.Readdirnames(4096)
		all = append(all, some...)
		if w.left -= len(some); w.left < 0 {
			return nil, fault.New(fault.Usage, "there are more than %d files and directories", w.o.MaxEntries)
		}
		if err == io.EOF {
			slices.Sort(all)
			return all, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (w *walker) entry(root *os.Root, name, path string, depth int) error {
	if isDotGit(name) {
		w.hole(path, "a .git is not covered", true)
		return nil
	}
	fi, err := root.Lstat(name)
	if err != nil {
		return err
	}
	if why := w.cover.hole(path, fi.IsDir(), fi.Size(), w.o.MaxIgnored); why != "" {
		w.hole(path, why, false)
		return nil
	}
	e := entry{path: path, mode: fi.Mode() & keptBits}
	switch fi.Mode().Type() {
	case fs.ModeDir:
		return w.sub(root, name, e, depth)
	case fs.ModeSymlink:
		if e.target, err = root.Readlink(name); err != nil {
			return err
		}
		e.mode = fs.ModeSymlink // its other bits mean nothing and cannot be set
	case 0:
		err := w.file(root, name, &e)
		if errors.Is(err, fs.ErrPermission) {
			w.hole(path, "it cannot be read", false)
			return nil
		}
		if err != nil {
			return err
		}
	default:
		w.hole(path, "it is no file, link or directory", false)
		return nil
	}
	w.list.entries = append(w.list.entries, e)
	return nil
}

func (w *walker) hole(path, why string, git bool) {
	w.list.holes = append(w.list.holes, Hole{path, why, git})
}

func (w *walker) sub(root *os.Root, name string, e entry, depth int) error {
	sub, err := root.OpenRoot(name)
	if err == nil {
		defer sub.Close()
		err = w.readable(sub)
	}
	if errors.Is(err, fs.ErrPermission) {
		w.hole(e.path, "it cannot be read", false)
		return nil
	}
	if err != nil {
		return err
	}
	w.list.entries = append(w.list.entries, e)
	return w.dir(sub, e.path, depth+1)
}

func (w *walker) readable(root *os.Root) error {
	f, err := root.Open(".")
	if err != nil {
		return err
	}
	return f.Close()
}

// file reads one file, keeps its content where that is asked for, and notes what was read.
func (w *walker) file(root *os.Root, name string, e *entry) error {
	f, err := root.OpenFile(name, os.O_RDONLY|openNoBlock, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	if !fi.Mode().IsRegular() {
		return fs.ErrNotExist // it was replaced meanwhile
	}
	e.mode = fi.Mode() & keptBits
	keep := w.keep
	if keep == nil {
		keep = sumOnly
	}
	e.size, e.sum, e.at, err = keep(w.ctx, f)
	return err
}

func sumOnly(ctx context.Context, r io.Reader) (size int64, sum [sha256.Size]byte, at int64, err error) {
	h := sha256.New()
	size, err = io.Copy(h, untilDone(ctx, r))
	return size, [sha256.Size]byte(h.Sum(nil)), 0, err
}

// untilDone is a reader that ends with the context: a file may be long, or grow for ever.
func untilDone(ctx context.Context, r io.Reader) io.Reader {
	return readerFunc(func(p []byte) (int, error) {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		return r.Read(p)
	})
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
