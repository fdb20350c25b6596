package job

import (
	"slices"

	"opencode-delegate/internal/fault"
)

// A Phase is where a job is in its life. Terminal phases are final.
type Phase string

const (
	Waiting     Phase = "waiting"     // for the jobs of --after
	Queued      Phase = "queued"      // for its turn
	Running     Phase = "running"     // its supervisor works on it
	Succeeded   Phase = "succeeded"   // the evidence says so
	Failed      Phase = "failed"      // every other end of a run
	TimedOut    Phase = "timeout"     // a limit of time ended it
	Cancelled   Phase = "cancelled"   // by request
	Interrupted Phase = "interrupted" // its supervisor was told to end from outside
	Skipped     Phase = "skipped"     // a job that it waited for did not succeed
	Lost        Phase = "lost"        // its supervisor died
	// Unreadable is what a reader shows of a record that it cannot read. No record says it of itself.
	Unreadable Phase = "unreadable"
)

// Phases lists them in the order of a life.
func Phases() []Phase {
	return []Phase{Waiting, Queued, Running, Succeeded, Failed, TimedOut, Cancelled, Interrupted, Skipped, Lost, Unreadable}
}

// Sentence is the phase behind the name of a job, such as "has timed out".
func (p Phase) Sentence() string {
	switch p {
	case Waiting, Running:
		return "is " + string(p)
	case Queued:
		return "waits for its turn"
	case Succeeded, Failed:
		return "has " + string(p)
	case TimedOut:
		return "has timed out"
	case Cancelled, Interrupted, Skipped:
		return "was " + string(p)
	case Lost:
		return "was lost"
	}
	return "cannot be read"
}

// Terminal reports whether the phase is final.
func (p Phase) Terminal() bool { return p != Waiting && p != Queued && p != Running }

// moves are the legal changes of a phase. What ends before its run has begun fails (a probe refuses the call), is
// cancelled, interrupted or lost, but can neither succeed nor run out of time.
var moves = map[Phase][]Phase{
	Waiting: {Queued, Skipped, Cancelled, Interrupted, Failed, Lost},
	Queued:  {Running, Cancelled, Interrupted, Failed, Lost},
	Running: {Succeeded, Failed, TimedOut, Cancelled, Interrupted, Lost},
}

// MayBecome reports whether a job may go from this phase to another.
func (p Phase) MayBecome(next Phase) bool { return slices.Contains(moves[p], next) }

// Ended is the phase of a job that ended with a status.
func Ended(status fault.Kind) Phase {
	switch status {
	case fault.OK:
		return Succeeded
	case fault.Timeout:
		return TimedOut
	case fault.Cancelled:
		return Cancelled
	case fault.Interrupted:
		return Interrupted
	case fault.Skipped:
		return Skipped
	case fault.JobLost:
		return Lost
	}
	return Failed
}
