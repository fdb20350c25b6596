package opencode

import (
	"context"
	"io"
	"time"

	"opencode-delegate/internal/event"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/proc"
	"opencode-delegate/internal/redact"
)

// A Driver carries out one attempt and reports each event as it happens.
type Driver func(ctx context.Context, a Attempt, emit func(event.Event) error) (Outcome, error)

// An Attempt is one execution of the worker. It is a value: nothing of it is changed by a run.
type Attempt struct {
	Binary Binary
	Dir    string   // the worker's directory, absolute, symbolic links resolved
	Env    []string // the whole environment, as Environ gives it
	// Wrap puts the command into its sandbox: it returns the command to start instead and the entries that it adds to
	// the environment. nil starts opencode itself.
	Wrap   func(argv []string) (wrapped, env []string, err error)
	Marker string // unique to the run: its job id

	Title   string // never empty: without one opencode makes a paid model call for it
	Model   string // provider/model; empty: opencode's own default
	Variant string
	Agent   string
	Session string   // continue this session; empty: a new one
	Fork    bool     // … as a copy
	Resume  string   // how the caller goes on with its session, for hints; empty: by the flag for one
	Files   []string // attachments, absolute
	Auto    bool     // approve what no rule denies (--auto): a run that may write

	// Prompt is fed to the worker's stdin, to its end. An attempt that is repeated, because another opencode had
	// locked the database, reads it again from the start.
	Prompt io.ReadSeeker

	Limits Limits

	// Learned is told what is known beside the events, whenever it changes: the session can be known minutes before the
	// first event, and a model call that opencode repeats leaves none at all. It is called like emit, from the same
	// goroutine; of changes that follow each other at once it may get the last only. nil: nobody is told.
	Learned func(Facts)

	Events *event.Log  // receives every line of stdout, redacted; nil: nobody
	Stderr io.Writer   // receives the first and the last 256 KiB of opencode's stderr, redacted; nil: nobody
	Redact *redact.Set // what Stderr and the outcome must not show
}

// Facts are what opencode's log and its events have told of a run so far. Two of them are equal when they say the same.
type Facts struct {
	Session string // empty while it has none
	Model   string // provider/model of the last call of the main session; empty while there was none
	Retry   Retry
}

// A Retry is a model call that fails and that opencode repeats, or a limit for whose end it waits.
type Retry struct {
	Reason  string    // one line, at most 300 code points
	Since   time.Time // of the caller's clock: the first call that failed since the last progress; zero when none is under way
	ResetAt time.Time // when the provider says that it may be tried again; zero when it does not say
}

// UnderWay reports whether there is one.
func (r Retry) UnderWay() bool { return !r.Since.IsZero() }

// Limits bound an attempt. Zero means no limit, but for Grace.
type Limits struct {
	Timeout   time.Duration // wall clock, from the call of Run; the worker is sent TERM within 250 ms of it
	Idle      time.Duration // without a sign of progress
	Grace     time.Duration // from TERM to KILL
	Retry     time.Duration // of failing model calls without progress
	MaxCost   float64       // USD, over all steps
	MaxTokens int64         // all five kinds, over all steps

	// Sum is told what the attempt has spent after each step, and returns what the caps are about where they bound
	// several attempts together. nil: the caps bound this one.
	Sum func(cost float64, tokens int64) (allCost float64, allTokens int64)
}

// An Outcome is what an attempt came to. The caller still judges the work tree, the digest and the checks.
type Outcome struct {
	Session string // exact id; empty when none was made
	Model   string // provider/model of the calls as opencode resolved it; the requested one when it did not say
	Agent   string // as opencode resolved it; empty when it did not say
	Exit    proc.Exit
	// Fault is nil for a success by the event stream.
	Fault *fault.Error
	// Notes are sentences for a person: what was unusual about a success, what an old version could not do.
	Notes []string
	// ModelDoubt says that opencode failed before its first step and gave no reason, which is how an unknown model
	// looks where there is no log: compare the model with those of [Models].
	ModelDoubt bool
	Subagents  int // sessions of subagents that were seen; their tokens are in no event
	// StderrTail is the last text that opencode printed beside its log, a line without colours.
	StderrTail string
	// Usage is the sum over all finished steps of the main session.
	Usage    event.Tokens
	Cost     float64 // USD, as opencode computes it; 0 also where it knows no price
	Steps    int
	Duration time.Duration
	// Transcript is what the events came to. Every session on stdout counts as the run's own: opencode prints no other.
	Transcript *event.Transcript
}
