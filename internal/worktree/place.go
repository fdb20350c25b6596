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
	"slices"
	"strings"

	"opencode-delegate/internal/crashpoint"
	"opencode-delegate/internal/tree"
)

// A placer changes the work tree. It goes through no link: a directory of a path that has become one ends the work.
type placer struct {
	ctx   context.Context
	root  *os.Root
	kept  io.ReaderAt
	modes map[string]fs.FileMode // of directories, to be set at the end
}

// unfinished is the name under which a file is written before it takes its place. It is the same each time, so that
// a repetition after a crash leaves none behind.
const unfinished = ".oc-delegate-undo.tmp"

// reach checks that all directories of a path are directories, and makes the last one writable until settle.
func (p *placer) reach(name string) error {
	if err := p.ctx.Err(); err != nil {
		return context.Cause(p.ctx)
	}
	dir := path.Dir(name)
	if dir == "." {
		return nil
	}
	at := ""
	for part := range strings.SplitSeq(dir, "/") {
		at = path.Join(at, part)
		fi, err := p.root.Lstat(at)
		if err != nil {
			return err
		}
		if !fi.IsDir() {
			return fmt.Errorf("%s is no directory any more", tree.Quote(at))
		}
		if _, known := p.modes[at]; !known && fi.Mode().Perm()&0o700 != 0o700 {
			p.modes[at] = fi.Mode() & keptBits
			if err := p.root.Chmod(at, fi.Mode().Perm()|0o700); err != nil {
				return err
			}
		}
	}
	return nil
}

// remove takes a path away. A directory that holds what no list knows, a .git for instance, stays.
func (p *placer) remove(t step) (stays bool, err error) {
	if err := p.reach(t.path); err != nil {
		return false, err
	}
	err = p.root.Remove(t.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		crashpoint.Here("removed", t.path)
		delete(p.modes, t.path)
		return false, nil
	}
	if t.now.mode.IsDir() && t.was == nil && p.holds(t.path) {
		return true, nil
	}
	return false, err
}

// holds reports whether something is in a directory.
func (p *placer) holds(name string) bool {
	f, err := p.root.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	names, _ := f.Readdirnames(1)
	return len(names) > 0
}

// place makes a path what it was.
func (p *placer) place(t step) error {
	if err := p.reach(t.path); err != nil {
		return err
	}
	switch t.was.mode.Type() {
	case fs.ModeDir:
		err := p.root.Mkdir(t.path, 0o700)
		if fi, serr := p.root.Lstat(t.path); errors.Is(err, fs.ErrExist) && serr == nil && fi.IsDir() {
			err = nil
		}
		p.modes[t.path] = t.was.mode
		crashpoint.Here("made", t.path)
		return err
	case fs.ModeSymlink:
		return p.replace(t, func(tmp string) error { return p.root.Symlink(t.was.target, tmp) })
	}
	if t.now != nil && t.now.mode.IsRegular() && t.now.sum == t.was.sum {
		return p.root.Chmod(t.path, t.was.mode)
	}
	return p.replace(t, func(tmp string) error { return p.write(tmp, t.was) })
}

// replace puts something new in place in one step.
func (p *placer) replace(t step, make func(tmp string) error) error {
	tmp := path.Join(path.Dir(t.path), unfinished)
	if err := p.root.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err := make(tmp)
	crashpoint.Here("prepared", t.path)
	if err == nil {
		err = p.root.Rename(tmp, t.path)
	}
	crashpoint.Here("placed", t.path)
	if err != nil {
		p.root.Remove(tmp)
	}
	return err
}

func (p *placer) write(tmp string, e *entry) error {
	return p.fill(tmp, readContent(p.kept, *e), e.mode)
}

func (p *placer) fill(tmp string, content io.Reader, mode fs.FileMode) error {
	f, err := p.root.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, untilDone(p.ctx, content))
	if err == nil {
		err = f.Chmod(mode)
	}
	return cmp.Or(err, f.Close())
}

// room makes the directories of a path that are missing, and removes an empty directory in its place.
func (p *placer) room(name string) error {
	at := ""
	for part := range strings.SplitSeq(path.Dir(name), "/") {
		if at = path.Join(at, part); at == "." {
			break
		}
		if err := p.reach(at); err != nil {
			return err
		}
		if err := p.root.Mkdir(at, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	if err := p.reach(name); err != nil {
		return err
	}
	if fi, err := p.root.Lstat(name); err == nil && fi.IsDir() {
		return p.clear(name)
	}
	return nil
}

// clear removes a directory that holds nothing but empty directories.
func (p *placer) clear(name string) error {
	f, err := p.root.Open(name)
	if err != nil {
		return err
	}
	names, err := f.Readdirnames(-1)
	f.Close()
	if err != nil {
		return err
	}
	for _, n := range names {
		if fi, err := p.root.Lstat(path.Join(name, n)); err == nil && fi.IsDir() {
			if err := p.clear(path.Join(name, n)); err != nil {
				return err
			}
		}
	}
	return p.root.Remove(name)
}

// settle sets the modes of directories, the deepest first.
func (p *placer) settle() error {
	var dirs []string
	for d := range p.modes {
		dirs = append(dirs, d)
	}
	slices.Sort(dirs)
	for _, d := range slices.Backward(dirs) {
		if err := p.root.Chmod(d, p.modes[d]); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		crashpoint.Here("mode", d)
	}
	return nil
}
