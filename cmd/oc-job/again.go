package main

import (
	"context"
	"path/filepath"
	"slices"

	"opencode-delegate/internal/call"
	"opencode-delegate/internal/cli"
	"opencode-delegate/internal/delegate"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/job"
	"opencode-delegate/internal/permission"
	"opencode-delegate/internal/plain"
	"opencode-delegate/internal/tiers"
)

// againFlags are those of every verb that begins a job from an earlier one.
type againFlags struct {
	jobFlags
	Timeout call.Once `placeholder:"TIME" group:"limit" help:"Another wall clock than that of the earlier job."`
}

// An earlier is a job that has ended and is begun from.
type earlier struct {
	app   *cli.App
	store *job.Store
	view  job.View
	req   delegate.Request
	reply call.Reply
}

// earlierJob reads what a job was asked to do. One that has not ended is refused.
func earlierJob(ctx context.Context, a *cli.App, word call.Once) (earlier, error) {
	store, err := a.Store()
	if err != nil {
		return earlier{}, err
	}
	v, _, err := target(ctx, a, store, word)
	if err != nil {
		return earlier{}, err
	}
	e := earlier{app: a, store: store, view: v}
	if _, err := store.Result(v); err != nil && fault.Of(err).Kind == fault.JobRunning {
		return e, err
	}
	if e.req, err = store.ReadRequest(v.ID); err != nil {
		return e, fault.New(fault.JobLost, "what job %s was asked to do cannot be read: %w", v.ID, err)
	}
	if l, err := store.ReadLaunch(v.ID); err == nil {
		e.reply = l.Reply
	}
	return e, nil
}

// session is the one that the job left, if it can be gone on in.
func (e earlier) session() (string, error) {
	switch v := e.view; {
	case v.Session == "":
		return "", fault.New(fault.NotFound, "job %s has no session: it ended before opencode had begun one", v.ID).With("oc-job retry " + v.ID + " begins again")
	case v.Dead != "":
		return "", fault.New(fault.NotFound, "the session of job %s cannot be continued: %s", v.ID, v.Dead).With("oc-job retry " + v.ID + " begins again, in a new one")
	}
	return e.view.Session, nil
}

// onward lets a call go on in the session that the job left, of an isolated one in a copy with its work. More than one worker cannot go on in a session, and
// another model would not begin in it: neither is asked for again.
func (e earlier) onward(f *call.Flags, session string) error {
	f.Session = call.Once{Text: session, Set: true}
	if !e.req.Isolate {
		return nil
	}
	f.BestOf, f.Escalate, f.Isolate = call.Once{}, nil, true
	return e.from(f, e.view)
}

// anew lets a call begin where the job began: one that went on with the work of another goes on with that again.
func (e earlier) anew(ctx context.Context, f *call.Flags) error {
	if !e.req.Isolate || e.req.Onward == "" {
		return nil
	}
	v, err := e.store.Look(ctx, filepath.Base(filepath.Dir(filepath.Dir(e.req.Onward)))) // of the path in the record only that is believed
	if err != nil {
		return err
	}
	return e.from(f, v)
}

// from lets a call begin with the work that an isolated job has left.
func (e earlier) from(f *call.Flags, v job.View) error {
	w, err := e.store.Work(v)
	if err != nil {
		return err
	}
	if f.Onward = w.Place(); f.Onward == "" {
		return fault.New(fault.NotFound, "the copy of job %s is not there any more", v.ID).With("oc-job result " + v.ID + " has its answer; begin a new job with what of it is still to be done")
	}
	return nil
}

// again is the earlier request once more, with other words where change sets some. What comes back are problems with them, a sentence each.
func (e earlier) again(f againFlags, change func(*call.Flags)) (cli.Start, []string) {
	flags := call.FlagsOf(e.req)
	if f.Timeout.Set {
		flags.Timeout = f.Timeout
	}
	change(&flags)
	if flags.Recipe.Profile == permission.Research {
		dir, err := e.store.ResearchDir()
		if err != nil {
			return cli.Start{}, []string{err.Error()}
		}
		flags.Recipe.Dir = dir
	}
	c, problems := call.Resolve(flags, call.Environment{Getenv: e.app.Getenv, Home: e.app.Home, Cwd: e.app.Cwd})
	if req := &c.Request; req.Model == e.req.Model && !flags.Tier.Set {
		req.ModelSource = "job " + e.view.ID
		if slices.Contains(tiers.Names(), tiers.Name(e.req.Tier)) {
			req.Tier = e.req.Tier
		}
	}
	c.Reply.JSON, c.Reply.Out = e.reply.JSON, "" // the earlier answer stays where it is
	s := cli.Start{Call: c}
	return s, append(problems, f.fill(e.app, &s)...)
}

type continueVerb struct {
	ID         call.Once `arg:"" optional:"" help:"The job."`
	Task       []string  `arg:"" optional:"" help:"What is to be done now, as for oc-delegate; - reads it from stdin."`
	PromptFile call.Once `placeholder:"FILE" group:"task" help:"Read the task from FILE."`
	againFlags
}

func (v *continueVerb) run(a *cli.App) int {
	if len(v.Task) == 0 && !v.PromptFile.Set {
		return refuse(a, fault.New(fault.Usage, "no task was given").With(`a job and what is to be done now: oc-job continue ID "task"; - reads the task from stdin`))
	}
	ctx, stop := cli.Interruptible()
	defer stop()
	e, err := earlierJob(ctx, a, v.ID)
	if err != nil {
		return refuse(a, err)
	}
	session, err := e.session()
	if err != nil {
		return refuse(a, err)
	}
	s, problems := e.again(v.againFlags, func(f *call.Flags) {
		f.Task, f.PromptFile, f.Review = v.Task, v.PromptFile, nil // what is asked now is no review
		err = e.onward(f, session)
	})
	if err != nil {
		return refuse(a, err)
	}
	if len(problems) > 0 {
		return refuseAll(a, problems)
	}
	if s.Prompt, err = a.ReadPrompt(ctx, s.Call.Prompt); err != nil {
		return refuse(a, err)
	}
	s.ContinueOf = e.view.ID
	return v.begin(ctx, a, e.store, s)
}

type retryVerb struct {
	ID    call.Once `arg:"" optional:"" help:"The job (default: your newest of this repository)."`
	Tier  call.Once `placeholder:"TIER" group:"model" help:"Another tier than that of the earlier job."`
	Model call.Once `short:"m" placeholder:"PROVIDER/MODEL" group:"model" help:"Another model than that of the earlier job."`
	againFlags
}

func (v *retryVerb) run(a *cli.App) int {
	ctx, stop := cli.Interruptible()
	defer stop()
	e, err := earlierJob(ctx, a, v.ID)
	if err != nil {
		return refuse(a, err)
	}
	s, problems := e.again(v.againFlags, func(f *call.Flags) {
		if v.Tier.Set {
			f.Tier, f.Model, f.Variant = v.Tier, call.Once{}, call.Once{}
		}
		if v.Model.Set {
			f.Model, f.Variant = v.Model, call.Once{}
		}
		err = e.anew(ctx, f)
	})
	if err != nil {
		return refuse(a, err)
	}
	if len(problems) > 0 {
		return refuseAll(a, problems)
	}
	if s.Prompt, err = e.store.ReadPrompt(e.view.ID); err != nil {
		return refuse(a, err)
	}
	s.Task, s.RetryOf = e.view.Task, e.view.ID
	return v.begin(ctx, a, e.store, s)
}

type recoverVerb struct {
	ID call.Once `arg:"" optional:"" help:"The job (default: your newest of this repository)."`
	againFlags
}

func (v *recoverVerb) run(a *cli.App) int {
	ctx, stop := cli.Interruptible()
	defer stop()
	e, err := earlierJob(ctx, a, v.ID)
	if err != nil {
		return refuse(a, err)
	}
	switch e.view.State.State {
	case job.Lost, job.TimedOut, job.Interrupted:
	default:
		hint := "oc-job retry " + e.view.ID + " begins again"
		if e.view.Session != "" {
			hint = "oc-job continue " + e.view.ID + " goes on in its session, " + hint
		}
		return refuse(a, fault.New(fault.Usage, "job %s %s; only a run that died, timed out or was interrupted can be resumed", e.view.ID, e.view.State.State.Sentence()).
			With(hint))
	}
	if e.req.Review != nil && len(e.req.Review.Parts) > 1 {
		return refuse(a, fault.New(fault.Usage, "job %s is a review in %d parts, each with a session of its own; it cannot be resumed as one", e.view.ID, len(e.req.Review.Parts)).
			With("oc-job retry "+e.view.ID+" begins again"))
	}
	session, err := e.session()
	if err != nil {
		return refuse(a, err)
	}
	s, problems := e.again(v.againFlags, func(f *call.Flags) {
		err = e.onward(f, session)
		f.Resumes = f.Onward != ""
	})
	if err != nil {
		return refuse(a, err)
	}
	if len(problems) > 0 {
		return refuseAll(a, problems)
	}
	// Whether opencode still has the session is worth its two seconds here: nobody resumes what is not there.
	if _, err := delegate.Prepare(ctx, s.Call.Request, a.Host(e.store)); err != nil {
		return refuse(a, err)
	}
	task, err := e.store.ReadPrompt(e.view.ID)
	if err != nil {
		return refuse(a, err)
	}
	s.Prompt, s.Task, s.ContinueOf = resumption(e.view, task), e.view.Task, e.view.ID
	if e.view.State.State == job.TimedOut && !v.Timeout.Set {
		a.Say("note: it has the same limit as before, %s; --timeout gives it more", s.Call.Request.Timeout)
	}
	a.Say("resuming session %s of job %s: %s", session, e.view.ID, plain.Line(e.view.Reason, 200))
	return v.begin(ctx, a, e.store, s)
}

// resumption is what the worker is told. The task comes again: a run can die before its first word was stored.
func resumption(v job.View, task string) string {
	return "Your work on this task was cut off before it was done (" + plain.Line(v.Reason, 200) + "). " +
		"See first what is already there, then go on to its end; do not begin anew what is done. The task:\n\n" + task
}
