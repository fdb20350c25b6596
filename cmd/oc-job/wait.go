package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"opencode-delegate/internal/call"
	"opencode-delegate/internal/cli"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/job"
	"opencode-delegate/internal/plain"
)

type waitVerb struct {
	IDs      []call.Once `arg:"" optional:"" name:"id" help:"The jobs (default: your newest of this repository)."`
	Any      bool        `help:"Return when the first of them has ended."`
	All      bool        `help:"Return when all of them have ended (this is the default)."`
	Timeout  call.Once   `placeholder:"TIME" help:"Return after this time with exit 17, and leave the jobs alone: 110s, 10m, 2h, 1d (default: no limit)."`
	Progress bool        `help:"Print what changes, a line each, on stderr."`
}

func (v *waitVerb) run(a *cli.App) int {
	if v.Any && v.All {
		return a.Refuse(fault.New(fault.Usage, "--any and --all exclude each other; give one of them"))
	}
	var timeout time.Duration
	if v.Timeout.Set {
		var err error
		if timeout, err = call.Days(v.Timeout.Text); err != nil {
			return a.Refuse(fault.New(fault.Usage, "flag --timeout: %w", err))
		}
	}
	store, err := a.Store()
	if err != nil {
		return a.Refuse(fault.Of(err))
	}
	ctx, stop := cli.Interruptible()
	defer stop()
	jobs, err := targets(ctx, a, store, v.IDs)
	if err != nil {
		return a.Refuse(fault.Of(err))
	}
	if v.Timeout.Set {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	if v.Progress {
		var ids []string
		for _, j := range jobs {
			ids = append(ids, j.ID)
		}
		quiet := tellProgress(ctx, a, store, ids)
		defer quiet()
	}
	ended, err := await(ctx, store, jobs, v.Any)
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		f := fault.Of(err)
		if f.Kind == fault.Interrupted {
			f = f.With("the jobs go on; oc-job cancel ends them")
		}
		return a.Refuse(f)
	}
	return v.answer(a, store, ended, err == nil)
}

// atOnce is how many jobs are waited for at the same time: each takes a descriptor and a thread.
const atOnce = 64

// await waits for all of the jobs, or for the first of them to end. What comes back is in the order of the jobs; with first it is that one
// alone, but for an error. A job whose record has gone meanwhile is shown as one that cannot be read.
func await(ctx context.Context, store *job.Store, jobs []job.View, first bool) ([]job.View, error) {
	if first {
		return awaitFirst(ctx, store, jobs)
	}
	ended := slices.Clone(jobs)
	errs := make([]error, len(jobs))
	turns := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i := range ended {
		all.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			ended[i], errs[i] = awaitOne(ctx, store, ended[i])
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return ended, err
		}
	}
	return ended, nil
}

// awaitFirst waits for one of the jobs. Of several that have ended it is the first in the order of the words.
func awaitFirst(ctx context.Context, store *job.Store, jobs []job.View) ([]job.View, error) {
	now := slices.Clone(jobs)
	for {
		for i := range now {
			v, err := store.Look(ctx, now[i].ID)
			switch {
			case err == nil:
				now[i] = v
			case fault.Of(err).Kind == fault.NotFound:
				now[i] = removed(now[i].ID)
			default:
				return now, err
			}
			if now[i].Ended() {
				return now[i : i+1], nil
			}
		}
		if err := change(ctx, store, now); err != nil {
			return now, err
		}
	}
}

// change returns when one of the jobs may have ended. More than can be blocked for are looked at twice a second.
func change(ctx context.Context, store *job.Store, jobs []job.View) error {
	blocked, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan struct{}, len(jobs))
	var pause <-chan time.Time
	if len(jobs) > atOnce {
		pause = time.After(time.Second / 2)
	} else {
		for _, j := range jobs {
			go func() {
				_, _ = awaitOne(blocked, store, j)
				ended <- struct{}{}
			}()
		}
	}
	select {
	case <-ended:
	case <-pause:
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

func awaitOne(ctx context.Context, store *job.Store, j job.View) (job.View, error) {
	if j.Ended() {
		return j, nil
	}
	v, err := store.Wait(ctx, j.ID)
	switch {
	case err == nil:
		return v, nil
	case ctx.Err() != nil:
		if v.ID == "" {
			v = j
		}
		return v, context.Cause(ctx)
	case fault.Of(err).Kind == fault.NotFound:
		return removed(j.ID), nil
	}
	return j, err
}

// removed is a job whose record was removed while it was waited for.
func removed(id string) job.View {
	return job.View{State: job.State{ID: id, State: job.Unreadable}, Problem: "its record has gone"}
}

// answer prints a line for each job and returns the exit code: of one job its own, of several that of the first which did not succeed.
// When they were not all waited for to their end it is 17.
func (v *waitVerb) answer(a *cli.App, store *job.Store, jobs []job.View, complete bool) int {
	exit := 0
	for _, j := range jobs {
		status, code := statusOf(j)
		if _, err := fmt.Fprintln(a.Stdout, j.ID, j.State.State, plain.Line(string(status), 40)); err != nil {
			return a.Refuse(fault.New(fault.RunFailed, "stdout: %w", err))
		}
		store.Heard(caller(a), j.ID)
		if exit == 0 {
			exit = code
		}
	}
	if !complete {
		exit = fault.JobRunning.Exit()
	}
	if len(jobs) == 1 {
		return a.Signal(signalOf(store, jobs[0]), "")
	}
	return exit
}

// statusOf is the status word of a job as it is, and its exit code.
func statusOf(j job.View) (fault.Kind, int) {
	switch {
	case j.Live() || j.Held:
		return fault.JobRunning, fault.JobRunning.Exit()
	case j.State.State == job.Unreadable:
		return fault.JobLost, fault.JobLost.Exit()
	}
	return j.Status, j.Status.Exit()
}

// signalOf is the signal line of one job as it is: its state decides, and its result says the rest.
func signalOf(store *job.Store, j job.View) cli.Signal {
	status, exit := statusOf(j)
	res, err := store.Result(j)
	if err != nil || res.Status != status {
		f := fault.Of(err)
		if f == nil || f.Kind != status {
			f = &fault.Error{Kind: status, Reason: j.Reason}
		}
		s := jobSignal(store, j, f)
		s.Exit = exit
		return s
	}
	return cli.Of(res)
}

// progressEvery is how often the progress of a job is looked at.
const progressEvery = 500 * time.Millisecond

// tellProgress says what changes on stderr, until the returned function is called.
func tellProgress(ctx context.Context, a *cli.App, store *job.Store, ids []string) (quiet func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		said := map[string]string{}
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for {
			for _, id := range ids {
				if line := progressLine(ctx, store, id); line != "" && line != said[id] {
					said[id] = line
					a.Say("%s %s", id, line)
				}
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}()
	return func() { cancel(); <-done }
}

// progressLine is what a job is doing, in a line without its id.
func progressLine(ctx context.Context, store *job.Store, id string) string {
	v, err := store.Look(ctx, id)
	if err != nil {
		return ""
	}
	line := string(v.State.State)
	p, ok := store.ReadProgress(id)
	if v.State.State != job.Running || !ok {
		return line
	}
	line += fmt.Sprintf(" step %d", p.Step)
	if p.Tool != "" {
		line += " " + p.Tool + " " + p.Target
	}
	if p.Retry != nil {
		line += " waiting: " + p.Retry.Reason
	}
	return line
}
