package job

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"opencode-delegate/internal/call"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/record"
)

const (
	// heedEvery is how often a supervisor looks for a wish to cancel. A file is looked for, not a signal sent: it reaches a
	// supervisor in another container, and never a stranger.
	heedEvery = 100 * time.Millisecond
	// reaction is what a supervisor may take beside the grace to end its tree and to write down what came of it.
	reaction = 6 * time.Second
)

// A wish is the file that asks a job's supervisor to end it.
type wish struct {
	By string    `json:"by"`
	At time.Time `json:"at"`
}

// Cancel ends a job and returns when it is dead: its supervisor is asked, and ended when it does not obey; the kernel then ends the
// tree with it. A job that has ended before is left as it is. The View says what it became: cancelled, or what it had
// come to before it heard of the wish.
func (s *Store) Cancel(ctx context.Context, id, by string, now time.Time) (View, error) {
	v, err := s.Look(ctx, id)
	if err != nil || v.State.State.Terminal() {
		if v.State.State == Unreadable {
			err = fault.New(fault.RunFailed, "job %s cannot be cancelled: %s", id, v.Problem)
		}
		return v, err
	}
	if err := s.mark(id, wish{by, now.UTC()}); err != nil {
		return v, err
	}
	patience := reaction
	if req, err := s.ReadRequest(id); err == nil {
		patience += time.Duration(req.Grace)
	}
	polite, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if v, err = s.Wait(polite, id); err == nil || ctx.Err() != nil {
		return v, err
	}
	if v.Supervisor == nil {
		return v, fault.New(fault.RunFailed, "job %s does not end, and its record names no supervisor", id).With("oc-job doctor tells which locks are held")
	}
	if err := v.Supervisor.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return v, fault.New(fault.RunFailed, "the supervisor of job %s does not react and cannot be ended: process %d: %w", id, v.Supervisor.PID, err)
	}
	last, cancel := context.WithTimeout(ctx, reaction)
	defer cancel()
	return s.Wait(last, id)
}

// mark leaves the wish. The first one stands.
func (s *Store) mark(id string, w wish) error {
	rec := s.Record(id)
	if exists(rec.File(record.Cancel)) {
		return nil
	}
	if err := rec.WriteJSON(record.Cancel, w); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return unknown(id)
		}
		return fault.New(fault.RunFailed, "job %s cannot be marked as cancelled: %w", id, err).With("make room, or end its supervisor: oc-job status " + id + " names it")
	}
	return nil
}

// cancelled reports whether somebody wants a job to end.
func (s *Store) cancelled(id string) bool { return exists(s.Record(id).File(record.Cancel)) }

// heed returns a context that ends when somebody wants the job to end. Its own end is that of the returned function.
func (j *Job) heed(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	path := j.Record.File(record.Cancel)
	go func() {
		tick := time.NewTicker(heedEvery)
		defer tick.Stop()
		for !exists(path) {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
		cancel(fault.New(fault.Cancelled, "cancelled by request"))
	}()
	return ctx, func() { cancel(nil) }
}

// MayCancel refuses a caller who would end another's job by a slip. exact tells that the job was named by its full id.
func (s *Store) MayCancel(v View, caller string, exact, force bool) error {
	switch {
	case s.SameCaller(v.Caller, caller) || v.State.State.Terminal():
		return nil
	case caller == call.Shell && exact, exact && force:
		return nil
	case caller == call.Shell:
		return fault.New(fault.Usage, "job %s belongs to another caller", v.ID).With("name it by its full id to cancel it")
	}
	return fault.New(fault.Usage, "job %s belongs to another caller", v.ID).
		With(fmt.Sprintf("if it has to end: oc-job cancel --force %s", v.ID))
}
