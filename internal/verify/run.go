package verify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"opencode-delegate/internal/excerpt"
	"opencode-delegate/internal/plain"
	"opencode-delegate/internal/proc"
	"opencode-delegate/internal/sandbox"
)

// joined starts the caller's text with one descriptor for both outputs, so that they are in the log in the order in which they were
// written. What still comes by the other is of what wraps the check, or of this line itself.
const joined = `exec "$0" -c "$1" 2>&1`

// errTimeLimit is the cause of a context that the limit of an execution ended.
var errTimeLimit = errors.New("the time limit of the check is over")

// Run carries out one execution and returns when everything that came of it has ended. Whatever keeps the check from an answer of its own is
// its Outcome: [CouldNotRun], with the reason. The error is the cause of ctx when that is over, or says why there is no whole log;
// the Outcome then holds what is known.
func Run(ctx context.Context, c Command) (Outcome, error) {
	began := time.Now()
	if ctx.Err() != nil {
		return Outcome{Verdict: CouldNotRun, Reason: "cancelled before it was started"}, context.Cause(ctx)
	}
	log, err := createLog(c.Log, LogLimit)
	if err != nil {
		return Outcome{Verdict: CouldNotRun, Reason: plain.Line(err.Error(), reasonLimit)}, err
	}
	limit := c.Excerpt
	if limit <= 0 {
		limit = ExcerptLimit
	}
	out := &output{log: log, excerpt: excerpt.New(limit)}
	exit, said, err := c.execute(ctx, out)
	o := c.judge(exit, said, err)
	o.Duration = time.Since(began)
	o.Excerpt, o.Bytes = out.excerpt.Excerpt().Text, log.all
	for _, s := range exit.Survivors {
		o.Survivors = append(o.Survivors, c.Redact.String(s.Name))
	}
	err = log.close()
	o.LogBytes = log.kept
	if ctx.Err() != nil {
		return o, context.Cause(ctx)
	}
	return o, err
}

// execute starts the command and reads its output to the end. said is what came by the descriptor that the check does not have.
func (c Command) execute(ctx context.Context, out *output) (exit proc.Exit, said string, err error) {
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, c.Timeout, errTimeLimit)
		defer cancel()
	}
	shell, err := shellOf(c.Env)
	if err != nil {
		return proc.Exit{}, "", err
	}
	argv, env := []string{shell, "-c", joined, shell, c.Shell}, c.Env
	if c.Wrap != nil {
		wrapped, more, err := c.Wrap(argv)
		if err != nil {
			return proc.Exit{}, "", fmt.Errorf("sandbox: %w", err)
		}
		argv, env = wrapped, append(env[:len(env):len(env)], more...)
	}
	p, err := proc.Start(ctx, proc.Command{Argv: argv, Dir: c.Dir, Env: env, Marker: c.Marker, Grace: c.Grace})
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return proc.Exit{}, "", err
	}
	var beside head
	secretless := c.Redact.Writer(out)
	read := sync.WaitGroup{}
	read.Go(func() {
		_, _ = io.CopyBuffer(onlyWriter{secretless}, p.Stdout, make([]byte, 256<<10))
		_ = secretless.Close()
	})
	read.Go(func() { _, _ = io.Copy(&beside, p.Stderr) })
	exit = p.Wait()
	read.Wait()
	if beside.Len() > 0 {
		_, _ = io.WriteString(out, c.Redact.String(beside.String()))
	}
	if exit.ByUs && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return exit, beside.String(), err
}

// A head keeps the beginning of what is written to it.
type head struct{ bytes.Buffer }

func (h *head) Write(p []byte) (int, error) {
	if room := 4096 - h.Len(); room > 0 {
		h.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

// onlyWriter hides every other method, so that the size of the reads is ours.
type onlyWriter struct{ io.Writer }

// judge makes the verdict of how the execution ended.
func (c Command) judge(exit proc.Exit, said string, err error) Outcome {
	could := func(format string, args ...any) Outcome {
		return Outcome{Verdict: CouldNotRun, Signal: exit.Signal, Reason: plain.Line(c.Redact.String(fmt.Sprintf(format, args...)), reasonLimit)}
	}
	switch {
	case errors.Is(err, errTimeLimit):
		return could("the check did not end within %s", c.Timeout)
	case exit.ByUs:
		return could("the check was ended: %v", err)
	case err != nil:
		return could("the check could not be started: %v", err)
	case exit.Code == sandbox.Refused && said != "":
		return could("the check could not be started: %s", said)
	case exit.Signal != "":
		return could("%s ended the check, and we did not send it", exit.Signal)
	case exit.Code < 0:
		return could("how the check ended is not known")
	}
	o := Outcome{Verdict: Fail, Exit: &exit.Code, Reason: fmt.Sprintf("exit %d", exit.Code)}
	switch name := crashes[exit.Code-128]; {
	case exit.Code == 0:
		o.Verdict, o.Reason = Pass, ""
	case exit.Code == 126:
		o.Verdict, o.Reason = CouldNotRun, "exit 126: a program of the check cannot be executed"
	case exit.Code == 127:
		o.Verdict, o.Reason = CouldNotRun, "exit 127: a program of the check is not there"
	case name != "":
		o.Verdict, o.Reason = CouldNotRun, fmt.Sprintf("exit %d: %s ended a program of the check, and we did not send it", exit.Code, name)
	}
	return o
}

// reasonLimit is how many characters a reason has at most.
const reasonLimit = 300

// crashes are the signals that a shell reports as 128 and their number. Whether it does, or dies of the signal itself, depends on
// the shell and on where in the command the program stands (docs/measured/checks.md), so both mean the same. Left out are those
// whose numbers are exit codes of their own: 129 is what git says to a wrong call. The numbers are those of Linux that POSIX systems share.
var crashes = map[int]string{
	2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 8: "SIGFPE", 9: "SIGKILL", 11: "SIGSEGV", 13: "SIGPIPE",
	14: "SIGALRM", 15: "SIGTERM", 24: "SIGXCPU", 25: "SIGXFSZ",
}
