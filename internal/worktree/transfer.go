package worktree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"

	"opencode-delegate/internal/tree"
)

// A transfer copies files from one tree to another, going through no link in either.
type transfer struct {
	ctx      context.Context
	from, to *os.Root
	dirs     sync.Map // directories that are there in both, by path
}

func newTransfer(ctx context.Context, from, to string) (*transfer, error) {
	f, err := os.OpenRoot(from)
	if err != nil {
		return nil, err
	}
	t, err := os.OpenRoot(to)
	if err != nil {
		f.Close()
		return nil, err
	}
	return &transfer{ctx: ctx, from: f, to: t}, nil
}

func (t *transfer) close() {
	t.from.Close()
	t.to.Close()
}

func (t *transfer) mkdir(name string) error {
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return fs.ErrInvalid
	}
	return t.to.MkdirAll(name, 0o755)
}

// copies are several of copy, at the same time. Paths that are files or links of one directory stand together.
func (t *transfer) copies(names []string) error {
	runs := byDirectory(names, func(name string) string { return name })
	return inParallel(t.ctx, len(runs), func(i int) error { return t.siblings(runs[i]) })
}

// byDirectory are runs of neighbours that lie in one directory, none longer than 500: a file is opened by its directory, and not by a way from the top.
func byDirectory[T any](all []T, name func(T) string) (runs [][]T) {
	for i := 0; i < len(all); {
		first, dir := i, path.Dir(name(all[i]))
		for i < len(all) && i-first < 500 && path.Dir(name(all[i])) == dir {
			i++
		}
		runs = append(runs, all[first:i])
	}
	return runs
}

// siblings copies files and links of one directory. What is gone, or lies behind a link, is none.
func (t *transfer) siblings(names []string) error {
	dir := path.Dir(names[0])
	if !filepath.IsLocal(filepath.FromSlash(dir)) {
		return fs.ErrInvalid
	}
	if ok, err := t.shared(dir); !ok || err != nil {
		return err
	}
	from, err := t.from.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := t.to.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer to.Close()
	in := &transfer{ctx: t.ctx, from: from, to: to}
	for _, name := range names {
		if err := in.copy(path.Base(name)); err != nil {
			return fmt.Errorf("%s: %w", tree.Quote(name), err)
		}
	}
	return nil
}

// shared makes a directory in the target that is one in the source, and reports whether it is.
func (t *transfer) shared(dir string) (bool, error) {
	if dir == "." {
		return true, nil
	}
	if _, known := t.dirs.Load(dir); known {
		return true, nil
	}
	if ok, err := t.shared(path.Dir(dir)); !ok || err != nil {
		return ok, err
	}
	if fi, err := t.from.Lstat(dir); err != nil || !fi.IsDir() {
		return false, nil
	}
	if err := t.to.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return false, err
	}
	t.dirs.Store(dir, true)
	return true, nil
}

// copy copies a file or a link. One that is gone, or that lies behind a link, is none.
func (t *transfer) copy(name string) error {
	if err := t.ctx.Err(); err != nil {
		return context.Cause(t.ctx)
	}
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return fs.ErrInvalid
	}
	if ok, err := t.shared(path.Dir(name)); !ok || err != nil {
		return err
	}
	fi, err := t.from.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && fi.IsDir() {
		return nil
	}
	if err != nil {
		return err
	}
	switch fi.Mode().Type() {
	case fs.ModeSymlink:
		target, err := t.from.Readlink(name)
		if err != nil {
			return err
		}
		return t.to.Symlink(target, name)
	case 0:
		return t.file(name)
	}
	return nil
}

func (t *transfer) file(name string) error {
	in, err := t.from.OpenFile(name, os.O_RDONLY|openNoBlock, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	fi, err := in.Stat()
	if err != nil || !fi.Mode().IsRegular() {
		return cmp.Or(err, fs.ErrInvalid)
	}
	out, err := t.to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = t.bytes(out, in)
	return cmp.Or(err, out.Chmod(fi.Mode().Perm()), out.Close())
}

// bytes copies a content in pieces, for which the kernel may share the blocks of both files (copy_file_range does on btrfs, XFS and others) until
// one of the two is written to.
func (t *transfer) bytes(out, in *os.File) error {
	for {
		if t.ctx.Err() != nil {
			return context.Cause(t.ctx)
		}
		if n, err := io.CopyN(out, in, 256<<20); err == io.EOF || err == nil && n == 0 {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// all copies a file or a directory with everything in it, but for each .git: it would lead the worker to the user's repositories. Links stay what they are.
func (t *transfer) all(name string) error {
	fi, err := t.from.Lstat(name)
	if err != nil {
		return err
	}
	if !fi.IsDir() {
		return t.copy(name)
	}
	if err := t.to.Mkdir(name, 0o700); err != nil {
		return err
	}
	dir, err := t.from.Open(name)
	if err != nil {
		return err
	}
	names, err := dir.Readdirnames(-1)
	dir.Close()
	if err != nil {
		return err
	}
	for _, n := range names {
		if isDotGit(n) {
			continue
		}
		if err := t.all(path.Join(name, n)); err != nil {
			return err
		}
	}
	return t.to.Chmod(name, fi.Mode().Perm())
}

// cloneFile copies a file of ours. Where the file system can, the blocks are shared until one of the two is written to.
func cloneFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return cmp.Or(err, out.Close())
}
