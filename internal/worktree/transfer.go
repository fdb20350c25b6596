package worktree

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// A transfer copies files from one tree to another, going through no link in either.
type transfer struct {
	ctx      context.Context
	from, to *os.Root
	done     map[string]bool
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
	return &transfer{ctx, f, t, map[string]bool{}}, nil
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

// copy copies a file or a link, once. One that is gone, or that lies behind a link, is none.
func (t *transfer) copy(name string) error {
	if t.done[name] {
		return nil
	}
	t.done[name] = true
	if err := t.ctx.Err(); err != nil {
		return context.Cause(t.ctx)
	}
	if dir := path.Dir(name); dir != "." {
		at := ""
		for part := range strings.SplitSeq(dir, "/") {
			at = path.Join(at, part)
			if fi, err := t.from.Lstat(at); err != nil || !fi.IsDir() {
				return nil
			}
		}
		if err := t.mkdir(dir); err != nil {
			return err
		}
	}
	fi, err := t.from.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && fi.IsDir() {
		return nil
	}
	if err != nil {
		return err
	}
	if err := t.to.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
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
	_, err = io.Copy(out, untilDone(t.ctx, in))
	return cmp.Or(err, out.Chmod(fi.Mode().Perm()), out.Close())
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
