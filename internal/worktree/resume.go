package worktree

import (
	"context"
	"crypto/sha256"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"

	"opencode-delegate/internal/fault"
)

// begin takes the snapshot that precedes a landing. One that is there already is that of a landing which was cut off: it is gone on from.
func begin(ctx context.Context, dir, save string, o Options) (before *Snapshot, again bool, err error) {
	before, err = Open(save)
	switch {
	case err != nil && fault.Of(err).Kind == fault.NotFound:
		before, err = Take(ctx, dir, save, o)
		return before, false, err
	case err != nil:
		return nil, false, err
	}
	real, _, err := places(dir, save)
	if err == nil && real != before.list.dir {
		err = fault.New(fault.Usage, "%s was begun in %s, not in %s", save, before.list.dir, real)
	}
	return before, true, err
}

// goOn takes out of the steps what is done already, and what somebody else has changed since: that is a conflict.
func (m *merger) goOn() error {
	now, err := m.ours.now(m.ctx)
	if err != nil {
		return err
	}
	var left []landStep
	for _, s := range m.steps {
		here := now.leaf(s.path)
		done, err := s.landed(here)
		switch {
		case err != nil:
			return err
		case done:
			m.done.Changed = append(m.done.Changed, s.path)
		case samePatch(here, m.ours.list.leaf(s.path)), here == nil && halfway(s.is, m.ours.list.leaf(s.path), nil):
			left = append(left, s)
		default:
			m.done.Conflicts = slices.DeleteFunc(m.done.Conflicts, func(c Clash) bool { return c.Path == s.path })
			m.done.Conflicts = append(m.done.Conflicts, Clash{s.path, "changed here since the landing was cut off", false})
		}
	}
	m.steps = left
	return nil
}

// endWith records as the end what the landing has made, and of all else what was there before: what somebody else changes meanwhile is
// not undone with it.
func (s *Snapshot) endWith(ctx context.Context, changed []string) error {
	now, err := s.now(ctx)
	if err != nil {
		return err
	}
	ours := map[string]bool{}
	for _, p := range changed {
		for ; p != "."; p = path.Dir(p) {
			ours[p] = true
		}
	}
	end := now
	end.entries = nil
	for _, p := range allPaths(s.list, now) {
		from := s.list
		// With a directory that gave way to a file went the empty ones in it.
		if up := path.Dir(p); ours[p] || ours[up] && !isDir(now.find(up)) {
			from, ours[p] = now, true
		}
		if e := from.find(p); e != nil {
			end.entries = append(end.entries, *e)
		}
	}
	return writeList(filepath.Join(s.store, endName), end)
}

// landed reports whether a path is what the step makes of it.
func (s landStep) landed(here *entry) (bool, error) {
	if s.is == nil || here == nil || !s.is.mode.IsRegular() {
		return samePatch(here, s.is), nil
	}
	sum := s.is.sum
	if s.merged != "" {
		f, err := os.Open(s.merged)
		if err != nil {
			return false, err
		}
		defer f.Close()
		h := sha256.New()
		if _, err := io.Copy(h, f); err != nil {
			return false, err
		}
		sum = [sha256.Size]byte(h.Sum(nil))
	}
	return here.mode.IsRegular() && here.mode&executable == s.mode&executable && here.sum == sum, nil
}
