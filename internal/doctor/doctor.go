// Package doctor looks for what is wrong with a machine on which delegations are to run: the state directory and its jobs,
// opencode and its models, and what the kernel can enforce. Each finding that is not well says what to do.
//
// It starts no delegation and costs no tokens. Without Fix it changes nothing but what every command does: it makes a state
// directory that is missing, and keeps what opencode answered.
package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"opencode-delegate/internal/call"
	"opencode-delegate/internal/delegate"
	"opencode-delegate/internal/fault"
)

// A Level is how bad a finding is.
type Level string

const (
	OK   Level = "ok"
	Warn Level = "warn" // something is missing or left over, and delegations work
	Fail Level = "fail" // delegations do not work, or will not for long
)

// A Finding is one thing that was looked at.
type Finding struct {
	Name   string `json:"name"` // of the check; several findings may share one
	Level  Level  `json:"level"`
	What   string `json:"what"`
	Remedy string `json:"remedy,omitempty"` // empty exactly when the level is OK
	Fixed  string `json:"fixed,omitempty"`  // what was done about it; the level is that afterwards
}

// A Report is everything that was found. OK means that nothing failed.
type Report struct {
	OK       bool      `json:"ok"`
	Findings []Finding `json:"findings"`
}

// A Machine is what is looked at, and how.
type Machine struct {
	Host    delegate.Host // its CacheDir is ignored: the state directory has its own
	Version string        // of this program
	Fix     bool          // decide about dead jobs, end processes without a supervisor, clear leftovers away
}

// questionTime bounds all questions to opencode and git together.
const questionTime = 60 * time.Second

// Examine looks at everything. It takes a second or two where opencode has been asked before, and about a minute at most.
func Examine(ctx context.Context, m Machine) Report {
	x := &examination{Machine: m}
	findings := []Finding{{Name: "version", Level: OK, What: m.Version}}
	x.call, x.problems = call.Check(x.environment())
	findings = append(findings, x.configuration()...)
	// Jobs come before opencode: what ends processes must have none of its own.
	findings = append(findings, x.state(ctx)...)
	ctx, cancel := context.WithTimeoutCause(ctx, questionTime, fmt.Errorf("no answer within %s", questionTime))
	defer cancel()
	git := make(chan Finding, 1)
	go func() { git <- x.git(ctx) }()
	findings = append(findings, x.opencode(ctx)...)
	findings = append(findings, x.sandbox(), <-git)
	r := Report{OK: true, Findings: findings}
	for _, f := range findings {
		r.OK = r.OK && f.Level != Fail
	}
	return r
}

// An examination is one look at a machine.
type examination struct {
	Machine
	call     call.Call // without flags
	problems []string  // with that call
}

func (x *examination) environment() call.Environment {
	return call.Environment{Getenv: x.getenv, Home: x.Host.Home, Cwd: x.Host.Cwd}
}

func (x *examination) getenv(name string) string {
	for i := len(x.Host.Environ) - 1; i >= 0; i-- {
		if k, v, ok := strings.Cut(x.Host.Environ[i], "="); ok && k == name {
			return v
		}
	}
	return ""
}

// configuration is whether a call without flags means anything: its values come from the environment and config.json.
func (x *examination) configuration() (list []Finding) {
	for _, p := range x.problems {
		list = append(list, Finding{Name: "configuration", Level: Fail, What: p, Remedy: "correct it; oc-delegate --explain shows each value with its source"})
	}
	if len(list) == 0 {
		list = []Finding{{Name: "configuration", Level: OK, What: "model " + x.call.Request.Model + " unless a call says otherwise (" + x.call.Request.ModelSource + ")"}}
	}
	return list
}

// of is a finding about a fault, whose hints are the remedy.
func of(name string, level Level, err error, otherwise string) Finding {
	f := fault.Of(err)
	remedy := strings.Join(f.Hints, "; ")
	if remedy == "" {
		remedy = otherwise
	}
	return Finding{Name: name, Level: level, What: f.Reason, Remedy: remedy}
}
