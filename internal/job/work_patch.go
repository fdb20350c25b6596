package job

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"opencode-delegate/internal/atomicfile"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/proc"
	"opencode-delegate/internal/record"
	"opencode-delegate/internal/worktree"
)

// PatchLimit bounds a patch, in bytes.
const PatchLimit = 256 << 20

// Patch opens what a job has changed, as git's patch, byte by byte, secrets included. What a job that died has left in its copy is fixed for it first. A
// job that has left nothing is a fault NOT_FOUND.
func (s *Store) Patch(ctx context.Context, id string, environ []string) (*os.File, error) {
	v, err := s.Look(ctx, id)
	if err != nil {
		return nil, err
	}
	w, err := s.Work(v)
	if err != nil {
		return nil, err
	}
	if f, err := w.openPatch(); !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	if w.Chosen == 0 && w.Fate != InPlace && w.Fate != Undone {
		return nil, w.none()
	}
	w, unlock, err := s.landing(ctx, id)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := w.keepPatch(ctx, environ); err != nil {
		return nil, err
	}
	return w.openPatch()
}

// openPatch opens the patch that the record has; fs.ErrNotExist when it has none.
func (w Work) openPatch() (*os.File, error) {
	f, err := record.OpenFile(w.rec.File(record.Patch))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fs.ErrNotExist
	}
	if err != nil {
		return nil, fault.New(fault.JobLost, "the patch of job %s cannot be read: %w", w.ID, bare(err))
	}
	if fi, err := f.Stat(); err == nil && fi.Size() > PatchLimit {
		f.Close()
		return nil, fault.New(fault.JobLost, "the patch of job %s has more than %d bytes: %s", w.ID, PatchLimit, w.rec.File(record.Patch))
	}
	return f, nil
}

// keepPatch makes the patch where the run could not. record.lock has to be held.
func (w Work) keepPatch(ctx context.Context, environ []string) error {
	if exists(w.rec.File(record.Patch)) {
		return nil
	}
	var base, after *worktree.Snapshot
	var err error
	if w.Chosen == 0 {
		base, after, err = w.sides()
	} else {
		var c *worktree.Copy
		if c, after, err = w.fixed(ctx, environ); err == nil {
			base = c.Base()
		}
	}
	if err != nil {
		return err
	}
	f, err := atomicfile.Create(w.rec.File(record.Patch), 0o600)
	if err != nil {
		return fault.New(fault.RunFailed, "the patch of job %s: %w", w.ID, err)
	}
	if err := worktree.Patch(ctx, base, after, f, PatchLimit); err != nil {
		f.Abort()
		return err
	}
	return f.Commit()
}

// toLand is what [Work.fixed] is, for a work tree that is there.
func (w Work) toLand(ctx context.Context, environ []string) (*worktree.Copy, *worktree.Snapshot, error) {
	c, err := w.copyOf(w.Chosen)
	if err == nil {
		err = w.gone(c)
	}
	if err != nil {
		return nil, nil, err
	}
	_ = w.keepPatch(ctx, environ) // one that is too large cannot be kept, and lands all the same
	return w.fixed(ctx, environ)
}

// sides are what was there before a run in place, and at its end.
func (w Work) sides() (before, after *worktree.Snapshot, err error) {
	if before, err = worktree.Open(w.rec.File(record.Undo)); err == nil {
		after, err = worktree.Open(w.rec.File(afterName))
	}
	if err != nil {
		return nil, nil, fault.New(fault.NotFound, "what job %s has changed was not kept: it ended before that", w.ID).With("oc-job undo " + w.ID + " takes back what is there now")
	}
	return before, after, nil
}

// The result of a try, and what becomes it in one step; package delegate makes them.
const (
	afterName = "after"
	freshName = "after.new"
)

// fixed is the copy of the chosen try, and what the worker has made in it. Of a job that died, which has no patch, it is fixed now: nobody works in the copy any
// more, and what was fixed before a repair may be less. record.lock has to be held.
func (w Work) fixed(ctx context.Context, environ []string) (*worktree.Copy, *worktree.Snapshot, error) {
	c, err := w.copyOf(w.Chosen)
	if err != nil {
		return nil, nil, err
	}
	kept, fresh := filepath.Join(w.place(w.Chosen), afterName), filepath.Join(w.place(w.Chosen), freshName)
	if exists(w.rec.File(record.Patch)) {
		after, err := worktree.Open(kept)
		if err != nil {
			return nil, nil, fault.New(fault.JobLost, "the work of job %s: %w", w.ID, err)
		}
		return c, after, nil
	}
	if left := proc.Marked(w.ID); len(left) > 0 {
		return nil, nil, fault.New(fault.RunFailed, "processes of job %s still live, and may change its copy", w.ID).With("oc-job doctor --fix ends them")
	}
	if after, err := worktree.Open(kept); err == nil && w.gone(c) != nil { // and with it the objects that tell what is ignored
		return c, after, nil
	}
	err = removeTree(fresh) // half of one
	if err == nil {
		_, err = c.Result(ctx, fresh, environ)
	}
	if err == nil {
		err = removeTree(kept)
	}
	if err == nil {
		err = os.Rename(fresh, kept)
	}
	if err != nil {
		return nil, nil, fault.New(fault.Of(err).Kind, "the work of job %s: %w", w.ID, err)
	}
	after, err := worktree.Open(kept)
	return c, after, err
}

// Counts is what the patch does to each file, in its order.
func (s *Store) Counts(ctx context.Context, id string, environ []string) ([]worktree.Count, error) {
	f, err := s.Patch(ctx, id, environ)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return worktree.Counts(ctx, io.LimitReader(f, PatchLimit))
}
