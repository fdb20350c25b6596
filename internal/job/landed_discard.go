package job

import (
	"context"
	"os"

	"opencode-delegate/internal/crashpoint"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/record"
	"opencode-delegate/internal/worktree"
)

// Discard removes the copies of an isolated job and its ref. The record, the result and the patch stay. again tells that this had been done before. A Discard that was
// cut off goes on.
func (s *Store) Discard(ctx context.Context, id string, c Call) (w Work, again bool, err error) {
	w, unlock, err := s.landing(ctx, id)
	if err != nil {
		return w, false, err
	}
	defer unlock()
	switch {
	case w.Fate == Discarded:
		return w, true, nil
	case !w.Isolated:
		f := fault.New(fault.Usage, "job %s was not isolated: it has no copy to discard", id)
		if w.Fate == InPlace {
			f = f.With("oc-job undo " + id + " takes back what it changed")
		}
		return w, false, f
	case w.Fate == CutOff && w.Landed.What != Discarded && !c.Force:
		return w, false, fault.New(fault.Usage, "something was begun with the work of job %s and cut off", id).
			With("oc-job "+verbOf(w.Landed.What)+" "+id+" goes on with it", "--force discards the work all the same; what has landed of it stays")
	}
	if w.Chosen != 0 && w.Landed.What != Discarded {
		if err := w.keepPatch(ctx, c.Environ); err != nil && !c.Force {
			return w, false, fault.New(fault.RunFailed, "the work of job %s cannot be kept as a patch before it goes: %w", id, err).With("--force discards it all the same")
		}
	}
	l := Landed{What: Discarded, At: c.Now, By: c.By}
	if was := w.Landed; was.at() == Applied || was.at() == Merged { // which stays, and can still be undone
		l.Of, l.Dir, l.Commit, l.Index, l.Conflicts = was.at(), was.Dir, was.Commit, was.Index, was.Conflicts
	}
	if err := s.keepLanded(id, l); err != nil {
		return w, false, err
	}
	if err := s.releaseRef(ctx, id); err != nil {
		return w, false, err
	}
	for _, n := range w.Tries {
		if err := worktree.RemovePlace(w.place(n)); err != nil {
			return w, false, fault.New(fault.RunFailed, "the copy of job %s cannot be removed: %w", id, err).With("what there is lies in " + w.place(n))
		}
		crashpoint.Here("discarded", w.place(n))
	}
	os.Remove(w.rec.File(record.Copies)) // what else is in it is not ours
	l.Done = true
	w.Landed, w.Fate = l, Discarded
	return w, false, s.keepLanded(id, l)
}
