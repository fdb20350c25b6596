package job

import (
	"context"
	"errors"
	"sync"
	"time"

	"opencode-delegate/internal/delegate"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/record"
)

// Run carries out a prepared delegation in this process, under a record of its own whose lease it holds meanwhile. It counts
// against the limits of background jobs and never waits for its turn. The request of the order is the plan's.
//
// The result stands whatever happens to the record; an error beside it tells that the record is missing or not complete, one
// without a result that nothing was started. A result that is USAGE, NOT_FOUND or OPENCODE_MISSING has no record.
func (s *Store) Run(ctx context.Context, plan *delegate.Plan, o Order, watch func(delegate.Progress)) (delegate.Result, error) {
	now := plan.Now()
	o.Request = plan.Request
	j, _, err := s.create(ctx, o, now)
	if err != nil {
		return delegate.Result{}, err
	}
	ctx, stop := j.heed(ctx)
	defer stop()
	j.keep(func(st *State) { st.State, st.StartedAt = Running, &now })
	res, eerr := j.carryOut(ctx, plan, o.Prompt, watch)
	switch res.Status {
	case fault.Usage, fault.NotFound, fault.OpencodeMissing:
		// Only opencode itself could tell: a session that it has lost, a program that has gone meanwhile. Nothing was delegated.
		j.discard()
		res.ID, res.Record = "", ""
		return res, nil
	}
	return res, errors.Join(eerr, j.finish(res))
}

// carryOut runs the plan and keeps the record informed of what goes on.
func (j *Job) carryOut(ctx context.Context, plan *delegate.Plan, prompt string, watch func(delegate.Progress)) (delegate.Result, error) {
	p := progressFile{record: j.Record, began: time.Now()}
	res, err := plan.Run(ctx, prompt, delegate.Job{
		ID:     j.state.ID,
		Record: j.Record,
		// The session is written down as soon as it has a name: whoever finds the record of a killed run can go on in it.
		Session: func(id string) {
			if id != j.State().Session {
				j.keep(func(st *State) { st.Session = id })
			}
		},
		Watch: func(now delegate.Progress) {
			p.write(now)
			watch(now)
		},
		Spent: j.spent,
	})
	p.last()
	res.Notes = append(append(res.Notes, j.books.notes(j.store.Ledger())...), j.rivals(ctx)...)
	return res, err
}

// progressEvery is how often progress.json is written at most; a run that is over sooner writes none.
const progressEvery = 250 * time.Millisecond

// A progressFile is progress.json. It is for a person who waits: what cannot be written is left out.
type progressFile struct {
	record record.Dir

	mu    sync.Mutex
	began time.Time // of the time in which nothing is written
	next  *delegate.Progress
	timer *time.Timer

	written, over bool
}

// write keeps the newest value and writes it, at once or when it is time.
func (p *progressFile) write(now delegate.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next = &now
	if p.timer == nil && !p.over {
		p.timer = time.AfterFunc(time.Until(p.began.Add(progressEvery)), p.flush)
	}
}

func (p *progressFile) flush() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer = nil
	if p.next == nil || p.over {
		return
	}
	_ = p.record.WriteJSON(record.Progress, p.next)
	p.next, p.began, p.written = nil, time.Now(), true
}

// last ends the writing. A run that has written before writes its last value, so that no step is missing.
func (p *progressFile) last() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer != nil {
		p.timer.Stop()
	}
	if p.next != nil && p.written {
		_ = p.record.WriteJSON(record.Progress, p.next)
	}
	p.next, p.over = nil, true
}
