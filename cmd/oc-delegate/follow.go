package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"time"

	"opencode-delegate/internal/call"
	"opencode-delegate/internal/cli"
	"opencode-delegate/internal/delegate"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/job"
)

// followEvery is how often a follower looks at what the run is doing.
const followEvery = 500 * time.Millisecond

// follow is a delegation whose caller will not wait longer than maxWait: hosts kill a tool that takes minutes. It runs as a
// background job; finished in time, nobody sees the difference.
func follow(a *cli.App, cmd command, c call.Call, maxWait time.Duration) int {
	ctx, stop := context.WithTimeout(context.Background(), maxWait)
	defer stop()
	told := cli.Signals(func(s os.Signal) bool { return !signal.Ignored(s) })
	store, st, code, ok := begin(ctx, a, cmd, c, told)
	if !ok {
		return code
	}
	meter := newMeter(c.Progress, a.Stderr, a.Say)
	v, end := accompany(ctx, store, st.ID, told, meter)
	meter.close()
	switch end := end.(type) {
	case nil:
		return deliver(a, cmd, c, store, v)
	case *interruption:
		if end.signal != os.Interrupt {
			f := fault.New(fault.Interrupted, "interrupted by %s; job %s goes on", cli.SignalName(end.signal), v.ID)
			return leave(a, store, v, f)
		}
		// The person at the terminal means the work, not the wait. A second one means the wait too.
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		go func() { <-told; cancel() }()
		v, err := store.Cancel(ctx, st.ID, c.Request.Caller, a.Now())
		if err != nil {
			return leave(a, store, v, fault.New(fault.Interrupted, "interrupted by SIGINT; job %s was told to end: %w", st.ID, err))
		}
		return deliver(a, cmd, c, store, v)
	}
	if errors.Is(end, context.DeadlineExceeded) {
		return leave(a, store, v, fault.New(fault.JobRunning, "job %s is still %s after %s; it goes on in the background", v.ID, v.State.State, maxWait))
	}
	return leave(a, store, v, fault.Of(end))
}

// begin starts the job. What a foreground call would refuse is refused in the same way, unless there is no time to ask.
func begin(ctx context.Context, a *cli.App, cmd command, c call.Call, told chan os.Signal) (*job.Store, job.State, int, bool) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case s := <-told:
			told <- s // for the follower, if it comes to that
			cancel(fault.New(fault.Interrupted, "interrupted by %s", cli.SignalName(s)))
		case <-ctx.Done():
		}
	}()
	refuse := func(err error) (*job.Store, job.State, int, bool) {
		return nil, job.State{}, a.Refuse(fault.Of(err)), false
	}
	t, err := cmd.task(ctx, a, c)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fault.New(fault.Usage, "the task was not read to its end within --max-wait; give it faster, or wait longer")
	}
	if err != nil {
		return refuse(err)
	}
	if c.Request.Review, c.Request.MayRevert = t.review, t.reverts; t.nothing != "" {
		return nil, job.State{}, a.Report(c.Reply, delegate.Nothing(c.Request, a.Host(nil), t.nothing, t.hints...), nil), false
	}
	store, err := a.Store()
	if err != nil {
		return refuse(err)
	}
	host, req := a.Host(store), c.Request
	if host.SessionKnown, err = store.FindSession(ctx, &req, c.Continue); err != nil {
		return refuse(err)
	}
	if _, err := delegate.Prepare(ctx, req, host); err != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return refuse(err)
	}
	a.SayEach("note", t.notes)
	st, _, err := a.Begin(context.WithoutCancel(ctx), store, cli.Start{Call: c, Prompt: t.prompt, Task: t.title})
	if err != nil {
		return refuse(err)
	}
	return store, st, 0, true
}

// An interruption is a signal that told the follower to end.
type interruption struct{ signal os.Signal }

func (i *interruption) Error() string { return "interrupted by " + cli.SignalName(i.signal) }

// accompany waits for the end of the job, of the context or of the caller's patience, and shows what the run is doing.
func accompany(ctx context.Context, store *job.Store, id string, told chan os.Signal, meter *meter) (job.View, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		began := time.Now()
		tick := time.NewTicker(followEvery)
		defer tick.Stop()
		for {
			select {
			case s := <-told:
				cancel(&interruption{s})
				return
			case <-ctx.Done():
				return
			case <-tick.C:
				if v, err := store.Look(ctx, id); err == nil && v.State.State == job.Queued {
					meter.show(delegate.Progress{Elapsed: time.Since(began), Tool: "waits for its turn"})
				} else if p, ok := store.ReadProgress(id); ok {
					p.Elapsed = time.Since(began)
					meter.show(p)
				}
			}
		}
	}()
	v, err := store.Wait(ctx, id)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return v, err
}

// deliver answers as a foreground run does.
func deliver(a *cli.App, cmd command, c call.Call, store *job.Store, v job.View) int {
	res, err := store.Result(v)
	if err != nil {
		return a.Refuse(fault.Of(err))
	}
	c.Reply.UsageLog = "" // the supervisor has written it
	res.Notes = append(res.Notes, remarksOn(cmd, res)...)
	exit := a.Report(c.Reply, res, nil)
	if exit == res.Exit { // else the answer did not get there
		store.Heard(c.Request.Caller, v.ID)
	}
	return exit
}

// leave says that the job lives on, or that its end could not be awaited, and where it is found.
func leave(a *cli.App, store *job.Store, v job.View, f *fault.Error) int {
	a.Say("%s", f.Reason)
	if v.Live() && v.ID != "" {
		a.SayEach("hint", []string{fmt.Sprintf("oc-job wait --timeout 110s %s waits for it, oc-job result %s shows what came of it", v.ID, v.ID)})
	}
	s := cli.OfFault(f)
	s.Job, s.Tier, s.Model, s.Session = v.ID, v.Tier, v.Model, v.Session
	if v.ID != "" {
		s.Record = store.Record(v.ID).Path()
	}
	return a.Signal(s, "")
}
