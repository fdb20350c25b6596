package job

import (
	"context"
	"os"
	"time"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/plain"
	"opencode-delegate/internal/record"
	"opencode-delegate/internal/worktree"
)

// A Call is who does something with the work of a job, and how.
type Call struct {
	By      string // the caller
	Environ []string
	Now     time.Time
	Force   bool // although the verdict speaks against it, or files have changed

	Index   bool   // Apply: what lands is staged too
	Commit  bool   // Apply: a commit is made of it
	Message string // of that commit, or of the one that Merge makes of what the worker did not commit; empty: one of ours

	History bool // Undo: HEAD, refs, index and stash too
	// Cage is closed around the git that looks at old commits for that.
	Cage worktree.Cage
}

// message is that of a commit of ours.
func (c Call) message(v View) string {
	if c.Message != "" {
		return c.Message
	}
	return plain.Line(v.Task, 72) + "\n\nThe work of job " + v.ID + "\n"
}

// Apply brings the work of an isolated job into the user's files. What both have changed is merged, and what cannot be is named in Conflicts; the rest lands. It is undone by
// Undo. A job whose verdict is neither pass nor none needs Force. Work that has landed before is left alone: again is true, and what comes back tells of that time. An
// Apply that was cut off goes on.
func (s *Store) Apply(ctx context.Context, id string, c Call) (l Landed, again bool, err error) {
	w, unlock, err := s.landing(ctx, id)
	if err != nil {
		return l, false, err
	}
	defer unlock()
	if again, err := w.mayLand(Applied); err != nil || again {
		return w.Landed, again, err
	}
	goesOn := w.Fate == CutOff
	if !goesOn && !c.Force {
		if err := s.approved(w); err != nil {
			return l, false, err
		}
	}
	from, after, err := w.toLand(ctx, c.Environ)
	if err != nil {
		return l, false, err
	}
	save := w.rec.File(record.Apply)
	if _, err := worktree.Open(save); !goesOn || err != nil && fault.Of(err).Kind == fault.NotFound {
		if err := removeTree(save); err != nil { // of a landing that was undone, or half of one
			return l, false, fault.New(fault.RunFailed, "job %s: %w", id, err)
		}
	}
	before := w.Landed
	l = Landed{What: Applied, At: c.Now, By: c.By, Dir: from.Top(), Try: w.Chosen, Index: c.Index}
	if err := s.keepLanded(id, l); err != nil {
		return l, false, err
	}
	o := worktree.LandOptions{Options: worktree.Options{Environ: c.Environ}, Index: c.Index}
	if c.Commit {
		o.Message = c.message(w.view)
	}
	done, err := worktree.Land(ctx, from.Base(), after, from.Top(), save, o)
	if err != nil {
		if _, oerr := worktree.Open(save); oerr != nil { // nothing was changed
			s.takeBack(id, before)
		}
		return l, false, err
	}
	l.Done, l.Files, l.Changed, l.Commit = true, done.Changed, len(done.Changed), done.Commit
	for _, k := range done.Conflicts {
		l.Conflicts = append(l.Conflicts, Clash(k))
	}
	return l, false, s.keepLanded(id, l)
}

// takeBack writes again what was done before something was begun that came to nothing.
func (s *Store) takeBack(id string, before Landed) {
	if before.What == NoWork {
		os.Remove(s.Record(id).File(record.Landed))
		return
	}
	_ = s.keepLanded(id, before)
}

// mayLand reports whether work can land as what; again tells that it has.
func (w Work) mayLand(what Fate) (again bool, err error) {
	switch l := w.Landed; {
	case l.What == Discarded:
		return false, w.none()
	case w.Fate == CutOff && l.What != what:
		return false, fault.New(fault.Usage, "something else was begun with the work of job %s and cut off", w.ID).With("oc-job " + verbOf(l.What) + " " + w.ID + " goes on with it")
	case l.Done && (l.What == Applied || l.What == Merged):
		return true, nil
	case !w.Isolated && (w.Fate == InPlace || w.Fate == Undone):
		return false, fault.New(fault.Usage, "job %s wrote in place: there is nothing to land", w.ID).With("oc-job diff " + w.ID + " shows what it changed, oc-job undo " + w.ID + " takes it back")
	case w.Chosen == 0:
		return false, w.none()
	}
	return false, nil
}

// verbOf is the verb that ends so.
func verbOf(f Fate) string {
	switch f {
	case Merged:
		return "merge"
	case Discarded:
		return "discard"
	case Undone:
		return "undo"
	}
	return "apply"
}

// Approved reports whether the work of an isolated job can land without force: our own checks have found it good, or there were none, and it broke no rule.
func (s *Store) Approved(v View) bool { return s.approved(Work{ID: v.ID, view: v}) == nil }

// approved refuses work that our own checks have not found good, or whose job broke a rule.
func (s *Store) approved(w Work) error {
	f := fault.New(fault.VerifyFailed, "the work of job %s is not approved: ", w.ID).With("oc-job diff "+w.ID+" shows it", "--force lands it all the same")
	res, err := s.ReadResult(w.ID)
	asked := true // where nobody can tell
	if req, rerr := s.ReadRequest(w.ID); rerr == nil {
		c := req.Checks
		asked = len(c.Verify)+len(c.ExpectFile)+len(c.ExpectSchema)+len(c.AllowPath)+len(c.ForbidPath) > 0 || c.MaxDiff > 0
	}
	switch verdict := res.Verification.Verdict; {
	case err != nil:
		f.Reason += "its result cannot be read"
	case res.Status == fault.WriteViolation || res.Status == fault.VerifyFailed:
		f.Kind, f.Reason = res.Status, f.Reason+res.Reason
	case verdict == "pass" || verdict == "none" && !asked || verdict == "none" && res.Status == fault.OK:
		return nil
	case verdict == "none" || verdict == "":
		f.Reason += "it " + w.view.State.State.Sentence() + " before it was checked"
	default:
		f.Reason += "the verdict is " + verdict
	}
	return f
}
