package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"opencode-delegate/internal/call"
	"opencode-delegate/internal/cli"
	"opencode-delegate/internal/delegate"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/job"
	"opencode-delegate/internal/proc"
	"opencode-delegate/internal/record"
	"opencode-delegate/internal/redact"
	"opencode-delegate/internal/sandbox"
)

// role runs the parts of a delegation that are this binary in another process.
func role(args []string) (exit int, ok bool) {
	if exit, ok = proc.Main(args); ok {
		return exit, true
	}
	return sandbox.Main(args)
}

// An app is one call with everything that it finds around it.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	environ        []string
	cwd, home      string
	self           string
	now            func() time.Time

	set   *redact.Set
	speak speaker
}

func newApp() *app {
	a := &app{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, environ: os.Environ(), now: time.Now}
	// What cannot be found is empty here and named by whoever needs it.
	a.cwd, _ = os.Getwd()
	a.home, _ = os.UserHomeDir()
	a.self, _ = os.Executable()
	if real, err := filepath.EvalSymlinks(a.cwd); err == nil && a.cwd != "" {
		a.cwd = real
	}
	a.set = redact.New(a.environ)
	a.speak = newSpeaker(a.stderr, a.set)
	return a
}

func (a *app) getenv(name string) string {
	for i := len(a.environ) - 1; i >= 0; i-- {
		if k, v, ok := strings.Cut(a.environ[i], "="); ok && k == name {
			return v
		}
	}
	return ""
}

// run is the whole call; its result is the exit code.
func (a *app) run(args []string) int {
	switch help, wantVersion := asked(args); {
	case help:
		if err := printHelp(a.stdout); err != nil {
			return fault.RunFailed.Exit()
		}
		return 0
	case wantVersion:
		if _, err := fmt.Fprintln(a.stdout, "oc-delegate", version()); err != nil {
			return fault.RunFailed.Exit()
		}
		return 0
	case len(args) == 0:
		printHelp(a.stderr)
		return a.refuse(fault.New(fault.Usage, "no task was given"))
	}
	flags, err := parse(args)
	if err != nil {
		return a.refuse(fault.New(fault.Usage, "%w", err).With("oc-delegate --help lists the flags"))
	}
	c, problems := call.Resolve(flags, call.Environment{Getenv: a.getenv, Home: a.home, Cwd: a.cwd})
	if !c.Prompt.Given && !flags.Explain {
		problems = append(problems, "no task was given; give it as one argument, with --prompt-file, or as - for stdin")
	}
	if len(problems) > 0 {
		return a.refuseAll(problems)
	}
	switch {
	case flags.Explain:
		return a.look(func(w io.Writer) error { return explain(w, c) })
	case flags.PrintCommand:
		cmd, err := delegate.Dry(c.Request, a.host(c, nil))
		if err != nil {
			return a.refuse(fault.Of(err))
		}
		return a.look(func(w io.Writer) error { return printCommand(w, c, cmd) })
	}
	ctx, cancel := interruptible()
	defer cancel()
	return a.delegate(ctx, cancel, c)
}

// look prints what was asked to be seen, without secrets.
func (a *app) look(print func(io.Writer) error) int {
	w := a.set.Writer(a.stdout)
	err := print(w)
	if cerr := w.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return a.refuse(fault.New(fault.RunFailed, "stdout: %w", err))
	}
	return 0
}

// host is what a delegation needs of this machine and this call.
func (a *app) host(c call.Call, store *job.Store) delegate.Host {
	h := delegate.Host{
		Self: a.self, Environ: a.environ, Home: a.home, Cwd: a.cwd, Secrets: a.set, Now: a.now,
		Opencode: c.Opencode.Text, OpencodeSource: c.Opencode.Source,
	}
	h.StateRoot, _ = job.RootPath(a.getenv, a.home)
	if store != nil {
		h.CacheDir = store.CacheDir()
	}
	return h
}

// delegate is one real delegation: prompt, checks, record, run, answer.
func (a *app) delegate(ctx context.Context, cancel context.CancelFunc, c call.Call) int {
	prompt, err := readPrompt(ctx, c.Prompt, a.stdin)
	if err != nil {
		return a.refuse(fault.Of(err))
	}
	root, err := job.RootPath(a.getenv, a.home)
	if err != nil {
		return a.refuse(fault.Of(err))
	}
	store, err := job.OpenStore(root, a.set)
	if err != nil {
		return a.refuse(fault.Of(err))
	}
	host := a.host(c, store)
	if host.SessionKnown, err = store.FindSession(&c.Request, c.Continue); err != nil {
		return a.refuse(fault.Of(err))
	}
	plan, err := delegate.Prepare(ctx, c.Request, host)
	if err != nil {
		return a.refuse(fault.Of(err))
	}
	a.speak.lines("note", a.notes(c, prompt))
	meter := newMeter(c.Progress, a.stderr, a.speak.say)
	res, rerr := store.Run(ctx, plan, prompt, meter.show)
	// From here on a signal has its usual effect: whoever does not read our output must not keep us.
	cancel()
	meter.close()
	return a.report(c, res, rerr)
}

// report gives the answer and says how it went.
func (a *app) report(c call.Call, res delegate.Result, recordErr error) int {
	if recordErr != nil {
		if f := fault.Of(recordErr); f.Kind == fault.Usage {
			return a.refuse(f)
		}
		res.Notes = append(res.Notes, fmt.Sprintf("the record is not complete: %v", recordErr))
	}
	if err := answer(c, res, a.stdout, a.set); err != nil {
		if res.Status == fault.OK {
			res.Status, res.Exit = fault.RunFailed, fault.RunFailed.Exit()
			res.Reason = fmt.Sprintf("the run succeeded, but its answer could not be delivered: %v", err)
		} else {
			a.speak.say("the answer could not be delivered: %v", err)
		}
		res.Hints = append(res.Hints, "the whole answer is in "+filepath.Join(res.Record, record.Text))
	}
	if res.Status != fault.OK {
		a.speak.say("%s", res.Reason)
	}
	if n := int64(len([]rune(res.Text))); c.WarnChars > 0 && !c.Request.Digest && !c.JSON && c.Out == "" && (n > c.WarnChars || res.TextTruncated) {
		res.Notes = append(res.Notes, fmt.Sprintf("the answer has more than %d characters; --digest would keep it short", c.WarnChars))
	}
	a.speak.lines("note", res.Notes)
	a.speak.lines("hint", res.Hints)
	return a.signal(c, cli.Of(res))
}

// refuseAll answers a wrong call with every problem that it has.
func (a *app) refuseAll(problems []string) int {
	for _, p := range problems {
		a.speak.say("%s", p)
	}
	return a.signal(call.Call{}, cli.OfFault(fault.New(fault.Usage, "%s", strings.Join(problems, "; "))))
}

// refuse ends a call that has no result.
func (a *app) refuse(f *fault.Error) int {
	a.speak.say("%s", f.Reason)
	a.speak.lines("hint", f.Hints)
	return a.signal(call.Call{}, cli.OfFault(f))
}

// signal prints the last line and returns the exit code.
func (a *app) signal(c call.Call, s cli.Signal) int {
	if c.UsageLog != "" {
		if err := cli.AppendSignal(c.UsageLog, s, a.set); err != nil {
			a.speak.say("note: usage log: %v", err)
		}
	}
	cli.WriteSignal(a.stderr, s, a.set) // a closed stderr leaves the exit code as the only voice
	return s.Exit
}

// readPrompt reads the prompt, but not past the end of the context: a pipe may stay open for ever.
func readPrompt(ctx context.Context, p call.Prompt, stdin io.Reader) (string, error) {
	type read struct {
		text string
		err  error
	}
	ch := make(chan read, 1)
	go func() {
		text, err := p.Read(stdin)
		ch <- read{text, err}
	}()
	select {
	case r := <-ch:
		if r.err != nil {
			return "", fault.New(fault.Usage, "%w", r.err)
		}
		return r.text, nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// notes are remarks about the call that change nothing.
func (a *app) notes(c call.Call, prompt string) []string {
	var notes []string
	if c.Request.Profile == "read-only" && call.LooksLikeWriting(prompt) {
		notes = append(notes, "the task seems to ask for changes, but the worker may only read; --write lets it edit")
	}
	if strings.HasPrefix(c.Request.Dir, "/mnt/") && isWSL() {
		notes = append(notes, "work below /mnt is slow under WSL; a directory of the Linux file system is faster")
	}
	if a.set.Found(prompt) {
		notes = append(notes, "the task seems to hold a secret; the record keeps the task as it is")
	}
	return notes
}

func isWSL() bool {
	v, err := os.ReadFile("/proc/sys/kernel/osrelease")
	return err == nil && strings.Contains(strings.ToLower(string(v)), "microsoft")
}
