package main

import (
	"fmt"
	"sync"

	"opencode-delegate/internal/call"
	"opencode-delegate/internal/cli"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/job"
)

type cancelVerb struct {
	IDs   []call.Once `arg:"" optional:"" name:"id" help:"The jobs."`
	Force bool        `help:"Also another caller's job, which has to be named by its full id."`
	kept
}

func (v *cancelVerb) run(a *cli.App) int {
	if len(v.IDs) == 0 {
		return refuse(a, fault.New(fault.Usage, "no job was named; a job is cancelled by its id, its name or the beginning of its id").With("oc-job list shows them"))
	}
	store, err := a.Store()
	if err != nil {
		return refuse(a, err)
	}
	ctx, stop := cli.Interruptible()
	defer stop()
	// All words are understood before the first job is ended.
	var jobs []job.View
	for _, word := range v.IDs {
		j, exact, err := target(ctx, a, store, word)
		if err == nil {
			err = store.MayCancel(j, caller(a), exact, v.Force)
		}
		if err != nil {
			return refuse(a, err)
		}
		jobs = append(jobs, j)
	}
	// All are asked at once, so that the graces do not add up; the answers come in the order of the words.
	ends := make([]error, len(jobs))
	var all sync.WaitGroup
	for i := range jobs {
		all.Go(func() { jobs[i], ends[i] = store.Cancel(ctx, jobs[i].ID, caller(a), a.Now()) })
	}
	all.Wait()
	exit := 0
	for i, j := range jobs {
		if ends[i] != nil {
			exit = refuse(a, ends[i])
			continue
		}
		note := ""
		if j.State.State != job.Cancelled {
			note = " (it had ended before)"
		}
		if _, err := fmt.Fprintf(a.Stdout, "%s %s%s\n", j.ID, j.State.State, note); err != nil {
			return refuse(a, fault.New(fault.RunFailed, "stdout: %w", err))
		}
		store.Heard(caller(a), j.ID)
	}
	return exit
}
