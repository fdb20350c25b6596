// Package verify is what our own process says of the work: it runs the caller's check on the files that would land, looks for what was
// expected, and finds out whether the worker has touched what the check itself is made of.
//
// Nothing here believes the worker. A check is a command of the caller, `sh -c CMD`; it runs the worker's code, so it runs
// in the sandbox that [Command.Wrap] puts around it, and everything that comes of it ends with it.
package verify

import (
	"time"

	"opencode-delegate/internal/redact"
)

// A Verdict is what a check says.
type Verdict string

// The verdicts. None is that of a run without a check.
const (
	None        Verdict = "none"
	Pass        Verdict = "pass"
	Fail        Verdict = "fail"
	CouldNotRun Verdict = "could_not_run"
)

// Worst is the verdict of all of them together: None of nothing, Pass only when all are. A check that failed outranks one that could not run.
func Worst(verdicts ...Verdict) Verdict {
	worst := None
	for _, v := range verdicts {
		switch {
		case v == Fail, worst == Fail:
			worst = Fail
		case v == CouldNotRun, worst == CouldNotRun:
			worst = CouldNotRun
		case v == Pass:
			worst = Pass
		}
	}
	return worst
}

// A Command is one execution of a check.
type Command struct {
	Shell string // the caller's text, for sh -c
	Dir   string // absolute; where it is started
	Env   []string
	// Wrap puts the command into the sandbox of the run, and says what its environment needs for it. nil: there is none.
	Wrap    func(argv []string) (wrapped, env []string, err error)
	Marker  string        // of the processes, unique to the run; see package proc
	Grace   time.Duration // from TERM to KILL, at the time limit and for what outlives the check
	Timeout time.Duration // of this execution; 0 means none
	Log     string        // file for the output; it must not exist, and gets mode 0600
	Redact  *redact.Set   // what neither the log nor the excerpt may hold
	Excerpt int           // characters of Outcome.Excerpt; 0 means [ExcerptLimit]
}

// ExcerptLimit is how many characters of output an Outcome shows where nothing else is asked for.
const ExcerptLimit = 4000

// LogLimit is how many bytes of output the log of one execution holds, its mark for what was left out not counted.
const LogLimit = 64 << 20

// An Outcome says how an execution ended.
type Outcome struct {
	Verdict  Verdict
	Exit     *int   // exit code; nil when there is none
	Signal   string // "SIGKILL", …, that ended the check itself; empty when none did
	Duration time.Duration
	Reason   string // one line: why it is not Pass; empty when it is
	// Excerpt is the output, failing lines first, cleaned for a reader.
	Excerpt string
	// Bytes is the whole output; LogBytes what of it is in the log.
	Bytes, LogBytes int64
	Survivors       []string // processes that outlived the check and were ended, by name
}
