package main

import (
	"context"
	"fmt"
	"slices"

	"opencode-delegate/internal/call"
	"opencode-delegate/internal/cli"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/job"
)

// run is the whole call; its result is the exit code.
func run(a *cli.App, args []string) int {
	before := args[:cli.Dashes(args)]
	switch {
	case len(args) == 0:
		help(a.Stderr, nil)
		return refuse(a, fault.New(fault.Usage, "no verb was given"))
	case slices.Contains(before, "--help"), slices.Contains(before, "-h"):
		before = slices.DeleteFunc(slices.Clone(before), func(s string) bool { return s == "--help" || s == "-h" })
		if err := help(a.Stdout, before); err != nil {
			return fault.RunFailed.Exit()
		}
		return 0
	case before != nil && slices.Contains(before, "--version"):
		if _, err := fmt.Fprintln(a.Stdout, a.Name, cli.Version()); err != nil {
			return fault.RunFailed.Exit()
		}
		return 0
	}
	v, err := parse(args)
	if err != nil {
		return refuse(a, fault.New(fault.Usage, "%w", err).With("oc-job --help lists the verbs, oc-job VERB --help their flags"))
	}
	return v.run(a)
}

// refuse ends a call that gives no job's exit code: it speaks, and prints no signal line.
func refuse(a *cli.App, err error) int {
	f := fault.Of(err)
	a.Say("%s", f.Reason)
	a.SayEach("hint", f.Hints)
	return f.Kind.Exit()
}

// caller is who calls.
func caller(a *cli.App) string { return call.Caller(a.Getenv) }

// target finds the job that a word names; without a word the caller's newest of this repository.
func target(ctx context.Context, a *cli.App, store *job.Store, word string) (job.View, bool, error) {
	if word == "" {
		v, err := store.NewestOf(ctx, caller(a), job.Repository(a.Cwd))
		return v, false, err
	}
	id, exact, err := store.Find(ctx, word)
	if err != nil {
		return job.View{}, false, err
	}
	v, err := store.Look(ctx, id)
	return v, exact, err
}

// targets finds the jobs that words name, each once, in their order.
func targets(ctx context.Context, a *cli.App, store *job.Store, words []string) ([]job.View, error) {
	if len(words) == 0 {
		words = []string{""}
	}
	var found []job.View
	for _, w := range words {
		v, _, err := target(ctx, a, store, w)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(found, func(f job.View) bool { return f.ID == v.ID }) {
			found = append(found, v)
		}
	}
	return found, nil
}
