package job

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"opencode-delegate/internal/crashpoint"
	"opencode-delegate/internal/delegate"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/lock"
	"opencode-delegate/internal/proc"
	"opencode-delegate/internal/record"
)

// A Job is a record that this process may write: it holds the lease, or, while it starts the job's supervisor, the lock that keeps
// everybody else from deciding about it. Its methods may be called from any goroutine.
type Job struct {
	Record record.Dir

	store *Store
	mu    sync.Mutex
	state State
	lease *lock.Lock // nil when the disk was too full for one, and while a supervisor is being started
	guard *lock.Lock // record.lock, while a supervisor is being started
	books books
	lost  error // what could not be written, because the disk is full; nil = nothing
}

// create makes the record of a new job. A job that the caller supervises holds its lease; one that gets a supervisor of its own is guarded
// by record.lock. State comes last: a record without one was never born.
//
// A full disk is no reason to refuse a delegation in the foreground: the job then has what could be written of its record, and the
// error comes from finish. Any other failure is a fault and leaves no record. An order that finds a twin makes no job and returns it.
func (s *Store) create(ctx context.Context, o Order, now time.Time) (j *Job, twin *State, err error) {
	if o.exclusive() {
		unlock, err := s.locked(ctx, createLock)
		if err != nil {
			return nil, nil, err
		}
		defer unlock()
		live, err := s.Live(ctx)
		if err != nil {
			return nil, nil, err
		}
		if twin, ok := o.twin(slices.DeleteFunc(slices.Clone(live), func(v View) bool { return s.cancelled(v.ID) })); ok {
			return nil, &twin, nil
		}
		if err := o.rival(live); err != nil {
			return nil, nil, err
		}
	}
	st := o.state()
	st.CreatedAt = now.UTC()
	if st.State == Queued {
		st.QueuedAt = &st.CreatedAt
	}
	foreground := o.Launch == nil
	for {
		st.ID = NewID(now)
		if err := s.activate(st.ID); err != nil && !(foreground && full(err)) {
			return nil, nil, stateError(s.root, err)
		}
		if st.Isolated { // without the note nobody would find its ref, and without room there is no copy
			if err := s.noteRef(st); err != nil {
				s.deactivate(st.ID)
				return nil, nil, stateError(s.root, err)
			}
		}
		err := os.Mkdir(s.dir(st.ID), 0o700)
		if errors.Is(err, os.ErrExist) {
			continue // and the other one's entry is its own
		}
		if err != nil && !(foreground && full(err)) {
			os.Remove(s.note(st.ID))
			s.deactivate(st.ID)
			return nil, nil, stateError(s.root, err)
		}
		break
	}
	crashpoint.Here("record", st.ID)
	j = &Job{Record: s.Record(st.ID), store: s, state: st}
	if err := j.write(o); foreground && (full(err) || err != nil && !exists(j.Record.Path())) {
		if j.lost = err; j.lease == nil { // half a record that nobody holds would be taken for a dead job's
			os.RemoveAll(j.Record.Path())
			s.deactivate(st.ID)
		}
	} else if err != nil {
		j.discard() // nothing has run: a call that ends 1 leaves no record
		return nil, nil, stateError(s.root, err)
	}
	return j, nil, nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func (j *Job) write(o Order) error {
	err := os.Chmod(j.Record.Path(), 0o700)
	if err == nil && o.Launch == nil {
		self := proc.Self()
		j.state.Supervisor = &self
		err = j.hold()
	} else if err == nil {
		j.guard, err = j.first(record.Lock)
	}
	if err != nil {
		return err
	}
	if err := j.Record.WriteExact(record.Prompt, []byte(o.Prompt)); err != nil {
		return err
	}
	if err := j.Record.WriteJSON(record.Request, o.Request); err != nil {
		return err
	}
	if o.Launch != nil {
		if err := j.Record.WriteJSON(record.Launch, o.Launch); err != nil {
			return err
		}
		if err := j.reserve(); err != nil {
			return err
		}
		if err := j.store.announce(j.state); err != nil {
			return err
		}
	}
	return j.Record.WriteJSON(record.State, j.state)
}

// hold takes the lease of a record that this process made.
func (j *Job) hold() (err error) {
	j.lease, err = j.first(record.Lease)
	return err
}

// first takes a lock of a record in which nothing has been written yet. A reader may have given the record up meanwhile, since this
// process was stopped for long.
func (j *Job) first(name string) (*lock.Lock, error) {
	l, err := lock.Try(j.Record.File(name))
	if err == nil && exists(j.Record.File(record.State)) {
		l.Release()
		return nil, fault.New(fault.RunFailed, "job %s was given up while this process was stopped", j.state.ID)
	}
	return l, err
}

// discard gives up a job in which nothing was delegated, and its record with it.
func (j *Job) discard() {
	j.store.forget(j.state)
	removeTree(j.Record.Path())
	crashpoint.Here("removed", j.Record.Path())
	if j.state.Isolated {
		_ = j.store.releaseRef(context.Background(), j.state.ID) // what is left is found by gc and doctor
	}
	j.release()
	j.store.deactivate(j.state.ID)
}

func (j *Job) release() {
	for _, l := range []*lock.Lock{j.lease, j.guard} {
		if l != nil {
			l.Release()
		}
	}
	j.lease, j.guard = nil, nil
}

// State is what state.json says, or will say after the next successful write.
func (j *Job) State() State {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.state
}

// Update changes the state and writes it. A move that is not legal is refused, and a terminal state is final.
func (j *Job) Update(change func(*State)) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	next := j.state
	change(&next)
	switch {
	case j.state.State.Terminal():
		return fmt.Errorf("job %s is %s; that is final", j.state.ID, j.state.State)
	case next.State != j.state.State && !j.state.State.MayBecome(next.State):
		return fmt.Errorf("job %s cannot become %s from %s", j.state.ID, next.State, j.state.State)
	}
	j.state = next
	if j.lease == nil && j.guard == nil { // there was no room for one; what is written without it would be taken for what a dead one left
		if err := j.hold(); err != nil {
			return err
		}
	}
	if next.State.Terminal() {
		return j.Record.WriteLast(record.State, next)
	}
	return j.Record.WriteJSON(record.State, next)
}

// keep is Update for a change that a run does not depend on: what cannot be written is told at the end.
func (j *Job) keep(change func(*State)) {
	if err := j.Update(change); err != nil && j.lost == nil {
		j.lost = err
	}
}

// finish writes the result, then what it means for the ledger, then the terminal state, and gives the lease back, also when a write fails.
func (j *Job) finish(res delegate.Result) error {
	defer j.release()
	rerr := writeResult(j.Record, res)
	lerr := j.judge(res)
	serr := j.Update(func(st *State) { st.end(res) })
	if serr == nil {
		j.store.deactivate(j.state.ID)
	}
	return errors.Join(j.lost, rerr, lerr, serr)
}

// end takes over what a result says.
func (st *State) end(res delegate.Result) {
	exit, ended := res.Status.Exit(), res.EndedAt.UTC()
	st.State, st.Status, st.Exit, st.EndedAt, st.Reason = Ended(res.Status), res.Status, &exit, &ended, res.Reason
	if res.Session != nil {
		st.Session = *res.Session
	}
	if res.Model != "" && res.Model != st.Model {
		st.Model, st.Requested = res.Model, st.Model
	}
	st.Version = res.Opencode.Version
	if res.SessionDead != "" {
		st.Dead = res.SessionDead
	}
	if res.Usage != nil {
		st.CostUSD = res.Usage.CostUSD
	}
}

// running is the fault of a job that may not be touched because it has not ended.
func running(st State) error {
	return fault.New(fault.JobRunning, "job %s %s", st.ID, strings.Replace(st.State.Sentence(), "is ", "is still ", 1)).With("oc-job wait " + st.ID + " returns when it has ended")
}
