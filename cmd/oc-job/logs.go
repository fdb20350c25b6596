package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"opencode-delegate/internal/call"
	"opencode-delegate/internal/cli"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/journal"
	"opencode-delegate/internal/record"
)

type logsVerb struct {
	ID     call.Once `arg:"" optional:"" help:"The job (default: your newest of this repository)."`
	Follow bool      `short:"f" help:"Go on until the job has ended."`
	Raw    bool      `help:"The events as they are, a JSON object a line."`
}

func (v *logsVerb) run(a *cli.App) int {
	store, err := a.Store()
	if err != nil {
		return refuse(a, err)
	}
	ctx, stop := cli.Interruptible()
	defer stop()
	j, _, err := target(ctx, a, store, v.ID)
	if err != nil {
		return refuse(a, err)
	}
	log := journal.Log{Path: store.Record(j.ID).File(record.Events), Raw: v.Raw, Zone: time.Local}
	if v.Follow {
		ended := make(chan struct{})
		go func() {
			// A record that has gone has ended too.
			if _, _ = store.Wait(ctx, j.ID); ctx.Err() == nil {
				close(ended)
			}
		}()
		err = log.Follow(ctx, a.Stdout, ended)
	} else {
		err = log.Print(ctx, a.Stdout, !j.Live())
	}
	for i, path := range store.Logs(j.ID)[1:] {
		if err != nil {
			break
		}
		if !v.Raw {
			fmt.Fprintf(a.Stdout, "try %d:\n", i+2)
		}
		log.Path = path
		err = log.Print(ctx, a.Stdout, true)
	}
	switch {
	case err == nil:
		return 0
	case errors.Is(err, fs.ErrNotExist):
		a.Say("job %s has no log yet: it %s", j.ID, j.State.State.Sentence())
		return 0
	case ctx.Err() != nil:
		return refuse(a, context.Cause(ctx))
	}
	return refuse(a, fault.New(fault.RunFailed, "job %s: %w", j.ID, err))
}
