package job

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"opencode-delegate/internal/delegate"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/lock"
	"opencode-delegate/internal/proc"
	"opencode-delegate/internal/record"
)

// assignmentLimit bounds what a supervisor reads from its pipe.
const assignmentLimit = 4 << 20

// A Supervision is a job whose supervisor this process is to be.
type Supervision struct {
	ID     string
	Root   string // of the state directory
	Launch Launch

	request delegate.Request
	say     io.WriteCloser // to whoever started us
}

// Supervise tells whether this process was started as a supervisor, by its arguments, and then reads from stdin what it is to do. Nothing of
// whoever started it stays open.
func Supervise(args []string, stdin io.ReadCloser, stdout io.WriteCloser) (sup Supervision, ok bool, err error) {
	if len(args) != 3 || args[1] != supervisorRole || CheckID(args[2]) != nil {
		return Supervision{}, false, nil
	}
	data, err := io.ReadAll(io.LimitReader(stdin, assignmentLimit))
	stdin.Close()
	var a assignment
	if err == nil {
		err = json.Unmarshal(data, &a)
	}
	if err != nil {
		stdout.Close()
		return Supervision{}, true, fmt.Errorf("supervisor: what to do could not be read: %w", err)
	}
	return Supervision{ID: args[2], Root: a.Root, Launch: a.Launch, request: a.Request, say: stdout}, true, nil
}

// Supervise carries out a job from the lease to the terminal state. deliver gets the result before the state is written, so that whoever
// sees the end finds the answer where it was asked for; what it returns is noted in the result.
//
// The result is that of the job; false tells that there was nothing to do, because another one decided about the job meanwhile.
func (s *Store) Supervise(ctx context.Context, sup Supervision, host delegate.Host, deliver func(delegate.Result) []string) (delegate.Result, bool, error) {
	j, err := s.adopt(ctx, sup)
	if err != nil || j == nil {
		return delegate.Result{}, false, err
	}
	ctx, stop := j.heed(ctx)
	defer stop()
	began := host.Now()
	res, eerr := j.supervise(ctx, sup, host)
	if res.ID == "" { // it never came to a run
		f := fault.Of(eerr)
		res, eerr = delegate.Unjudged(sup.request, delegate.Job{ID: j.state.ID, Record: j.Record}, f, began, host.Now(), delegate.Remains{Session: j.state.Session}), nil
	}
	if eerr != nil {
		res.Notes = append(res.Notes, fmt.Sprintf("the record is not complete: %v", eerr))
	}
	res.Notes = append(res.Notes, deliver(res)...)
	return res, true, j.finish(res)
}

// supervise waits for what the job has to wait for, and runs it. Without a run the result has no id, and the error says why.
func (j *Job) supervise(ctx context.Context, sup Supervision, host delegate.Host) (delegate.Result, error) {
	if j.State().State == Waiting {
		if err := j.await(ctx, host.Now); err != nil {
			return delegate.Result{}, err
		}
	}
	if err := j.turn(ctx, host.Now); err != nil {
		return delegate.Result{}, err
	}
	prompt, err := j.store.ReadPrompt(j.state.ID)
	if err != nil {
		return delegate.Result{}, err
	}
	plan, err := delegate.Prepare(ctx, sup.request, host)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return delegate.Result{}, err
	}
	return j.carryOut(ctx, plan, prompt, func(delegate.Progress) {})
}

// adopt takes the lease of a job that was made for this process, and says so. A job that has ended meanwhile is nil.
func (s *Store) adopt(ctx context.Context, sup Supervision) (*Job, error) {
	rec := s.Record(sup.ID)
	inTime, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	lease, err := lock.Take(inTime, rec.File(record.Lease))
	if err != nil {
		fmt.Fprintln(sup.say, err)
		sup.say.Close()
		return nil, err
	}
	io.WriteString(sup.say, held)
	sup.say.Close()
	// Whoever started us lets go of record.lock now. If it has died, a reader may be deciding about the job at this moment: what it
	// writes has to be seen. One that was stopped looks at the lease again before it writes.
	inTime, cancel = context.WithTimeout(ctx, lockTime)
	defer cancel()
	if guard, err := lock.Take(inTime, rec.File(record.Lock)); err == nil {
		defer guard.Release()
	}
	j := &Job{Record: rec, store: s, lease: lease}
	if j.state, err = readState(rec.Path(), sup.ID); err != nil || j.state.State.Terminal() {
		lease.Release()
		return nil, err
	}
	self := proc.Self()
	j.keep(func(st *State) { st.Supervisor = &self })
	return j, nil
}
