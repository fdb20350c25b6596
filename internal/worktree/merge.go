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
	"slices"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/tree"
)

// A Landing says what Apply did.
type Landing struct {
	Changed   []string // paths that were changed, sorted; those with markers are among them
	Same      int      // changes that were there already
	Conflicts []Clash  // sorted by path
}

// A Clash is a path that both sides have changed. With Markers the file holds both versions; otherwise it is as the user left it.
type Clash struct {
	Path    string
	Why     string
	Markers bool
}

// maxMerge is the largest file that is merged by lines, in bytes.
const maxMerge = 16 << 20

// Apply brings what differs between base and after, two snapshots of one tree, into dir, another tree that began as base. A file that is there as in base becomes the one
// of after; of a mode only the executable bit is brought, of directories nothing but that they are needed. A file that is neither as in base nor
// as in after is merged by lines; where that fails it is in Conflicts, and the rest lands. save is a directory that is made for a snapshot of dir
// before anything is changed; with its End recorded it undoes the landing. Nothing in a .git is touched or asked.
//
// An Apply that was cut off can be repeated with the same save, and goes on: what it decides comes from that snapshot.
func Apply(ctx context.Context, base, after *Snapshot, dir, save string, o Options) (Landing, error) {
	before, again, err := begin(ctx, dir, save, o)
	if err != nil {
		return Landing{}, err
	}
	m, err := newMerger(ctx, before)
	if err != nil {
		return Landing{}, err
	}
	defer m.close()
	for _, c := range changes(base, after) {
		if err = m.decide(c); err != nil {
			break
		}
	}
	if err == nil && again {
		err = m.goOn()
	}
	if err == nil {
		err = m.carryOut()
	}
	slices.Sort(m.done.Changed)
	slices.SortFunc(m.done.Conflicts, func(a, b Clash) int { return cmp.Compare(a.Path, b.Path) })
	err = errors.Join(err, before.endWith(ctx, m.done.Changed))
	if err != nil {
		return m.done, fmt.Errorf("apply in %s, which %s can undo: %w", dir, save, err)
	}
	return m.done, nil
}

// A merger decides about each path first and changes the tree then.
type merger struct {
	ctx     context.Context
	ours    *Snapshot
	scratch string
	fresh   fs.FileMode // what the umask leaves of the mode of a new file or program
	merges  int         // how many files were merged by lines
	steps   []landStep
	done    Landing
}

// A landStep makes a path what is in a snapshot, or in a file.
type landStep struct {
	path   string
	is     *entry // nil: nothing
	from   *Snapshot
	merged string // the file that holds the content, when lines were merged
	mode   fs.FileMode
}

func newMerger(ctx context.Context, ours *Snapshot) (*merger, error) {
	scratch, err := os.MkdirTemp("", "oc-delegate-git-*")
	if err == nil {
		err = emptyRepository(scratch, "")
	}
	if err != nil {
		return nil, fault.New(fault.Usage, "no temporary directory: %w", err).With("set TMPDIR to a directory that you can write")
	}
	m := &merger{ctx: ctx, ours: ours, scratch: scratch}
	if m.fresh, err = freshMode(filepath.Join(scratch, "mode")); err != nil {
		m.close()
		return nil, err
	}
	return m, nil
}

// freshMode makes a program, to see what the umask leaves of its mode: to ask for the umask is to change it for the whole process.
func freshMode(file string) (fs.FileMode, error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o777)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return fi.Mode().Perm() | 0o600, nil
}

func (m *merger) close() { os.RemoveAll(m.scratch) }

func (m *merger) clash(c change, markers bool, format string, args ...any) {
	m.done.Conflicts = append(m.done.Conflicts, Clash{c.path, fmt.Sprintf(format, args...), markers})
}

// decide finds out what happens to one path.
func (m *merger) decide(c change) error {
	here := m.ours.list.find(c.path)
	for _, h := range m.ours.list.holes {
		if !h.git && within(filepath.FromSlash(h.Path), filepath.FromSlash(c.path)) {
			m.clash(c, false, "here it is not covered: %s", h.Why)
			return nil
		}
	}
	switch {
	case c.is != nil && m.under(c.path) != "":
		m.clash(c, false, "here %s is no directory", tree.Quote(m.under(c.path)))
	case isDir(here) && c.is != nil && !m.emptied(c):
		m.clash(c, false, "here it is a directory with other files in it")
	case samePatch(leafOf(here), c.is):
		m.done.Same++
	case samePatch(leafOf(here), c.was):
		m.steps = append(m.steps, landStep{path: c.path, is: c.is, from: c.after, mode: m.landMode(c, leafOf(here))})
	case here == nil:
		m.clash(c, false, "deleted here, changed there")
	case c.is == nil:
		m.clash(c, false, "changed here, deleted there")
	case c.is.mode.IsRegular() && here.mode.IsRegular():
		return m.lines(c, here)
	case c.is.mode.Type() == here.mode.Type():
		m.clash(c, false, "a link that leads elsewhere here than there")
	default:
		m.clash(c, false, "a file here, a link there or the reverse")
	}
	return nil
}

func leafOf(e *entry) *entry {
	if isDir(e) {
		return nil
	}
	return e
}

// under is the first of the paths above one that is a file or a link here and stays.
func (m *merger) under(p string) string {
	for up := path.Dir(p); up != "."; up = path.Dir(up) {
		goes := func(s landStep) bool { return s.path == up && s.is == nil }
		if e := m.ours.list.find(up); e != nil && !isDir(e) && !slices.ContainsFunc(m.steps, goes) {
			return up
		}
	}
	return ""
}

// emptied reports whether a directory holds only files that go with the change that puts a file or link in its place.
func (m *merger) emptied(c change) bool {
	for i := range m.ours.list.entries {
		e := &m.ours.list.entries[i]
		if !within(c.path, e.path) || e.mode.IsDir() {
			continue
		}
		if was := c.base.list.leaf(e.path); was == nil || !samePatch(was, e) || c.after.list.leaf(e.path) != nil {
			return false
		}
	}
	return !slices.ContainsFunc(m.ours.list.holes, func(h Hole) bool { return within(c.path, h.Path) })
}

// landMode is the mode of a file that lands: as it is here, or usual, with the executable bit of there.
func (m *merger) landMode(c change, here *entry) fs.FileMode {
	mode := m.fresh &^ 0o111
	if here != nil && here.mode.IsRegular() {
		mode = here.mode
	}
	if c.is == nil || c.is.mode&executable == 0 {
		return mode &^ 0o111
	}
	return mode | mode&0o444>>2
}

// lines merges a file by lines.
func (m *merger) lines(c change, here *entry) error {
	was := c.was
	if was == nil || !was.mode.IsRegular() {
		m.clash(c, false, "made on both sides, with different contents")
		return nil
	}
	if max(here.size, was.size, c.is.size) > maxMerge {
		m.clash(c, false, "changed on both sides, and too large to be merged by lines")
		return nil
	}
	mode := here.mode
	if was.mode&executable != c.is.mode&executable {
		mode = m.landMode(c, here)
	}
	step := landStep{path: c.path, is: c.is, from: c.after, mode: mode}
	switch {
	case was.sum == c.is.sum: // only the mode was changed there
		step.is, step.from = here, m.ours
	case was.sum != here.sum:
		merged, code, err := m.mergeFile(c, here)
		switch {
		case err != nil:
			return err
		case code > 127:
			m.clash(c, false, "binary, and changed on both sides")
			return nil
		case code > 0:
			m.clash(c, true, "changed on both sides in the same place")
		}
		step.merged = merged
	}
	m.steps = append(m.steps, step)
	return nil
}

// mergeFile runs git merge-file on copies of our own, and returns the file with the outcome and the exit code.
func (m *merger) mergeFile(c change, here *entry) (merged string, code int, err error) {
	m.merges++
	at := filepath.Join(m.scratch, fmt.Sprint(m.merges))
	names := []string{at + ".here", at + ".base", at + ".there"}
	for i, side := range []struct {
		s *Snapshot
		e *entry
	}{{m.ours, here}, {c.base, c.was}, {c.after, c.is}} {
		if err := side.s.extract(m.ctx, side.e, names[i]); err != nil {
			return "", 0, err
		}
	}
	merged = at + ".merged"
	out, err := os.OpenFile(merged, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", 0, err
	}
	defer out.Close()
	err = runGit(m.ctx, m.scratch, ownEnv(m.scratch), nil, func(r io.Reader) error { _, err := io.Copy(out, r); return err },
		"merge-file", "-p", "-q", "-L", "here", "-L", "base", "-L", "there", names[0], names[1], names[2])
	if said := (*refusal)(nil); errors.As(err, &said) {
		return merged, said.code, nil
	}
	return merged, 0, err
}

// extract writes a kept content to a new file.
func (s *Snapshot) extract(ctx context.Context, e *entry, name string) error {
	kept, err := os.Open(filepath.Join(s.store, contentsName))
	if err != nil {
		return err
	}
	defer kept.Close()
	out, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, untilDone(ctx, readContent(kept, *e)))
	return errors.Join(err, out.Close())
}

// carryOut removes what goes, from the depth upward, with directories that this leaves empty, and then places the rest.
func (m *merger) carryOut() error {
	root, err := os.OpenRoot(m.ours.list.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	p := &placer{ctx: m.ctx, root: root, modes: map[string]fs.FileMode{}}
	for _, s := range slices.Backward(m.steps) {
		here := m.ours.list.find(s.path)
		if here != nil && !isDir(here) && (s.is == nil || s.is.mode.Type() != here.mode.Type()) {
			if _, err := p.remove(step{path: s.path, now: here}); err != nil {
				return err
			}
			m.prune(p, path.Dir(s.path))
		}
	}
	for _, s := range m.steps {
		if s.is != nil {
			if err := m.land(p, s); err != nil {
				return err
			}
		}
		m.done.Changed = append(m.done.Changed, s.path)
	}
	return p.settle()
}

// prune removes directories that are empty now.
func (m *merger) prune(p *placer, dir string) {
	for ; dir != "."; dir = path.Dir(dir) {
		if p.root.Remove(dir) != nil {
			return
		}
		delete(p.modes, dir)
	}
}

func (m *merger) land(p *placer, s landStep) error {
	if err := p.room(s.path); err != nil {
		return err
	}
	t := step{path: s.path, was: s.is}
	if s.is.mode.Type() == fs.ModeSymlink {
		return p.replace(t, func(tmp string) error { return p.root.Symlink(s.is.target, tmp) })
	}
	if s.merged != "" {
		in, err := os.Open(s.merged)
		if err != nil {
			return err
		}
		defer in.Close()
		return p.replace(t, func(tmp string) error { return p.fill(tmp, in, s.mode) })
	}
	kept, err := os.Open(filepath.Join(s.from.store, contentsName))
	if err != nil {
		return err
	}
	defer kept.Close()
	return p.replace(t, func(tmp string) error { return p.fill(tmp, readContent(kept, *s.is), s.mode) })
}
