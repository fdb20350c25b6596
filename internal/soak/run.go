package main

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	// patience is how long jobs may take to end once nobody kills any more.
	patience = 2 * time.Minute
	// killers are those who send signals, so that two of them meet.
	killers = 2
	// unborn is after what time a reader decides about a record whose creation was cut off.
	unborn = 11 * time.Second
)

// run is the whole soak. It returns the promises that were broken.
func (s *soak) run(ctx context.Context, out io.Writer) []string {
	began := time.Now()
	s.storm(ctx)
	if ctx.Err() != nil {
		s.history.breaks("the soak was interrupted")
		return s.history.broken
	}
	fmt.Fprintf(out, "after %v all tasks are begun and have ended, or nobody kills any more\n", time.Since(began).Round(time.Second))
	s.calm(ctx)
	left := s.place.processes()
	for _, q := range left {
		s.place.note("left before doctor: %s", q)
	}
	s.living()
	doctor := s.call(ctx, callerName(0), 0, nil, "oc-job", "doctor", "--fix")
	all := s.check(ctx)
	s.report(out, all, time.Since(began), len(left), doctor)
	return s.history.broken
}

// storm begins all tasks while others read and kill. It goes on until most have ended.
func (s *soak) storm(ctx context.Context) {
	ctx, over := context.WithCancel(ctx)
	var others sync.WaitGroup
	defer others.Wait()
	defer over()
	for i := range killers {
		others.Go(func() { s.kill(ctx, s.random(uint64(10+i))) })
	}
	others.Go(func() { s.snipe(ctx, s.random(50)) })
	for i := range s.readers {
		others.Go(func() { s.read(ctx, s.random(uint64(100+i))) })
	}
	// Whoever begins tasks comes to their end also when the rest is over.
	tasks := make(chan *fate)
	var starters sync.WaitGroup
	for range s.parallel {
		starters.Go(func() {
			for f := range tasks {
				s.begin(context.WithoutCancel(ctx), f)
			}
		})
	}
	for _, t := range s.tasks {
		if ctx.Err() != nil {
			break
		}
		tasks <- s.fates[t.n]
	}
	close(tasks)
	starters.Wait()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline) && ctx.Err() == nil; time.Sleep(500 * time.Millisecond) {
		s.list(ctx, callerName(0))
		if living := s.history.pick(false); len(living) <= s.jobs/20 {
			break
		}
	}
}

// calm waits until everything has ended, and ends what does not.
func (s *soak) calm(ctx context.Context) {
	time.Sleep(time.Until(time.UnixMilli(s.begins.Load()).Add(unborn)))
	s.list(ctx, callerName(0))
	living := s.history.pick(false)
	for deadline := time.Now().Add(patience); len(living) > 0 && time.Now().Before(deadline); living = s.history.pick(false) {
		s.wait(ctx, callerName(0), append([]string{"--timeout", "20s"}, living...)...)
	}
	for _, id := range living {
		s.history.breaks("job %s does not end", id)
		s.cancel(ctx, id, s.random(2))
	}
}
