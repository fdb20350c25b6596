package job

import (
	"context"
	"time"

	"opencode-delegate/internal/lock"
)

// Wait returns when a job has ended. It blocks on the lease and asks nobody meanwhile. An end of the context is its error,
// together with the job as it is then.
func (s *Store) Wait(ctx context.Context, id string) (View, error) {
	for {
		v, err := s.Look(ctx, id)
		if err != nil || v.State.State.Terminal() {
			return v, err
		}
		if err := lock.Free(ctx, s.lease(id)); err != nil {
			if now, lerr := s.Look(context.WithoutCancel(ctx), id); lerr == nil {
				v = now
			}
			return v, err
		}
		// The lease is free: it has ended, or is being started or decided about by somebody else at this moment.
		select {
		case <-ctx.Done():
			return v, context.Cause(ctx)
		case <-time.After(10 * time.Millisecond):
		}
	}
}
