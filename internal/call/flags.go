// Package call is the grammar of one delegation and what its words mean: flags, environment and configuration file
// go in, a [delegate.Request] comes out, each value with the place that it came from.
//
// Values are resolved here and not by the flag library, since a flag must beat the environment and the environment the
// file, and since a caller wants to hear of all bad values in one answer.
package call

import (
	"errors"

	"opencode-delegate/internal/permission"
	"opencode-delegate/internal/review"
	"opencode-delegate/internal/tiers"
)

// Flags are the words of a call, as kong fills them in. Every text stays a text until Resolve has looked at it.
type Flags struct {
	Task       []string `arg:"" optional:"" help:"The task, as one argument. A lone - reads it from stdin; a text together with - puts the text first and stdin after it."`
	PromptFile Once     `placeholder:"FILE" group:"task" help:"Read the task from FILE."`
	File       []string `short:"f" sep:"none" placeholder:"PATH" group:"task" help:"Attach a file (repeatable)."`
	PlaceFlags

	ModelFlags
	Agent    Once     `placeholder:"NAME" group:"model" help:"Run as this agent of your opencode configuration."`
	Title    Once     `placeholder:"TEXT" group:"model" help:"Title of the opencode session (default: oc-delegate and the job's id)."`
	Opencode Once     `placeholder:"PATH" group:"model" help:"The opencode program to use."`
	KeepEnv  []string `sep:"none" placeholder:"NAME" group:"model" help:"Let an environment variable through to the worker that would be removed (repeatable)."`

	GrantFlags

	IsolateFlags
	CheckFlags

	Digest bool `group:"answer" help:"Ask for a short digest and print only that."`
	AnswerFlags

	LimitFlags

	Continue bool `short:"c" group:"session" help:"Go on in your newest session of this directory."`
	Session  Once `short:"s" placeholder:"ID" group:"session" help:"Go on in this session of this directory."`
	Fork     bool `group:"session" help:"With -c or -s: go on in a copy of it."`

	LookFlags

	// Recipe is set by a verb that stands for a kind of task, and is no flag.
	Recipe Recipe `kong:"-"`
	// Review comes from an earlier request, and is no flag either.
	Review *review.Scope `kong:"-"`
	// Onward is the place of the copy that an earlier job has left.
	Onward string `kong:"-"`
	// Resumes tells that the earlier job had the same task, and was cut off.
	Resumes bool `kong:"-"`
}

// The flags that verbs of their own have in common with an ordinary call.
type (
	PlaceFlags struct {
		Dir Once `placeholder:"DIR" group:"task" help:"Work in DIR (default: the current directory)."`
	}
	ModelFlags struct {
		Tier      Once `placeholder:"TIER" group:"model" help:"flash, code or pro (default flash; pro for review, code for fix)."`
		Model     Once `short:"m" placeholder:"PROVIDER/MODEL" group:"model" help:"Use this model; beats --tier."`
		Variant   Once `placeholder:"NAME" group:"model" help:"Variant of the model, such as a reasoning effort."`
		TierFlash Once `placeholder:"PROVIDER/MODEL" group:"model" help:"What the tier flash means in this call."`
		TierCode  Once `placeholder:"PROVIDER/MODEL" group:"model" help:"What the tier code means in this call."`
		TierPro   Once `placeholder:"PROVIDER/MODEL" group:"model" help:"What the tier pro means in this call."`
	}
	GrantFlags struct {
		Write          bool     `group:"grant" help:"Let the worker edit files in --dir and run commands. Without it nothing can be changed."`
		Profile        Once     `placeholder:"NAME" group:"grant" help:"Permissions: read-only (minimal), standard (workspace-write), trusted-test, full-trusted (allow_all)."`
		AllowWrite     []string `sep:"none" placeholder:"PATH" group:"grant" help:"With --write: let it write below PATH too (repeatable)."`
		AllowRead      []string `sep:"none" placeholder:"PATH" group:"grant" help:"Let it read PATH although credentials are kept there (repeatable)."`
		AllowNoChanges bool     `group:"grant" help:"With --write: success without a changed file is right for this task."`
		AllowGitConfig bool     `group:"grant" help:"With --write: keep what the worker changes in hooks and in git configuration that runs programs."`
		NoSandbox      bool     `group:"grant" help:"Do not let the kernel enforce the grant. Permission rules and a comparison of the tree remain."`
		TrustProject   bool     `group:"grant" help:"Without the sandbox: accept a repository that brings opencode plugins."`
	}
	IsolateFlags struct {
		Isolate   bool     `group:"isolate" help:"With --write: work in a copy of the repository, outside of it. Nothing lands without oc-job apply or merge."`
		WithDirty bool     `group:"isolate" help:"With --isolate: what is not committed comes along and belongs to the base."`
		Link      []string `sep:"none" placeholder:"PATH" group:"isolate" help:"With --isolate: the copy has this ignored directory too, read-only (repeatable)."`
		Copy      []string `sep:"none" placeholder:"PATH" group:"isolate" help:"With --isolate: the copy has a copy of this ignored directory (repeatable)."`
	}
	CheckFlags struct {
		Verify           []string `sep:"none" placeholder:"CMD" group:"check" help:"Run CMD with sh -c after the work, in the sandbox; its exit code is the verdict (repeatable)."`
		VerifyTimeout    Once     `placeholder:"TIME" group:"check" help:"Most time of one execution of a check (default 10m)."`
		NoPreflight      bool     `group:"check" help:"Do not run the checks once before the work."`
		Protect          []string `sep:"none" placeholder:"GLOB" group:"check" help:"Files that the worker must not bend to pass: where it changed them, the check has to pass with the old ones too (repeatable; default: tests and what steers them)."`
		AllowTestChanges bool     `group:"check" help:"Let changed tests count as they are."`
		TrustDeps        bool     `group:"check" help:"Check in place although the worker changed installed dependencies."`
		ExpectFile       []string `sep:"none" placeholder:"PATH" group:"check" help:"This file has to be there in the end (repeatable)."`
		ExpectSchema     Once     `placeholder:"FILE" group:"check" help:"The answer has to be JSON of this JSON Schema."`
		AllowPath        []string `sep:"none" placeholder:"GLOB" group:"check" help:"Only files that match may change (repeatable)."`
		ForbidPath       []string `sep:"none" placeholder:"GLOB" group:"check" help:"Files that match may not change (repeatable)."`
		MaxDiff          Once     `placeholder:"LINES" group:"check" help:"Most lines that may be added and deleted together."`
		Repair           Once     `placeholder:"N" group:"check" help:"How often a failed check goes back to the worker, in its session (default 1 with --verify)."`
		Escalate         []string `sep:"none" placeholder:"TIER[,TIER]" group:"check" help:"Where the checks still fail, begin again with these tiers, in their order; implies --isolate."`
		BestOf           Once     `placeholder:"N" group:"check" help:"With --verify: N attempts beside each other, of which the checks choose one; implies --isolate."`
	}
	AnswerFlags struct {
		DigestLimit Once `placeholder:"N" group:"answer" help:"Most characters of a digest (default 4000, at least 500)."`
		Output      Once `placeholder:"FORMAT" group:"answer" help:"text or json (default text)."`
		Out         Once `placeholder:"FILE" group:"answer" help:"Write to FILE what stdout would have had."`
		Progress    Once `placeholder:"KIND" group:"answer" help:"auto, plain or none (default auto: a live line when stderr is a terminal)."`
	}
	LimitFlags struct {
		Timeout     Once `placeholder:"TIME" group:"limit" help:"Wall clock of one attempt: 300s, 10m, 2h or seconds (default 10m)."`
		IdleTimeout Once `placeholder:"TIME" group:"limit" help:"End a run that makes no progress for this long (default 0: off)."`
		RetryLimit  Once `placeholder:"TIME" group:"limit" help:"How long opencode may retry a rate limit or a failing provider (default 90s)."`
		Grace       Once `placeholder:"TIME" group:"limit" help:"Time between the polite and the hard end of a run (default 3s)."`
		MaxCost     Once `placeholder:"USD" group:"limit" help:"End the run after the step that makes it dearer than this (default 0: off)."`
		MaxTokens   Once `placeholder:"N" group:"limit" help:"The same for tokens of every kind."`
		IgnoreQuota bool `group:"limit" help:"Start although the model's usage limit is known to be reached."`
	}
	LookFlags struct {
		Explain      bool `group:"look" help:"Print each value with its source and run nothing."`
		PrintCommand bool `group:"look" help:"Print the exact command and its environment and run nothing."`
	}
)

// A Recipe is what a verb decides about a call that its flags do not say.
type Recipe struct {
	Name string     // of the verb; empty = an ordinary call
	Tier tiers.Name // what the verb does best with, where nobody has chosen a model; empty = flash
	// Dir is a directory of our own in which the verb works; empty = the caller's. It need not be there yet.
	Dir     string
	Profile permission.Profile // what the verb may do; empty = what the flags say
}

// Groups are the headings under which help shows the flags, in their order. The last is that of a background job.
var Groups = []struct{ Key, Title string }{
	{"task", "Task:"},
	{"grant", "What it may do:"},
	{"check", "Prove the work:"},
	{"isolate", "Isolation:"},
	{"answer", "Answer:"},
	{"limit", "Limits:"},
	{"session", "Sessions:"},
	{"model", "Worker:"},
	{"look", "Look, run nothing:"},
	{"job", "Job:"},
}

// Once is a text flag that may be given one time only: of two values neither is obviously meant.
type Once struct {
	Text string
	Set  bool
}

var errTwice = errors.New("given twice; give it once")

// UnmarshalText is how the flag library fills the value in.
func (o *Once) UnmarshalText(b []byte) error {
	if o.Set {
		return errTwice
	}
	o.Text, o.Set = string(b), true
	return nil
}
