package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"opencode-delegate/internal/call"
	"opencode-delegate/internal/cli"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/job"
	"opencode-delegate/plugin"
)

// run is the whole call; its result is the exit code.
func run(a *cli.App, args []string) int {
	before := args[:cli.Dashes(args)]
	switch {
	case len(before) == 0:
		help(a.Stderr, nil)
		return refuse(a, fault.New(fault.Usage, "no verb was given"))
	case slices.Contains(before, "--help"), slices.Contains(before, "-h"):
		before = slices.DeleteFunc(slices.Clone(before), func(s string) bool { return s == "--help" || s == "-h" })
		if err := help(a.Stdout, before); err != nil {
			return fault.RunFailed.Exit()
		}
		return 0
	case slices.Contains(before, "--version"):
		if _, err := fmt.Fprintln(a.Stdout, a.Name, cli.Version()); err != nil {
			return fault.RunFailed.Exit()
		}
		return 0
	}
	if before[0] == "help" {
		if err := help(a.Stdout, before[1:]); err != nil {
			return fault.RunFailed.Exit()
		}
		return 0
	}
	if slices.Contains(plugin.Kept, before[0]) && slices.Contains(before[1:], "--args-from-hook") {
		return fromHook(a, before[0], args[1:])
	}
	return carryOut(a, args)
}

// carryOut runs a verb with its words.
func carryOut(a *cli.App, args []string) int {
	v, err := parse(args)
	if err == nil {
		return v.run(a)
	}
	before := args[:cli.Dashes(args)]
	f := fault.New(fault.Usage, "%w", err)
	switch verb := before[0]; {
	case !slices.Contains(verbs(), verb):
		f = f.With("oc-job --help says what each verb does")
	case strings.HasPrefix(f.Reason, "unknown flag -") && strings.Contains(strings.TrimPrefix(f.Reason, "unknown flag "), " "):
		f = f.With("a task that begins with a dash goes after --")
	default:
		f = f.With("oc-job " + verb + " --help lists its flags")
	}
	if before[0] == "result" || before[0] == "wait" { // which end with a signal line
		return a.Refuse(f)
	}
	return refuse(a, f)
}

// brokenPipe is the exit code of a program that SIGPIPE ends, as a shell shows it.
const brokenPipe = 141

// refuse ends a call that gives no job's exit code: it speaks, and prints no signal line.
func refuse(a *cli.App, err error) int {
	if errors.Is(err, syscall.EPIPE) {
		return brokenPipe // whoever read our output has seen enough
	}
	f := fault.Of(err)
	a.Say("%s", f.Reason)
	a.SayEach("hint", f.Hints)
	return f.Kind.Exit()
}

// caller is who calls.
func caller(a *cli.App) string { return call.Caller(a.Getenv) }

// target finds the job that a word names; without a word the caller's newest of this repository.
func target(ctx context.Context, a *cli.App, store *job.Store, word call.Once) (job.View, bool, error) {
	if !word.Set {
		v, err := store.NewestOf(ctx, caller(a), job.Repository(a.Cwd))
		return v, false, err
	}
	if word.Text == "" { // what a caller's $id holds when its start was refused
		return job.View{}, false, fault.New(fault.Usage, "an id was given, and it is empty; name a job, or leave the id out for your newest")
	}
	id, exact, err := store.Find(ctx, word.Text)
	if err != nil {
		return job.View{}, false, err
	}
	v, err := store.Look(ctx, id)
	return v, exact, err
}

// targets finds the jobs that words name, each once, in their order.
func targets(ctx context.Context, a *cli.App, store *job.Store, words []call.Once) ([]job.View, error) {
	if len(words) == 0 {
		words = []call.Once{{}}
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
