package opencode

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/lazyregexp"
	"opencode-delegate/internal/proc"
	"opencode-delegate/internal/sandbox"
)

// verdict draws the conclusion of a run that has ended; nil is a success by the stream. The tree, the digest and the
// checks are judged elsewhere.
func (w *watch) verdict(a Attempt, exit proc.Exit) *fault.Error {
	if h := w.halted; h != nil {
		if h.fault == nil || h.soft && w.complete() {
			return nil
		}
		return h.fault
	}
	if exit.Signal != "" && !exit.ByUs {
		return fault.New(fault.Incomplete, "the worker was killed by %s", exit.Signal).With(w.resume()...)
	}
	if w.trouble != nil {
		return w.refused()
	}
	if rejected := w.rejections(); rejected != "" {
		return fault.New(fault.PermissionDenied, "a permission that the worker asked for was rejected: %s", rejected).
			With("grant a wider profile, or a directory with --allow-write or --allow-read")
	}
	if w.complete() {
		return nil
	}
	if w.tr.Events() == 0 {
		return w.unstarted(a, exit)
	}
	return w.unfinished(exit)
}

// refused judges an error event that nothing good followed. Where opencode gives no reason in the event, its log may.
func (w *watch) refused() *fault.Error {
	f, known := Classify(*w.trouble)
	if known {
		return f
	}
	for _, ev := range []*Evidence{w.serverError, w.lastFailure} {
		if ev == nil {
			continue
		}
		if better, known := Classify(*ev); known {
			return better
		}
	}
	return f
}

// modelDoubt reports that opencode failed before the first step without a reason: how an unknown model looks without a
// log.
func (w *watch) modelDoubt() bool {
	return w.trouble != nil && w.tr.Steps() == 0 && w.calls == 0 && w.serverError == nil && unexplained().MatchString(w.trouble.Message)
}

// unstarted judges a run without a single event that we know.
func (w *watch) unstarted(a Attempt, exit proc.Exit) *fault.Error {
	noise, _ := w.tr.Noise()
	switch {
	case exit.Code == sandbox.Refused && a.Wrap != nil:
		return fault.New(fault.RunFailed, "the sandbox could not be set up: %s", w.said("no reason was given"))
	case a.Session != "" && strings.HasPrefix(w.fatal, "Session not found"):
		return fault.New(fault.NotFound, "opencode knows no session %s", oneLine(a.Session, 80))
	case noise > 0 || len(w.tr.UnknownTypes()) > 0:
		version := w.version
		if version == "" {
			version = a.Binary.Version
		}
		return fault.New(fault.RunFailed, "unknown event format: opencode %s printed lines and none is an event that this tool knows", oneLine(version, 40))
	case w.lastFailure != nil:
		f, _ := Classify(*w.lastFailure)
		return f
	case w.serverError != nil:
		f, _ := Classify(*w.serverError)
		return f
	case w.locked:
		return &fault.Error{Kind: fault.RunFailed, Transient: true, Reason: oneLine("opencode could not use its database, which another opencode may hold: "+w.fatal, reasonLimit)}
	case w.fatal != "":
		return w.stillborn()
	case asSignal(exit.Code) != "":
		return fault.New(fault.Incomplete, "opencode exited with %d, as after %s", exit.Code, asSignal(exit.Code)).With(w.resume()...)
	case exit.Code != 0:
		return fault.New(fault.RunFailed, "opencode exited with %d: %s", exit.Code, w.said("it printed nothing"))
	}
	return fault.New(fault.EmptyOutput, "opencode exited with 0 and printed nothing")
}

// providerSaid matches a fatal line that passes on what a provider answered.
// keyRefused is how opencode passes on a refused key without its class (recording err-401-default).
var (
	providerSaid = lazyregexp.New(`\bAI_[A-Z]\w*|\bProvider\w*Error\b|\bAPI(Call)?Error\b|\bHTTP[ /]?\d|\bstatus(?: code)?:? \d{3}\b`)
	keyRefused   = lazyregexp.New(`(?i)^(incorrect|invalid|missing) api key\b`)
)

// stillborn judges a run that opencode ended with a line of its own. Unless a provider's answer is in it, its words about
// quotas and access are of a disk, a file or a plugin.
func (w *watch) stillborn() *fault.Error {
	f, _ := Classify(FromLog(LogLine{Error: w.fatal}, time.Time{}))
	named := f.Kind == fault.AuthRequired && keyRefused().MatchString(w.fatal)
	if (f.Kind == fault.QuotaExhausted || f.Kind == fault.AuthRequired) && !named && !providerSaid().MatchString(w.fatal) {
		f = &fault.Error{Kind: fault.RunFailed}
	}
	f.Reason = oneLine("opencode did not start its work: "+w.fatal, reasonLimit)
	return f
}

// unfinished judges a stream that is not one of a success and has no error in it.
func (w *watch) unfinished(exit proc.Exit) *fault.Error {
	finish := w.tr.Reason()
	switch {
	case w.lastFailure != nil && w.failedCalls > 0:
		f, _ := Classify(*w.lastFailure)
		return f
	case w.tr.Open() || finish == "":
		reason := "the stream was cut in the middle of a step"
		if exit.Code != 0 {
			reason = fmt.Sprintf("%s: opencode exited with %d", reason, exit.Code)
			if s := asSignal(exit.Code); s != "" {
				reason += ", as after " + s
			}
		}
		return fault.New(fault.Incomplete, "%s", reason).With(w.resume()...)
	case finish == "length":
		return fault.New(fault.Incomplete, "the reply was cut off by its length").With(w.resume()...)
	case finish == "content-filter":
		return fault.New(fault.RunFailed, "%s", whatFilter)
	case finish == "unknown", finish == "error", finish == "other":
		return fault.New(fault.RunFailed, "the provider ended its reply without saying that it is finished (finish reason %q)", finish)
	case len(w.tr.Refused()) > 0 && !w.tr.Answered():
		return fault.New(fault.PermissionDenied, "a rule denied what the worker tried, and it gave no answer: %s", w.denials()).With("grant a wider profile")
	case finish == "stop":
		return fault.New(fault.EmptyOutput, "the worker ended without an answer")
	}
	return fault.New(fault.Incomplete, "the stream ended after a step with finish reason %q, before the worker's answer", oneLine(finish, 40)).With(w.resume()...)
}

// rejections says what was asked for and rejected, with its patterns where the log has them; "" for nothing.
func (w *watch) rejections() string {
	if w.rejected != "" {
		return w.rejected
	}
	return oneLine(strings.Join(w.tr.Rejected(), ", "), 160)
}

// denials names the tools that a rule denied.
func (w *watch) denials() string { return oneLine(strings.Join(w.tr.Refused(), ", "), 160) }

func (w *watch) said(nothing string) string {
	if w.fatal != "" {
		return w.fatal
	}
	if w.lastText != "" {
		return w.lastText
	}
	return nothing
}

func (w *watch) resume() []string {
	if w.session == "" {
		return nil
	}
	return []string{"continue it: " + cmp.Or(w.resuming, "--session "+w.session)}
}

// asSignal names the signal that an exit code stands for when a shell or a launcher passes it on, or "".
func asSignal(code int) string {
	return map[int]string{129: "SIGHUP", 130: "SIGINT", 131: "SIGQUIT", 132: "SIGILL", 134: "SIGABRT", 135: "SIGBUS", 136: "SIGFPE", 137: "SIGKILL", 139: "SIGSEGV", 143: "SIGTERM"}[code]
}

// timeout is the fault of a limit of ours. What the provider did last is the most likely cause.
func (w *watch) timeout(format string, limit time.Duration) *fault.Error {
	f := fault.New(fault.Timeout, format, limit)
	if w.lastFailure != nil && w.failedCalls > 0 {
		last, _ := Classify(*w.lastFailure)
		f.Reason = oneLine(f.Reason+"; the last model call failed: "+last.Reason, reasonLimit)
		f.ProviderStatus = last.ProviderStatus
	} else if w.calls > 0 && w.tr.Events() == 0 {
		f.Reason += "; the model has sent nothing"
	}
	return f.With(w.resume()...)
}

// quota is the fault of a usage limit; the event, when it came, knows more than the log.
func (w *watch) quota() *fault.Error {
	for _, ev := range []*Evidence{w.trouble, w.lastFailure} {
		if ev == nil {
			continue
		}
		if f, _ := Classify(*ev); f.Kind == fault.QuotaExhausted {
			return f
		}
	}
	return fault.New(fault.QuotaExhausted, "%s", whatQuota)
}

// givenUp is the fault of model calls that kept failing. opencode repeats only what time may heal.
func (w *watch) givenUp() *fault.Error {
	f, _ := Classify(*w.lastFailure)
	if f.Kind == fault.RunFailed {
		f.Transient = true
	}
	f.Reason = oneLine(fmt.Sprintf("%d model calls failed within %s: %s", w.failedCalls, w.limits.Retry, f.Reason), reasonLimit)
	return f
}

// over stops for the end of the context.
func (w *watch) over(cause error) {
	var f *fault.Error
	switch {
	case errors.As(cause, &f):
	case errors.Is(cause, context.DeadlineExceeded):
		f = fault.New(fault.Timeout, "the caller's time limit is over")
	default:
		f = fault.New(fault.Cancelled, "cancelled")
	}
	w.stop(halt{fault: f})
}
