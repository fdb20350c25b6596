package main

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"opencode-delegate/internal/call"
	"opencode-delegate/internal/cli"
	"opencode-delegate/internal/delegate"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/job"
)

// startVerb takes all words of oc-delegate, and those of a job.
type startVerb struct {
	call.Flags
	jobFlags
	Reuse bool     `group:"job" help:"Print the id of a job that lives and has the same task, directory, model and profile, instead of a second one."`
	After []string `placeholder:"ID,…" group:"job" help:"Begin when these jobs have succeeded (by commas, or repeated)."`
}

// jobFlags are the flags of every verb that begins a job.
type jobFlags struct {
	Name            call.Once `placeholder:"NAME" group:"job" help:"A name by which the job can be called too."`
	MaxJobs         call.Once `placeholder:"N" group:"job" help:"Wait while N jobs are running (default: twice the number of cores)."`
	MaxJobsPerModel call.Once `placeholder:"N" group:"job" help:"Wait while N jobs with this model are running (default 0: no limit)."`
	OnFinish        call.Once `placeholder:"CMD" group:"job" help:"Run this shell command at the end, with the result as JSON on its stdin."`
	JSON            bool      `name:"json" group:"job" help:"Print {\"id\", \"record\"}."`
}

func (v *startVerb) run(a *cli.App) int {
	c, problems := call.Resolve(v.Flags, call.Environment{Getenv: a.Getenv, Home: a.Home, Cwd: a.Cwd})
	s := cli.Start{Call: c, Reuse: v.Reuse}
	problems = append(problems, v.fill(&s)...)
	if !c.Prompt.Given && !v.Explain {
		problems = append(problems, "no task was given; give it as one argument, with --prompt-file, or as - for stdin")
	}
	if v.Explain && v.PrintCommand {
		problems = append(problems, "--explain and --print-command show different things; give one of them")
	}
	if len(problems) > 0 {
		return refuseAll(a, problems)
	}
	switch {
	case v.Explain:
		return a.Look(func(w io.Writer) error { return cli.Explain(w, c) })
	case v.PrintCommand:
		cmd, err := delegate.Dry(c.Request, a.Host(nil))
		if err != nil {
			return refuse(a, err)
		}
		return a.Look(func(w io.Writer) error { return cli.PrintCommand(w, c, cmd) })
	}
	ctx, cancel := cli.Interruptible()
	defer cancel()
	var err error
	if s.Prompt, err = a.ReadPrompt(ctx, c.Prompt); err != nil {
		return refuse(a, err)
	}
	store, err := a.Store()
	if err != nil {
		return refuse(a, err)
	}
	for _, word := range v.After {
		id, _, err := store.Find(ctx, word)
		if err != nil {
			return refuse(a, fmt.Errorf("--after: %w", err))
		}
		s.After = append(s.After, id)
	}
	return begin(ctx, a, store, s, v.JSON)
}

// fill takes over the flags of a job. What comes back are problems with them, a sentence each.
func (f *jobFlags) fill(s *cli.Start) (problems []string) {
	number := func(name string, o call.Once, least int) int {
		if !o.Set {
			return 0
		}
		n, err := strconv.Atoi(o.Text)
		if err != nil || n < least || n > 1<<20 {
			problems = append(problems, fmt.Sprintf("flag --%s: %.40q is no whole number of at least %d", name, o.Text, least))
		}
		return n
	}
	s.MaxJobs, s.MaxPerModel = number("max-jobs", f.MaxJobs, 1), number("max-jobs-per-model", f.MaxJobsPerModel, 0)
	if s.Name = f.Name.Text; f.Name.Set {
		if err := job.CheckName(s.Name); err != nil {
			problems = append(problems, "flag --name: "+err.Error())
		}
	}
	if s.OnFinish = f.OnFinish.Text; f.OnFinish.Set && s.OnFinish == "" {
		problems = append(problems, "flag --on-finish: empty; give a command or leave the flag out")
	}
	return problems
}

// refuseAll answers a wrong call with every problem that it has.
func refuseAll(a *cli.App, problems []string) int {
	for _, p := range problems {
		a.Say("%s", p)
	}
	return fault.Usage.Exit()
}

// begin starts a job and prints its id.
func begin(ctx context.Context, a *cli.App, store *job.Store, s cli.Start, asJSON bool) int {
	st, reused, err := a.Begin(ctx, store, s)
	if err != nil {
		return refuse(a, err)
	}
	if reused {
		a.Say("note: job %s, which is %s, has the same task; no second one was started", st.ID, st.State)
	}
	a.SayEach("note", a.Notes(s.Call, s.Prompt))
	if asJSON {
		return printJSON(a, struct {
			ID     string `json:"id"`
			Record string `json:"record"`
		}{st.ID, store.Record(st.ID).Path()})
	}
	if _, err := fmt.Fprintln(a.Stdout, st.ID); err != nil {
		return refuse(a, fault.New(fault.RunFailed, "stdout: %w", err).With("the job lives: oc-job status "+st.ID))
	}
	return 0
}

// printJSON prints a value for a program; the result is the exit code.
func printJSON(a *cli.App, v any) int {
	if err := a.PrintJSON(v); err != nil {
		return refuse(a, fault.New(fault.RunFailed, "stdout: %w", err))
	}
	return 0
}
