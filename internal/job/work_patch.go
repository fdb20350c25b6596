package job

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"

	"opencode-delegate/internal/atomicfile"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/proc"
	"opencode-delegate/internal/record"
	"opencode-delegate/internal/worktree"
)

// PatchLimit bounds a patch, in bytes.
const PatchLimit = 512 << 20

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
	if w.Chosen == 0 {
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

// keepPatch makes the patch of the chosen try where the run could not. record.lock has to be held.
func (w Work) keepPatch(ctx context.Context, environ []string) error {
	if exists(w.rec.File(record.Patch)) {
		return nil
	}
	c, after, err := w.fixed(ctx, environ)
	if err != nil {
		return err
	}
	f, err := atomicfile.Create(w.rec.File(record.Patch), 0o600)
	if err != nil {
		return fault.New(fault.RunFailed, "the patch of job %s: %w", w.ID, err)
	}
	if err := worktree.Patch(ctx, c.Base(), after, f, PatchLimit); err != nil {
		f.Abort()
		return err
	}
	return f.Commit()
}

// fixed is the copy of the chosen try, and what the worker has made in it. Of a job that died it is fixed now: nobody works in the copy any
// more. record.lock has to be held.
func (w Work) fixed(ctx context.Context, environ []string) (*worktree.Copy, *worktree.Snapshot, error) {
	c, err := w.copyOf(w.Chosen)
	if err != nil {
		return nil, nil, err
	}
	store := w.after(w.Chosen)
	after, err := worktree.Open(store)
	if err == nil {
		return c, after, nil
	}
	if fault.Of(err).Kind != fault.NotFound {
		return nil, nil, fault.New(fault.JobLost, "the work of job %s: %w", w.ID, err)
	}
	if left := proc.Marked(w.ID); len(left) > 0 {
		return nil, nil, fault.New(fault.RunFailed, "processes of job %s still live, and may change its copy", w.ID).With("oc-job doctor --fix ends them")
	}
	if err := removeTree(store); err != nil { // half of one
		return nil, nil, fault.New(fault.RunFailed, "the work of job %s: %w", w.ID, err)
	}
	after, err = c.Result(ctx, store, environ)
	return c, after, err
}

// after is where the result of a try is kept.
func (w Work) after(try int) string { return w.place(try) + string(os.PathSeparator) + "after" }

// Counts is what the patch does to each file, in its order.
func (s *Store) Counts(ctx context.Context, id string, environ []string) ([]worktree.Count, error) {
	f, err := s.Patch(ctx, id, environ)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return worktree.Counts(ctx, io.LimitReader(f, PatchLimit))
}
