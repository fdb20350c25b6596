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
	"path/filepath"
	"slices"
	"strings"
	"time"

	"opencode-delegate/internal/tree"
)

// Put makes paths in dir, which may be another tree than that of the snapshot, what they are in it: a file, a link, or nothing. Directories
// are made where a path needs them and are left otherwise. Nothing is followed out of dir.
func (s *Snapshot) Put(ctx context.Context, dir string, paths []string) error {
	return s.put(ctx, dir, paths, nil)
}

// PutBack is Put for the paths that are as other has them, and an error that names the first one that somebody has changed since.
func (s *Snapshot) PutBack(ctx context.Context, dir string, paths []string, other *Snapshot) error {
	return s.put(ctx, dir, paths, other)
}

func (s *Snapshot) put(ctx context.Context, dir string, paths []string, other *Snapshot) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	kept, err := os.Open(filepath.Join(s.store, contentsName))
	if err != nil {
		return err
	}
	defer kept.Close()
	p := &placer{ctx: ctx, root: root, kept: kept, modes: map[string]fs.FileMode{}}
	var changed error
	// What is to go goes first: a file can take the place of a directory of which everything goes, and the other way round.
	names := slices.Sorted(slices.Values(paths))
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(s.rank(a), s.rank(b)) })
	for _, name := range names {
		if !fs.ValidPath(strings.ToValidUTF8(name, "_")) || slices.ContainsFunc(strings.Split(name, "/"), isDotGit) {
			return fmt.Errorf("%s is no path of a snapshot", tree.Quote(name))
		}
		if other != nil && !other.holds(ctx, root, name) {
			if changed == nil {
				changed = fmt.Errorf("%s was changed meanwhile", tree.Quote(name))
			}
			continue
		}
		if err := s.putOne(p, name); err != nil {
			return fmt.Errorf("%s: %w", tree.Quote(name), err)
		}
	}
	return errors.Join(p.settle(), changed)
}

// rank orders what is to go before what is to come.
func (s *Snapshot) rank(name string) int {
	if s.list.leaf(name) == nil {
		return 0
	}
	return 1
}

func (s *Snapshot) putOne(p *placer, name string) error {
	e := s.list.leaf(name)
	if e != nil {
		if err := p.room(name); err != nil {
			return err
		}
		return p.place(step{path: name, was: e})
	}
	fi, err := p.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && fi.IsDir() {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = p.remove(step{path: name, now: &entry{path: name, mode: fi.Mode()}})
	return err
}

// Altered are the paths that somebody has changed, made or removed in dir since then: on the disk they are not as the snapshot has them.
func (s *Snapshot) Altered(ctx context.Context, dir string, paths []string, since time.Time) ([]string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var altered []string
	for _, name := range paths {
		if fi, err := root.Lstat(name); err == nil && fi.Mode().IsRegular() {
			if at, _, known := tree.ChangeTime(fi); known && at < since.Add(-unsettled).UnixNano() {
				continue
			}
		}
		if !s.holds(ctx, root, name) {
			altered = append(altered, name)
		}
	}
	return altered, context.Cause(ctx)
}

// holds reports whether a path is on the disk as the snapshot has it.
func (s *Snapshot) holds(ctx context.Context, root *os.Root, name string) bool {
	e := s.list.leaf(name)
	fi, err := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return e == nil
	case err == nil && e == nil && fi.IsDir():
		return true // only an empty one is replaced
	case err != nil || e == nil || fi.Mode().Type() != e.mode.Type():
		return false
	case e.mode.Type() == fs.ModeSymlink:
		target, err := root.Readlink(name)
		return err == nil && target == e.target
	}
	f, err := root.OpenFile(name, os.O_RDONLY|openNoBlock, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(untilDone(ctx, f), e.size+1))
	return err == nil && n == e.size && [sha256.Size]byte(h.Sum(nil)) == e.sum
}
