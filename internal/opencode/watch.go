package opencode

import (
	"fmt"
	"slices"
	"time"

	"opencode-delegate/internal/event"
	"opencode-delegate/internal/fault"
)

const (
	// linger is how long a process may stay silent after a complete answer before it is ended.
	linger = 5 * time.Second
	// quotaWait is for the line that says that the turn has ended, which follows the one of a usage limit at once
	// unless opencode means to try again. Then the error event is on its way, with the provider's status and body.
	quotaWait = 1500 * time.Millisecond
	// sessionLimit bounds what is remembered of sessions: a plugin can print any number of lines.
	sessionLimit = 4096
)

// A halt is our own decision to end a run.
type halt struct {
	fault *fault.Error // nil: the run is complete and the process merely did not leave
	note  string
	// soft halts give way to a complete stream: what is there is there.
	soft bool
	// hard halts leave no grace: each moment more costs the caller.
	hard bool
}

// A watch is the state of one run. All times are the caller's clock's.
type watch struct {
	limits   Limits
	resuming string // Attempt.Resume
	start    time.Time
	progress time.Time // last sign of progress
	failing  time.Time // first failed call since the last progress; zero when none
	retry    Retry     // the same for the caller, until opencode gives up
	quotaAt  time.Time // when to stop for a usage limit; zero when none was seen
	doneAt   time.Time // when the complete process is to be ended; zero when it is not complete or works on

	halted *halt

	// What the events said. opencode prints those of the run's own session only, so whatever comes counts.
	tr        *event.Transcript
	session   string
	lastEvent time.Time // of opencode's clock
	unknowns  int       // steps that finished as "unknown" with nothing done in between
	trouble   *Evidence // the last error event that nothing good followed
	healed    []string

	// What the log said.
	calls        int // model calls that began
	model, agent string
	subagents    map[string]bool
	calling      map[string]bool // sessions whose call began after their last step did
	version      string
	loops        bool      // its steps are told
	failedCalls  int       // since the last progress
	lastFailure  *Evidence // of a call that failed and was not followed by progress
	serverError  *Evidence // of opencode's own server
	fatal        string    // `Error: …`
	lastText     string    // the last line that is no line of a log
	locked       bool      // the database was
	rejected     string    // a permission; the events may tell of it too
}

func newWatch(a Attempt, start time.Time) *watch {
	w := &watch{tr: &event.Transcript{}, limits: a.Limits, resuming: a.Resume, start: start, progress: start, subagents: map[string]bool{}, calling: map[string]bool{}}
	if !a.Fork {
		w.session = a.Session
	}
	return w
}

// complete reports whether the stream is one of a success, as far as it goes.
func (w *watch) complete() bool { return w.tr.Complete() && w.rejected == "" }

func (w *watch) stop(h halt) {
	if w.halted == nil {
		w.halted = &h
	}
}

// moved notes real progress at a time of opencode's clock: failures before it have healed. The two outputs of opencode
// reach us in any order, its time stamps say what came first.
func (w *watch) moved(at, now time.Time) {
	w.progress = now
	if w.lastFailure != nil && !at.IsZero() && at.Before(w.lastFailure.At) {
		return
	}
	if w.failedCalls > 0 && w.lastFailure != nil {
		f, _ := Classify(*w.lastFailure)
		w.heal(fmt.Sprintf("%d failed model calls were retried: %s", w.failedCalls, f.Reason))
	}
	w.failing, w.quotaAt, w.failedCalls, w.lastFailure = time.Time{}, time.Time{}, 0, nil
	w.retry = Retry{}
}

// retries takes what became of a model call that opencode repeats.
func (w *watch) retries(ev Evidence, f *fault.Error) {
	w.retry = Retry{Reason: f.Reason, Since: w.failing}
	if f.RetryAfter > 0 {
		w.retry.ResetAt = ev.At.Add(f.RetryAfter).Truncate(time.Second)
	}
}

// facts are for the caller.
func (w *watch) facts() Facts { return Facts{Session: w.session, Model: w.model, Retry: w.retry} }

func (w *watch) heal(note string) {
	if note = oneLine(note, reasonLimit); len(w.healed) < 8 && !slices.Contains(w.healed, note) {
		w.healed = append(w.healed, note)
	}
}

// event takes one event of the stream.
func (w *watch) event(e event.Event, now time.Time) {
	if w.session == "" {
		w.session = e.Session
	}
	own := e
	own.Session = ""
	w.tr.Add(own)
	if e.Type == event.Noise {
		return
	}
	if e.At.After(w.lastEvent) {
		w.lastEvent = e.At
	}
	// Any event is a sign of life; the retries of a broken stream begin a step each, so that alone heals nothing.
	w.progress = now
	switch e.Type {
	case event.TextBlock, event.Reasoning:
		w.moved(e.At, now)
	case event.ToolUse:
		w.unknowns = 0
		w.moved(e.At, now)
	case event.StepFinish:
		w.step(e, now)
	case event.Failure:
		w.failed(e, now)
	}
	w.settle(now)
}

// failed takes an error event.
func (w *watch) failed(e event.Event, now time.Time) {
	ev := FromEvent(e, now)
	ev.Model = w.model
	f, known := Classify(ev)
	if !known && w.trouble != nil {
		return
	}
	w.trouble = &ev
	if w.lastFailure == nil || !ev.At.Before(w.lastFailure.At) {
		w.retry = Retry{} // opencode reports an error when it gives up
	}
	w.quotaAt = time.Time{}
	if f.Kind == fault.QuotaExhausted {
		// opencode will end by itself; if not, we do.
		w.quotaAt = now.Add(linger)
	}
}

func (w *watch) step(e event.Event, now time.Time) {
	if e.Finish.Reason == "unknown" {
		if w.unknowns++; w.unknowns >= 2 {
			w.stop(halt{fault: neverFinishes})
		}
		return
	}
	w.unknowns = 0
	w.moved(e.At, now)
	if w.trouble != nil && len(w.tr.Errors()) == 0 {
		f, _ := Classify(*w.trouble)
		w.heal("opencode met an error and went on: " + f.Reason)
		w.trouble = nil
	}
	w.budget()
}

// neverFinishes is the fault of a provider whose replies end without a finish reason.
var neverFinishes = &fault.Error{Kind: fault.RunFailed, Reason: "the provider's replies never finish: two ended without a finish reason, and opencode would ask for ever; " +
	"something between, such as a login page or a proxy, may be answering"}
