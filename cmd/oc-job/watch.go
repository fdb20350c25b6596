package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"opencode-delegate/cmd/oc-job/watch"
	"opencode-delegate/internal/cli"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/job"
	"opencode-delegate/internal/journal"
	"opencode-delegate/internal/record"
)

type watchVerb struct {
	All  bool `help:"The jobs of every repository, not of this one only."`
	Mine bool `help:"Only your own jobs."`
}

func (v *watchVerb) run(a *cli.App) int {
	store, err := a.Store()
	if err != nil {
		return refuse(a, err)
	}
	w := watched{a, store, selectionOf(a, v.All, v.Mine)}
	err = watch.Run(context.Background(), os.Stdin, os.Stdout, watch.Source{Jobs: w.jobs, Log: w.log, Cancel: w.cancel})
	if errors.Is(err, context.Canceled) {
		err = fault.New(fault.Interrupted, "%w", err)
	}
	if err != nil {
		return refuse(a, err)
	}
	return 0
}

// watched are the jobs of a view.
type watched struct {
	app   *cli.App
	store *job.Store
	sel   selection
}

func (w watched) jobs() ([]watch.Row, error) {
	jobs, err := w.sel.list(context.Background(), w.store)
	rows := make([]watch.Row, len(jobs))
	for i, j := range jobs {
		rows[i] = rowOf(w.app, j, spent(w.store, j))
	}
	return rows, err
}

// log follows the log of a job, which need not have begun.
func (w watched) log(ctx context.Context, id string, out io.Writer) error {
	ended := make(chan struct{})
	go func() {
		if _, err := w.store.Wait(ctx, id); err == nil {
			close(ended)
		}
	}()
	return journal.Log{Path: w.store.Record(id).File(record.Events), Zone: time.Local}.Follow(ctx, out, ended)
}

// cancel ends a job that a person has chosen by its row.
func (w watched) cancel(ctx context.Context, id string) error {
	v, err := w.store.Look(ctx, id)
	if err == nil {
		err = w.store.MayCancel(v, caller(w.app), true, false)
	}
	if err != nil {
		return err
	}
	if v, err = w.store.Cancel(ctx, id, caller(w.app), w.app.Now()); err == nil && !v.State.State.Terminal() {
		err = fmt.Errorf("it is still %s", v.State.State)
	}
	return err
}
