package job

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"opencode-delegate/internal/crashpoint"
	"opencode-delegate/internal/delegate"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/journal"
	"opencode-delegate/internal/lock"
	"opencode-delegate/internal/proc"
	"opencode-delegate/internal/record"
	"opencode-delegate/internal/worktree"
)

// orphanGrace is the time between TERM and KILL for what a dead supervisor has left: nobody reads their output any more.
const orphanGrace = time.Second

// settle decides about a job that has no terminal state and whose lease nobody holds.
//
//	record.lock held   somebody starts it: it is what its state says; or decides about it: it is what becomes of it
//	result.json whole  its supervisor died on the last step: the result stands
//	marked             cancelled
//	else               lost
//
// What cannot be written down, since the disk is full or read-only, or because another reader was stopped while it decided, is decided
// all the same, for this reader. decided is false when another one holds the record, who may come to something else.
func (s *Store) settle(ctx context.Context, id string) (st State, decided bool, err error) {
	rec := s.Record(id)
	guard, err := lock.Try(rec.File(record.Lock))
	if errors.Is(err, lock.ErrHeld) {
		if st, err := readState(rec.Path(), id); err != nil || st.State.Terminal() || starting(st) {
			return st, true, err
		}
		inTime, cancel := context.WithTimeout(ctx, lockTime)
		guard, err = lock.Take(inTime, rec.File(record.Lock))
		cancel()
	}
	contested := errors.Is(err, lock.ErrHeld)
	if err == nil {
		defer guard.Release()
	}
	if st, err = readState(rec.Path(), id); errors.Is(err, fs.ErrNotExist) {
		st, err = s.stillborn(id)
	}
	if err != nil || st.State.Terminal() {
		return st, true, err
	}
	if held, err := lock.Held(rec.File(record.Lease)); err != nil || held {
		return st, false, nil
	}
	proc.Sweep(ctx, id, orphanGrace)
	res, err := s.ReadResult(id)
	left := err != nil
	if left {
		res = s.remains(st)
	}
	// Its supervisor may have come after all while this process was stopped: it looks again before each thing that it writes.
	held, err := lock.Held(rec.File(record.Lease))
	if err == nil && !held && left && guard != nil {
		_ = writeResult(rec, res)
		held, err = lock.Held(rec.File(record.Lease))
	}
	if err != nil || held {
		return st, false, nil
	}
	st.end(res)
	if guard == nil {
		// A reader that was stopped can come to nothing else; a starter can: it may have a supervisor yet.
		return st, !contested || st.Supervisor != nil, nil
	}
	unreserve(rec)
	_ = s.complete(ctx, st, res) // who cannot write there leaves the ledger without it, and decides all the same
	os.RemoveAll(rec.File(record.Tmp))
	crashpoint.Here("removed", rec.File(record.Tmp))
	if rec.WriteLast(record.State, st) == nil {
		s.deactivate(id)
	}
	return st, true, nil
}

// starting reports whether a job that has no supervisor yet is young enough for somebody to be starting one.
func starting(st State) bool {
	return st.Supervisor == nil && time.Since(st.CreatedAt) < startLimit+lockTime
}

// stillborn is the state of a record whose creation was cut off.
func (s *Store) stillborn(id string) (State, error) {
	made, err := birthOf(id)
	if err != nil {
		return State{}, err
	}
	if !exists(s.dir(id)) {
		return State{}, fs.ErrNotExist
	}
	st := State{Schema: Schema}
	// What it was to be is written before its state: its caller finds it in the list of the repository and can begin it again.
	if req, err := s.ReadRequest(id); err == nil {
		o := Order{Request: req}
		o.Prompt, _ = s.ReadPrompt(id)
		if l, err := s.ReadLaunch(id); err == nil {
			o.Launch = &l
		}
		st = o.state()
	}
	st.ID, st.State, st.CreatedAt = id, Queued, made
	return st, nil
}

// remains is the result of a job whose supervisor died: what it had written down, and why there is no more.
func (s *Store) remains(st State) delegate.Result {
	rec := s.Record(st.ID)
	left := journal.Salvage(rec.File(record.Events))
	f := fault.New(fault.JobLost, "the supervisor of job %s died", st.ID)
	switch {
	case s.cancelled(st.ID):
		f = fault.New(fault.Cancelled, "cancelled by request")
	case st.Supervisor != nil && rebooted(st.Supervisor.Boot):
		f.Reason = "the machine was restarted while job " + st.ID + " was " + string(st.State)
	case st.StartedAt == nil:
		f.Reason += " before its run began"
	}
	if f.Kind == fault.JobLost {
		f.Hints = append(f.Hints, lostHint(st, left))
	}
	began := st.CreatedAt
	if st.StartedAt != nil {
		began = *st.StartedAt
	}
	// A request that cannot be read leaves the result without what only it says.
	req, _ := s.ReadRequest(st.ID)
	req.Model, req.Dir = st.Model, st.Dir
	if req.Tier == "" {
		req.Tier = st.Tier
	}
	if left.Session == "" {
		left.Session = st.Session
	}
	res := delegate.Unjudged(req, delegate.Job{ID: st.ID, Record: rec}, f, began, lastSign(rec, began), left)
	res.Isolation = s.isolation(st.ID)
	return res
}

// isolation is the copy of the last try, in which the work of a job lies that nobody could say more of; nil: it had none that was whole.
func (s *Store) isolation(id string) *delegate.Isolation {
	w := Work{ID: id, rec: s.Record(id)}
	tries, err := w.copies()
	if err != nil || len(tries) == 0 {
		return nil
	}
	c, err := worktree.OpenCopy(w.place(tries[len(tries)-1]))
	if err != nil {
		return nil
	}
	return &delegate.Isolation{Path: c.Tree(), Branch: c.Branch(), Base: c.BaseCommit(), Ref: c.Ref()}
}

// rebooted reports whether a boot is known not to be the present one.
func rebooted(boot string) bool { return boot != "" && proc.Boot() != "" && boot != proc.Boot() }

func lostHint(st State, left delegate.Remains) string {
	if st.Session != "" || left.Session != "" {
		return "oc-job recover " + st.ID + " goes on in its session; oc-job retry " + st.ID + " begins again"
	}
	return "oc-job retry " + st.ID + " begins again"
}

// lastSign is when the record was last written to: about when its supervisor died.
func lastSign(rec record.Dir, began time.Time) time.Time {
	last := began
	for _, name := range []string{record.Events, record.Stderr, record.State, record.Progress} {
		if fi, err := os.Stat(rec.File(name)); err == nil && fi.ModTime().After(last) {
			last = fi.ModTime()
		}
	}
	return last
}
