// Package policy decides whether a tool call of Claude Code may run without a question: what stands behind the PreToolUse hook.
//
// It allows one thing: a shell command that is exactly one call of oc-delegate or oc-job, in words that mean the same to every shell,
// with flags of an allow-list and with paths that lie in the project. Whatever it does not understand it does not allow. The
// subagent that delegates ([Subagent]) is denied everything else; for the conductor itself everything else stays undecided, so
// that the host asks; about other agents nothing is ever said.
//
// A flag or a verb that the two commands gain has to be given a place in the tables of table.go; tests of both commands fail
// until it has one. Nothing is allowed by default.
package policy

import (
	"fmt"
	"slices"

	"opencode-delegate/internal/delegate"
	"opencode-delegate/internal/plain"
)

// Subagent is the type of the agent that delegates, as the host names it.
const Subagent = "opencode:opencode-delegate"

// A Call is a tool call that is about to be made.
type Call struct {
	Tool    string // name of the tool
	Command string // of the tool Bash

	Cwd     string // absolute: where the command will run
	Project string // absolute: what paths have to lie in
	Home    string // absolute: what no project may hold; empty = not known

	AgentType      string // empty = the conductor itself
	PermissionMode string // of the host, such as default or plan
	Caller         string // who will be the caller of the job, as [opencode-delegate/internal/call.Caller] has it

	// Opencode is the program that the user's environment or configuration names, absolute; empty = none. A stored request may name it.
	Opencode string
}

// A Job is what has to be known of a job that a command names.
type Job struct {
	Caller  string // whom links between callers lead to: equal to Call.Caller for a job of this caller's
	Request delegate.Request
}

// A Jobs looks up a job by a word of a command: an id, the beginning of one, or a name. The empty word means the caller's newest
// of its repository.
type Jobs func(word string) (Job, error)

// A Verdict is what the host is told.
type Verdict int

const (
	None  Verdict = iota // no decision: the host does what it would have done
	Allow                // the call runs without a question
	Deny                 // the call does not run
)

func (v Verdict) String() string {
	if v < None || v > Deny {
		return fmt.Sprintf("verdict %d", int(v))
	}
	return [...]string{"none", "allow", "deny"}[v]
}

// A Decision is a verdict and why, one line for the model.
type Decision struct {
	Verdict Verdict
	Reason  string
}

const reasonLimit = 300

// writingModes are the modes of the host in which a call that writes may be allowed. In plan and dontAsk none is, nor in a mode that
// is not known here.
var writingModes = []string{"", "default", "acceptEdits", "auto", "bypassPermissions"}

// Decide judges a call. It looks at the paths that the call names, as they are now; it writes nothing and runs nothing.
func Decide(c Call, p Policy, jobs Jobs) Decision {
	sub := c.AgentType == Subagent
	if !sub && (c.Tool != "Bash" || c.AgentType != "" || !begins(c.Command)) {
		return Decision{Verdict: None}
	}
	writes, err := judge(c, p, jobs)
	mayWrite := slices.Contains(writingModes, c.PermissionMode)
	switch {
	case err != nil:
	case writes && !mayWrite:
		err = refuse("this call may write, and the permission mode is %.20q: nothing that writes is allowed in it", c.PermissionMode)
	case writes && !sub && !p.ConductorWrite:
		err = refuse("this call may write")
	}
	switch {
	case err == nil:
		return Decision{Allow, "one delegation call, within what the policy of the plugin opencode allows"}
	case sub:
		return Decision{Deny, plain.Line(err.Error(), reasonLimit)}
	}
	return Decision{None, plain.Line(err.Error(), reasonLimit)}
}

// judge is nil for a call that conforms; writes tells that it may change files.
func judge(c Call, p Policy, jobs Jobs) (writes bool, err error) {
	if c.Tool != "Bash" {
		return false, refuse("this agent uses Bash for oc-delegate and oc-job, and no other tool; it was about to use %.40q", c.Tool)
	}
	argv, err := Words(c.Command)
	if err != nil {
		return false, err
	}
	in, err := read(argv)
	if err != nil {
		return false, err
	}
	j := judgement{call: c, policy: p, jobs: jobs}
	err = j.invocation(in)
	return j.writes, err
}

// A refusal is a reason not to allow a call.
type refusal string

func (r refusal) Error() string { return string(r) }

func refuse(format string, args ...any) error { return refusal(fmt.Sprintf(format, args...)) }
