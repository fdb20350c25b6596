package cli

import (
	"cmp"
	"context"

	"opencode-delegate/internal/call"
	"opencode-delegate/internal/delegate"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/job"
)

// A Start is a background job that a call asks for.
type Start struct {
	Call   call.Call
	Prompt string
	Task   string // whose first words are shown; empty = the prompt's

	Name        string
	After       []string // full ids
	RetryOf     string
	ContinueOf  string
	Reuse       bool
	MaxJobs     int // 0 = what the environment says, else job.DefaultMaxJobs
	MaxPerModel int // 0 = no limit
	OnFinish    string
}

// Begin makes the job and its supervisor, and returns when that holds the lease. What can be refused without asking opencode
// is refused here, and leaves no record. reused tells that an earlier job is as good.
func (a *App) Begin(ctx context.Context, store *job.Store, s Start) (st job.State, reused bool, err error) {
	req := s.Call.Request
	known, err := store.FindSession(ctx, &req, s.Call.Continue)
	if err != nil {
		return job.State{}, false, err
	}
	if err := delegate.CheckRequest(req, a.Host(store)); err != nil {
		return job.State{}, false, err
	}
	launch := job.Launch{
		Schema: job.Schema, Cwd: a.Cwd, SessionKnown: known, MaxJobs: s.MaxJobs, MaxPerModel: s.MaxPerModel,
		Reply: s.Call.Reply, OnFinish: s.OnFinish,
	}
	if launch.MaxJobs == 0 {
		n, _, err := call.MaxJobs(call.Once{}, a.Getenv)
		if err != nil {
			return job.State{}, false, fault.New(fault.Usage, "%w", err)
		}
		launch.MaxJobs = cmp.Or(n, job.DefaultMaxJobs())
	}
	return store.Start(ctx, a.Self, job.Order{
		Request: req, Prompt: s.Prompt, Task: s.Task, From: a.Cwd, Launch: &launch, Name: s.Name, After: s.After,
		RetryOf: s.RetryOf, ContinueOf: s.ContinueOf, Reuse: s.Reuse,
	}, a.Now())
}
