package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/tree"
)

// depend checks what is to be linked or copied and notes it in the record.
func (c *Copy) depend(ctx context.Context, g *git, o CopyOptions) error {
	var all []string
	for _, kind := range []struct {
		names []string
		to    *[]string
	}{{o.Link, &c.record.Link}, {o.Copy, &c.record.Copied}} {
		for _, name := range kind.names {
			p, err := c.dependency(ctx, g, o.Dir, name)
			if err != nil {
				return err
			}
			for _, other := range all {
				if inSlashes(other, p) || inSlashes(p, other) {
					return fault.New(fault.Usage, "%s and %s lie in one another; name one of them", tree.Quote(other), tree.Quote(p))
				}
			}
			all = append(all, p)
			*kind.to = append(*kind.to, p)
		}
	}
	return nil
}

// inSlashes reports whether p is dir or lies below it.
func inSlashes(dir, p string) bool { return p == dir || strings.HasPrefix(p, dir+"/") }

// dependency is the path of one, relative to the top.
func (c *Copy) dependency(ctx context.Context, g *git, dir, name string) (string, error) {
	at, ok := below(c.record.Top, dir)
	p := filepath.Join(at, name)
	if !ok || name == "" || filepath.IsAbs(name) || strings.ContainsRune(name, 0) || p == "." || !filepath.IsLocal(p) {
		return "", fault.New(fault.Usage, "%s is no path below %s, and only one can be linked or copied", tree.Quote(name), c.record.Top)
	}
	p = filepath.ToSlash(p)
	if slices.ContainsFunc(strings.Split(p, "/"), isDotGit) {
		return "", fault.New(fault.Usage, "%s belongs to git and cannot be linked or copied", tree.Quote(p))
	}
	root, err := os.OpenRoot(c.record.Top)
	if err != nil {
		return "", err
	}
	defer root.Close()
	kind := fs.ModeDir
	for at := ""; at != p; {
		rest := strings.TrimPrefix(p[len(at):], "/")
		part, _, _ := strings.Cut(rest, "/")
		at = path.Join(at, part)
		fi, err := root.Lstat(at)
		switch {
		case err != nil:
			return "", fault.New(fault.Usage, "%s cannot be linked or copied: there is no %s in %s", tree.Quote(p), tree.Quote(at), c.record.Top)
		case fi.Mode().Type() == fs.ModeSymlink:
			return "", fault.New(fault.Usage, "%s cannot be linked or copied: %s is itself a symbolic link", tree.Quote(p), tree.Quote(at))
		}
		kind = fi.Mode().Type()
	}
	if kind != fs.ModeDir && kind != 0 {
		return "", fault.New(fault.Usage, "%s is neither a file nor a directory and cannot be linked or copied", tree.Quote(p))
	}
	for _, args := range [][]string{{"ls-files", "-z", "--", p}, {"ls-tree", "-r", "-z", "--name-only", "--full-tree", c.record.Base, "--", p}} {
		tracked, err := g.set(ctx, args...)
		if err != nil {
			return "", err
		}
		if len(tracked) > 0 {
			return "", fault.New(fault.Usage, "%s is tracked by git, so it is in the copy as it is; link and copy what git ignores", tree.Quote(p))
		}
	}
	return p, nil
}

// depends reports whether a path is, or lies in, what was linked or copied.
func (c *Copy) depends(p string) bool {
	in := func(dir string) bool { return inSlashes(dir, p) }
	return slices.ContainsFunc(c.record.Link, in) || slices.ContainsFunc(c.record.Copied, in)
}

// dependencies puts what is linked or copied into the tree. Where the tree has something else in its place it is an error when must says so.
func (c *Copy) dependencies(ctx context.Context, must bool) error {
	t, err := newTransfer(ctx, c.record.Top, c.Tree())
	if err != nil {
		return err
	}
	defer t.close()
	for _, p := range append(c.record.Link[:len(c.record.Link):len(c.record.Link)], c.record.Copied...) {
		room, err := t.room(p)
		if err != nil {
			return err
		}
		switch {
		case !room && must:
			return fault.New(fault.Usage, "%s cannot be linked or copied: something else stands in its place in the copy", tree.Quote(p))
		case !room:
		case slices.Contains(c.record.Link, p):
			err = t.to.Symlink(filepath.Join(c.record.Top, filepath.FromSlash(p)), p)
		default:
			err = t.all(p)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", tree.Quote(p), err)
		}
	}
	return nil
}

// room makes the directories above a path of the target and reports whether the path is free.
func (t *transfer) room(p string) (bool, error) {
	at := ""
	for part := range strings.SplitSeq(p, "/") {
		at = path.Join(at, part)
		fi, err := t.to.Lstat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist) && at != p:
			err = t.to.Mkdir(at, 0o755)
		case errors.Is(err, fs.ErrNotExist):
			return true, nil
		case err == nil && !fi.IsDir():
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	return false, nil
}
