package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

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
	Reuse bool `group:"job" help:"Print the id of a job that lives and has the same task, directory, model and profile, instead of a second one."`
}

// jobFlags are the flags of every verb that begins a job.
type jobFlags struct {
	Name            call.Once   `placeholder:"NAME" group:"job" help:"A name by which the job can be called too."`
	MaxJobs         call.Once   `placeholder:"N" group:"job" help:"Wait while N jobs are running (default: twice the number of cores)."`
	MaxJobsPerModel call.Once   `placeholder:"N" group:"job" help:"Wait while N jobs with this model are running (default 0: no limit)."`
	OnFinish        call.Once   `placeholder:"CMD" group:"job" help:"Run this shell command at the end, with the result as JSON on its stdin."`
	After           []call.Once `sep:"none" placeholder:"ID" group:"job" help:"Begin when this job has succeeded (several by commas, or repeated)."`
	JSON            bool        `name:"json" group:"job" help:"Print {\"id\", \"record\"}."`
}

func (v *startVerb) run(a *cli.App) int {
	c, problems := call.Resolve(v.Flags, call.Environment{Getenv: a.Getenv, Home: a.Home, Cwd: a.Cwd})
	s := cli.Start{Call: c, Reuse: v.Reuse}
	problems = append(problems, v.fill(a, &s)...)
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
		return a.Look(func(w io.Writer) error { return cli.Explain(w, s.Call) })
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
	return v.begin(ctx, a, store, s)
}

// fill takes over the flags of a job. What comes back are problems with them, a sentence each.
func (f *jobFlags) fill(a *cli.App, s *cli.Start) (problems []string) {
	most, row, err := call.MaxJobs(f.MaxJobs, a.Getenv)
	if err != nil {
		problems = append(problems, err.Error())
	}
	s.MaxJobs, s.Call.Rows = most, append(s.Call.Rows, row)
	if f.MaxJobsPerModel.Set {
		if s.MaxPerModel, err = strconv.Atoi(f.MaxJobsPerModel.Text); err != nil || s.MaxPerModel < 0 || s.MaxPerModel > 1<<20 {
			problems = append(problems, fmt.Sprintf("flag --max-jobs-per-model: %.40q is no whole number of at least 0", f.MaxJobsPerModel.Text))
		}
	}
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

// waitsFor finds the jobs of --after.
func (f *jobFlags) waitsFor(ctx context.Context, store *job.Store) (ids []string, err error) {
	for _, list := range f.After {
		for word := range strings.SplitSeq(list.Text, ",") {
			if word == "" {
				return nil, fault.New(fault.Usage, "flag --after: an id was given, and it is empty; name a job, or leave the flag out")
			}
			id, _, err := store.Find(ctx, word)
			if err != nil {
				return nil, fmt.Errorf("flag --after: %w", err)
			}
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// ignored are the flags of a call that a job which is there already does not heed.
func (f *jobFlags) ignored(s cli.Start) (names []string) {
	for name, set := range map[string]bool{
		"--name": f.Name.Set, "--on-finish": f.OnFinish.Set, "--after": len(f.After) > 0, "--out": s.Call.Reply.Out != "", "--digest": s.Call.Request.Digest,
	} {
		if set {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// begin starts a job and prints its id.
func (f *jobFlags) begin(ctx context.Context, a *cli.App, store *job.Store, s cli.Start) int {
	var err error
	if s.After, err = f.waitsFor(ctx, store); err != nil {
		return refuse(a, err)
	}
	st, reused, err := a.Begin(ctx, store, s)
	if err != nil {
		return refuse(a, err)
	}
	if names := f.ignored(s); reused && len(names) > 0 {
		a.Say("note: the job is as it was started; of this call it does not heed %s", strings.Join(names, ", "))
	}
	if reused {
		a.Say("note: job %s, which %s, has the same task; no second one was started", st.ID, st.State.Sentence())
	}
	a.SayEach("note", a.Notes(s.Call, s.Prompt))
	if f.JSON {
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
