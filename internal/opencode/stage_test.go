package opencode

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"opencode-delegate/internal/fault"
)

// stopped is run where the run is ended from outside. An order that comes before the program is known to have begun is an error with the same cause.
func (s *stage) stopped(ctx context.Context) Outcome {
	o, err := Run(ctx, s.Attempt, nil)
	if err != nil {
		o.Fault = fault.Of(err)
	}
	return o
}

// whenReady calls then as soon as the program has said that it is at work.
func (s *stage) whenReady(then func()) {
	go func() {
		for {
			if _, err := os.Stat(filepath.Join(s.notes, "ready")); err == nil {
				then()
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
}
