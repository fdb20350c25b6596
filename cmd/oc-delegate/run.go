package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"opencode-delegate/internal/call"
	"opencode-delegate/internal/cli"
	"opencode-delegate/internal/delegate"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/job"
)

// run is the whole call; its result is the exit code.
func run(a *cli.App, args []string) int {
	verb, _ := verbIn(args)
	switch help, version := asked(args); {
	case help:
		if err := printHelp(a.Stdout, verb); err != nil {
			return fault.RunFailed.Exit()
		}
		return 0
	case version:
		if _, err := fmt.Fprintln(a.Stdout, a.Name, cli.Version()); err != nil {
			return fault.RunFailed.Exit()
		}
		return 0
	case len(args) == 0:
		printHelp(a.Stderr, "")
		return a.Refuse(fault.New(fault.Usage, "no task was given"))
	}
	cmd, err := parse(args)
	if err != nil {
		f := fault.New(fault.Usage, "%w", err).With(strings.TrimSpace("oc-delegate "+verb) + " --help lists the flags")
		if flag, ok := strings.CutPrefix(f.Reason, "unknown flag -"); ok && strings.Contains(flag, " ") {
			f = f.With("a task that begins with a dash goes after --")
		}
		return a.Refuse(f)
	}
	if p, ok := cmd.(prepared); ok {
		if err := p.prepare(a); err != nil {
			return a.Refuse(fault.Of(err))
		}
	}
	c, problems := call.Resolve(cmd.flags(), call.Environment{Getenv: a.Getenv, Home: a.Home, Cwd: a.Cwd})
	maxWait, row, err := call.MaxWait(cmd.own().MaxWait, a.Getenv)
	c.Rows = append(c.Rows, row)
	if err != nil {
		problems = append(problems, err.Error())
	}
	if missing := cmd.needs(c); missing != "" && !cmd.flags().Explain {
		problems = append(problems, missing)
	}
	if len(problems) > 0 {
		return a.RefuseAll(problems)
	}
	switch {
	case cmd.flags().Explain:
		return a.Look(func(w io.Writer) error { return cli.Explain(w, c) })
	case cmd.flags().PrintCommand:
		dry, err := delegate.Dry(c.Request, a.Host(nil))
		if err != nil {
			return a.Refuse(fault.Of(err))
		}
		return a.Look(func(w io.Writer) error { return cli.PrintCommand(w, c, dry) })
	case maxWait > 0:
		return follow(a, cmd, c, maxWait)
	}
	ctx, cancel := cli.Interruptible()
	defer cancel()
	return foreground(ctx, cancel, a, cmd, c)
}

// foreground is one real delegation: prompt, checks, record, run, answer.
func foreground(ctx context.Context, cancel context.CancelFunc, a *cli.App, cmd command, c call.Call) int {
	t, err := cmd.task(ctx, a, c)
	if err != nil {
		return a.Refuse(fault.Of(err))
	}
	if c.Request.Review, c.Request.MayRevert = t.review, t.reverts; t.nothing != "" {
		return a.Report(c.Reply, delegate.Nothing(c.Request, a.Host(nil), t.nothing, t.hints...), nil)
	}
	store, err := a.Store()
	if err != nil {
		return a.Refuse(fault.Of(err))
	}
	host := a.Host(store)
	if host.SessionKnown, err = store.FindSession(ctx, &c.Request, c.Continue); err != nil {
		return a.Refuse(fault.Of(err))
	}
	plan, err := delegate.Prepare(ctx, c.Request, host)
	if err != nil {
		return a.Refuse(fault.Of(err))
	}
	a.SayEach("note", t.notes)
	meter := newMeter(c.Progress, a.Stderr, a.Say)
	res, rerr := store.Run(ctx, plan, job.Order{Prompt: t.prompt, Task: t.title, From: a.Cwd}, meter.show)
	// From here on a signal has its usual effect: whoever does not read our output must not keep us.
	cancel()
	meter.close()
	if rerr == nil && res.ID == "" { // only the repository, or opencode itself, could tell that the call is wrong
		return a.Refuse(fault.New(res.Status, "%s", res.Reason).With(res.Hints...))
	}
	res.Notes = append(res.Notes, remarksOn(cmd, res)...)
	return a.Report(c.Reply, res, rerr)
}
