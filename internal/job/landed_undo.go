package job

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/record"
	"opencode-delegate/internal/worktree"
)

// An Undoing is what Undo did.
type Undoing struct {
	Landed
	Past   []string // parts of the repository that are as before again: refs, HEAD, the index
	Stayed []string // directories that hold something else and were not removed
	Saved  string   // path of the snapshot of what was there before; empty = none was asked for
}

// Undo takes the work of a job out of the user's files again: what a run has changed in place, or what Apply has brought. A file that has changed
// since is a fault CONFLICT that names it, and nothing is touched; with Force it is undone too, and what was there is kept in the record. again tells that it was undone
// before. An Undo that was cut off goes on.
func (s *Store) Undo(ctx context.Context, id string, c Call) (u Undoing, again bool, err error) {
	w, unlock, err := s.landing(ctx, id)
	if err != nil {
		return u, false, err
	}
	defer unlock()
	l := w.Landed
	what, of := record.Undo, InPlace
	switch at := l.at(); {
	case at == Undone && l.Done && !(c.History && l.Of == InPlace && !l.Past):
		return Undoing{Landed: l, Saved: w.saved(l)}, true, nil
	case at == Undone && l.Of == Applied:
		what, of = record.Apply, Applied
	case at == Undone:
	case at == Applied && l.Commit != "":
		return u, false, fault.New(fault.Usage, "the work of job %s was committed as %.12s, and a commit is not undone by files", id, l.Commit).
			With(fmt.Sprintf("git -C %s revert %.12s", l.Dir, l.Commit))
	case at == Applied:
		what, of = record.Apply, Applied
	case at == Merged:
		return u, false, fault.New(fault.Usage, "the work of job %s was merged as %.12s, and a merge is not undone by files", id, l.Commit).
			With(fmt.Sprintf("git -C %s reset --keep ORIG_HEAD takes it back as long as nothing has come after it", l.Dir))
	case w.Isolated:
		return u, false, fault.New(fault.NotFound, "the work of job %s has not landed: there is nothing to undo", id).With("oc-job discard " + id + " gives it up")
	case !isDirectory(w.rec.File(record.Undo)):
		return u, false, w.none()
	}
	before, err := worktree.Open(w.rec.File(what))
	if err != nil {
		return u, false, fault.New(fault.JobLost, "what was there before the work of job %s: %w", id, err)
	}
	if root := w.view.Dir; !within(before.Dir(), root) && !within(root, before.Dir()) {
		return u, false, fault.New(fault.JobLost, "what is kept of job %s is of %s, and the job worked for %s", id, before.Dir(), root)
	}
	n := Landed{What: Undone, Of: of, At: c.Now, By: c.By, Dir: before.Dir(), Index: l.Index, Saved: l.Saved}
	undo := worktree.Undo{Force: c.Force, Git: worktree.HistoryOptions{Environ: c.Environ, Cage: c.Cage}}
	undo.History = c.History && of == InPlace // what lands touches no history
	n.Past = undo.History
	if c.Force {
		if n.Saved, err = w.savePlace(); err != nil {
			return u, false, err
		}
		undo.Save = w.rec.File(n.Saved)
		if kept := w.saved(l); halfUndone(l) && kept != "" {
			if _, err := worktree.Open(kept); err == nil {
				n.Saved = l.Saved // which has what was there before the first of them
			}
		}
	}
	if err := s.keepLanded(id, n); err != nil {
		return u, false, err
	}
	done, err := before.Restore(ctx, undo)
	if err != nil {
		if fault.Of(err).Kind == fault.Conflict || len(done.Changed)+len(done.History) == 0 && !halfUndone(l) { // nothing was touched
			s.takeBack(id, l)
		}
		return u, false, err
	}
	n.Done, n.Files, n.Changed = true, done.Changed, len(done.Changed)
	u = Undoing{Landed: n, Past: done.History, Stayed: done.Stayed, Saved: w.saved(n)}
	return u, false, s.keepLanded(id, n)
}

// halfUndone reports whether an undo was under way.
func halfUndone(l Landed) bool { return l.What == Undone && !l.Done }

const (
	// savePrefix begins the name of a snapshot of what was there before an undo by force.
	savePrefix = "before-undo-"
	// maxSaves bounds them.
	maxSaves = 100
)

// savePlace is a name in the record at which nothing is.
func (w Work) savePlace() (string, error) {
	for n := range maxSaves {
		if name := savePrefix + strconv.Itoa(n+1); !exists(w.rec.File(name)) {
			return name, nil
		}
	}
	return "", fault.New(fault.Usage, "job %s was undone by force %d times already, and each time what was there was kept: remove some of it from %s", w.ID, maxSaves, w.rec.Path())
}

// saved is the path of what was kept before an undo; empty when nothing was.
func (w Work) saved(l Landed) string {
	if !strings.HasPrefix(l.Saved, savePrefix) || filepath.Base(l.Saved) != l.Saved {
		return ""
	}
	return w.rec.File(l.Saved)
}
