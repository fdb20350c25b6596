package main

import (
	"bufio"
	"context"
	"fmt"

	"opencode-delegate/internal/call"
	"opencode-delegate/internal/cli"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/job"
)

type undoVerb struct {
	ID    call.Once `arg:"" optional:"" help:"The job."`
	Force bool      `help:"Also what has changed since; what is there is kept first."`
}

func (v *undoVerb) run(a *cli.App) int {
	if !v.ID.Set {
		return refuse(a, fault.New(fault.Usage, "no job was named; work is undone by the job's id, its name or the beginning of its id").With("oc-job list shows them"))
	}
	return withWork(a, v.ID, func(ctx context.Context, store *job.Store, id string) error {
		u, again, err := store.Undo(ctx, id, landingCall(a, v.Force))
		if err != nil {
			return err
		}
		if again {
			a.Say("the work of job %s was undone on %s in %s; nothing was done", id, u.At.UTC().Format("2006-01-02 15:04 MST"), u.Dir)
			return nil
		}
		w := bufio.NewWriter(a.Stdout)
		if err := listFiles(a, w, "undone", u.Files, u.Changed, nil); err != nil {
			return fault.New(fault.RunFailed, "stdout: %w", err)
		}
		for i, path := range u.Stayed {
			if i == listedFiles {
				fmt.Fprintf(w, "and %d more stayed\n", len(u.Stayed)-i)
				break
			}
			fmt.Fprintf(w, "stayed\t%s\tit holds what is not of the run\n", shownPath(a, path))
		}
		if err := w.Flush(); err != nil {
			return fault.New(fault.RunFailed, "stdout: %w", err)
		}
		if u.Changed == 0 {
			a.Say("nothing in %s had to be changed", u.Dir)
		}
		if u.Saved != "" {
			a.Say("what was there before is kept in %s", u.Saved)
		}
		return nil
	})
}
