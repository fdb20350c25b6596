package main

import (
	"context"
	"fmt"

	"opencode-delegate/internal/call"
	"opencode-delegate/internal/cli"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/job"
)

type discardVerb struct {
	ID    call.Once `arg:"" optional:"" help:"The job."`
	Force bool      `help:"Also when a landing was cut off, or no patch can be kept."`
}

func (v *discardVerb) run(a *cli.App) int {
	if !v.ID.Set {
		return refuse(a, fault.New(fault.Usage, "no job was named; work is discarded by the job's id, its name or the beginning of its id").With("oc-job list shows them"))
	}
	return withWork(a, v.ID, func(ctx context.Context, store *job.Store, id string) error {
		w, again, err := store.Discard(ctx, id, landingCall(a, v.Force))
		if err != nil {
			return err
		}
		if again {
			a.Say("the work of job %s was discarded on %s; nothing was done", id, w.Landed.At.UTC().Format("2006-01-02 15:04 MST"))
			return nil
		}
		files := 0
		if counts, err := store.Counts(ctx, id, a.Environ); err == nil {
			files = len(counts)
		}
		n := len(w.Tries)
		what := fmt.Sprintf("%d %s, %d changed %s", n, plural(n, "copy", "copies"), files, plural(files, "file", "files"))
		if _, err := fmt.Fprintf(a.Stdout, "discarded %s: %s\n", id, what); err != nil {
			return fault.New(fault.RunFailed, "stdout: %w", err)
		}
		if files > 0 {
			a.Say("the patch stays in the record: oc-job diff %s", id)
		}
		return nil
	})
}
