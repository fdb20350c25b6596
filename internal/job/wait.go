package job

import (
	"context"
	"time"

	"opencode-delegate/internal/lock"
)

// Wait returns when a job has ended, or when its record cannot be read and nobody holds it. It blocks on the lease and asks nobody
// meanwhile. What only this reader has decided, since another one holds the record, is taken for the end after a while. An end of
// the context is its error, together with the job as it is then.
func (s *Store) Wait(ctx context.Context, id string) (View, error) {
	for began := time.Now(); ; {
		v, err := s.Look(ctx, id)
		if err != nil || v.Ended() || v.Undecided && time.Since(began) > startLimit {
			return v, err
		}
		if err := lock.Free(ctx, s.lease(id)); err != nil {
			if now, lerr := s.Look(context.WithoutCancel(ctx), id); lerr == nil {
				v = now
			}
			return v, err
		}
		pause := 10 * time.Millisecond
		if v.Undecided {
			pause = time.Second
		}
		// The lease is free: it has ended, or is being started or decided about by somebody else at this moment.
		select {
		case <-ctx.Done():
			return v, context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}
