package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"opencode-delegate/internal/call"
	"opencode-delegate/internal/cli"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/job"
)

type statusVerb struct {
	ID   call.Once `arg:"" optional:"" name:"id" help:"The job (default: all of yours that live, and those that ended in the last day)."`
	JSON bool      `name:"json" help:"The same as a JSON object; without an ID, as an array of them."`
	kept
}

func (v *statusVerb) run(a *cli.App) int {
	store, err := a.Store()
	if err != nil {
		return refuse(a, err)
	}
	ctx, stop := cli.Interruptible()
	defer stop()
	if v.ID.Set {
		return v.one(ctx, a, store)
	}
	return v.mine(ctx, a, store)
}

func (v *statusVerb) one(ctx context.Context, a *cli.App, store *job.Store) int {
	j, _, err := target(ctx, a, store, v.ID)
	if err != nil {
		return refuse(a, err)
	}
	r := reporter{ctx: ctx, app: a, store: store}
	if v.JSON {
		return printJSON(a, r.report(j))
	}
	if _, err := fmt.Fprint(a.Stdout, r.block(j, screenOf(a))); err != nil {
		return refuse(a, fault.New(fault.RunFailed, "stdout: %w", err))
	}
	return 0
}

const (
	// recently is how long a job that has ended is told of without being asked for by its id.
	recently = 24 * time.Hour
	// recentJobs is how many of those are told of.
	recentJobs = 20
)

// mine tells of the caller's jobs in every repository: those that live, and the last that have ended.
func (v *statusVerb) mine(ctx context.Context, a *cli.App, store *job.Store) int {
	since := a.Now().Add(-recently)
	own := selection{caller: caller(a)}
	collectLate()
	jobs, err := store.List(ctx, func(v job.View) bool {
		return (v.Live() || v.EndedAt != nil && v.EndedAt.After(since)) && own.matches(store, v)
	})
	if err != nil {
		return refuse(a, err)
	}
	slices.SortStableFunc(jobs, func(a, b job.View) int {
		switch {
		case a.Live() && b.Live():
			return 0
		case a.Live():
			return -1
		case b.Live():
			return 1
		}
		return b.EndedAt.Compare(*a.EndedAt)
	})
	living := slices.IndexFunc(jobs, func(v job.View) bool { return !v.Live() })
	if living < 0 {
		living = len(jobs)
	}
	if more := len(jobs) - living - recentJobs; more > 0 {
		a.Say("%d more have ended in the last 24 hours; oc-job list --all --mine shows them", more)
		jobs = jobs[:living+recentJobs]
	}
	r := reporter{ctx: ctx, app: a, store: store}
	if v.JSON {
		err = printArray(a, jobs, func(j job.View) any { return r.report(j) })
	} else if len(jobs) == 0 {
		a.Say("no job of yours lives, and none has ended in the last 24 hours; oc-job list --all shows every job")
	} else {
		lines := make([]line, len(jobs))
		for i, j := range jobs {
			lines[i] = line{Row: rowOf(a, j, spent(store, j)), work: workWord(j.Work), lineage: lineage(j), below: r.doing(j)}
		}
		err = newTable(screenOf(a), lines).print(a.Stdout, lines)
	}
	if err != nil {
		return refuse(a, fault.New(fault.RunFailed, "stdout: %w", err))
	}
	return 0
}
