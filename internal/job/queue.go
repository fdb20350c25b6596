package job

import (
	"context"
	"time"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/lock"
)

// turn waits until the job may run, and makes it run.
//
// The order is that in which jobs became ready to run. A job goes when fewer than its limits are running, and no earlier one could go but
// for that: one that waits only for a place of its own model lets others pass. Jobs in the foreground count and never wait. The
// queue is the records of the living: a supervisor that dies leaves it by dying.
func (j *Job) turn(ctx context.Context, now func() time.Time) error {
	for {
		began := time.Now()
		went, ahead, err := j.tryTurn(ctx, now)
		if went || err != nil {
			return err
		}
		// A look at all that lives costs some milliseconds; a twentieth of the time may go into looks. Who has somebody before it looks
		// only at that one.
		pause := min(max(20*time.Since(began), 20*time.Millisecond), 500*time.Millisecond)
		for {
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(pause):
			}
			// It may also have come to wait for a place of its own model, and then lets others pass.
			if ahead == "" || time.Since(began) > reconsider || !j.store.stillQueued(ahead) {
				break
			}
			pause = 20 * time.Millisecond
		}
	}
}

// reconsider is how long a job looks only at the one before it.
const reconsider = 2 * time.Second

// tryTurn takes the turn if it is this job's. ahead is an earlier job that has to go first; empty = the limits are reached.
func (j *Job) tryTurn(ctx context.Context, now func() time.Time) (went bool, ahead string, err error) {
	unlock, err := j.store.locked(ctx, queueLock)
	switch {
	case ctx.Err() != nil:
		return false, "", context.Cause(ctx)
	case err == nil:
		defer unlock()
	}
	// Without the lock, whose holder was stopped or for which there is no room, it goes on all the same: each decides about itself only, and
	// all see the same order. Two may then take one place at once, which is better than that none ever goes.
	live, err := j.store.Live(ctx)
	if err != nil {
		return false, "", err
	}
	if ahead, free := place(j.State(), live); !free {
		return false, ahead, nil
	}
	at := now().UTC()
	if err = j.Update(func(st *State) { st.State, st.StartedAt = Running, &at }); full(err) {
		j.lost, err = err, nil // it runs all the same, and its end has room
	}
	return true, "", err
}

// place reports whether a queued job may run beside those that live, and else which one it has to let go first, if it is that.
func place(own State, live []View) (ahead string, free bool) {
	running, model := 0, map[string]int{}
	for _, v := range live {
		if v.State.State == Running {
			running++
			model[v.modelKey()]++
		}
	}
	if own.MaxPerModel > 0 && model[own.modelKey()] >= own.MaxPerModel {
		return "", false
	}
	var before State
	for _, v := range live {
		blocked := v.MaxPerModel > 0 && model[v.modelKey()] >= v.MaxPerModel
		if v.State.State == Queued && v.ID != own.ID && earlier(v.State, own) && !blocked && (before.ID == "" || earlier(before, v.State)) {
			before = v.State
		}
	}
	return before.ID, before.ID == "" && running < own.MaxJobs
}

// modelKey is the model that a limit counts: the one that was asked for.
func (s State) modelKey() string {
	if s.Requested != "" {
		return s.Requested
	}
	return s.Model
}

// earlier is the order of the queue.
func earlier(a, b State) bool {
	if a.QueuedAt != nil && b.QueuedAt != nil && !a.QueuedAt.Equal(*b.QueuedAt) {
		return a.QueuedAt.Before(*b.QueuedAt)
	}
	return a.ID < b.ID
}

// stillQueued reports whether a job waits for its turn and lives.
func (s *Store) stillQueued(id string) bool {
	st, err := readState(s.dir(id), id)
	if err != nil || st.State != Queued {
		return false
	}
	held, err := lock.Held(s.lease(id))
	return err == nil && held
}

// await waits for the jobs of --after. One that did not succeed is a fault SKIPPED.
func (j *Job) await(ctx context.Context, now func() time.Time) error {
	for _, id := range j.State().After {
		v, err := j.store.Wait(ctx, id)
		if err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if fault.Of(err).Kind != fault.NotFound {
				return err
			}
			return fault.New(fault.Skipped, "job %s, which this one waited for, is not there any more", id)
		}
		if v.State.State != Succeeded {
			return fault.New(fault.Skipped, "job %s, which this one waited for, %s", id, v.State.State.Sentence()).
				With("correct that one, then oc-job retry --after NEWID " + j.State().ID)
		}
	}
	at := now().UTC()
	return j.Update(func(st *State) { st.State, st.QueuedAt = Queued, &at })
}
