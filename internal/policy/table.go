package policy

import "slices"

// The two commands, as they have to be called.
const (
	Delegate = "oc-delegate"
	Jobber   = "oc-job"
)

// A use is what a flag means to the policy.
type use int

const (
	free    use = iota // allowed, whatever its value is
	grants             // --write
	place              // the directory of the run: in the project
	reads              // a path that is read: in the project
	written            // a path that is written: in the project, and nothing that steers programs
	commit             // the name of a commit, which is never a word for git
	profile            // a profile of permissions: standard at most
	refused            // only where the user's policy lets it through
)

// A flag is one of the grammar.
type flag struct {
	name  string
	short byte
	value bool // it takes one
	many  bool // it may be given more than once
	use   use
	why   string // of refused and profile
}

// An act is what a verb does.
type act int

const (
	begin   act = iota // begin a run
	look               // read
	end                // end jobs of this caller
	again              // begin a run from an earlier job of this caller
	closed             // only where the user's policy lets it through
	landing            // what a person decides, or the conductor when its host has asked one: no policy lets it through
)

// A verb is a word that comes first. oc-delegate is called without one for an ordinary delegation.
type verb struct {
	name   string
	act    act
	flags  [][]flag
	why    string // of closed and landing
	writes bool   // without any flag
	paths  bool   // a word that names something that is there is a path that is read
}

var commonFlags = []flag{{name: "help", short: 'h'}, {name: "version"}}

// callFlags are those of an ordinary delegation, beside those that every delegation has.
var callFlags = []flag{
	{name: "prompt-file", value: true, use: reads},
	{name: "file", short: 'f', value: true, many: true, use: reads},

	{name: "agent", value: true, use: refused, why: "it chooses an agent of the user's opencode configuration"},
	{name: "title", value: true},
	{name: "opencode", value: true, use: refused, why: "it names a program to run"},
	{name: "keep-env", value: true, many: true, use: refused, why: "it hands a variable to the worker that would be kept back"},

	{name: "digest"},

	{name: "continue", short: 'c'},
	{name: "session", short: 's', value: true},
	{name: "fork"},
}

// grantFlags, isolateFlags and checkFlags are those of every delegation that may write. A check is a command that we run and the verdict on the work: whoever
// is to be checked does not choose it.
var grantFlags = []flag{
	{name: "write", use: grants},
	{name: "profile", value: true, use: profile, why: "profiles above standard are the user's to grant"},
	{name: "allow-write", value: true, many: true, use: written},
	{name: "allow-read", value: true, many: true, use: refused, why: "it opens a place where credentials are kept"},
	{name: "allow-no-changes"},
	{name: "allow-git-config", use: refused, why: "it keeps hooks and git configuration that run programs later"},
	{name: "no-sandbox", use: refused, why: "the kernel would enforce nothing then"},
	{name: "trust-project", use: refused, why: "it runs plugins that the repository brings"},
}

var isolateFlags = []flag{
	{name: "isolate"},
	{name: "with-dirty"},
	{name: "link", value: true, many: true, use: reads},
	{name: "copy", value: true, many: true, use: reads},
}

var checkFlags = []flag{
	{name: "verify", value: true, many: true, use: refused, why: "it runs a command"},
	{name: "verify-timeout", value: true},
	{name: "no-preflight"},
	{name: "protect", value: true, many: true, use: refused, why: "it says which files the checks are guarded against"},
	{name: "allow-test-changes", use: refused, why: "changed tests would count as they are"},
	{name: "trust-deps", use: refused, why: "changed dependencies would count as they are"},
	{name: "expect-file", value: true, many: true},
	{name: "expect-schema", value: true, use: reads},
	{name: "allow-path", value: true, many: true, use: refused, why: "it says which files may change"},
	{name: "forbid-path", value: true, many: true},
	{name: "max-diff", value: true},
	{name: "repair", value: true},
	{name: "escalate", value: true, many: true},
	{name: "best-of", value: true},
}

var placeFlags = []flag{{name: "dir", value: true, use: place}}

// everyFlags are those of every delegation.
var everyFlags = []flag{
	{name: "tier", value: true},
	{name: "model", short: 'm', value: true},
	{name: "variant", value: true},
	{name: "tier-flash", value: true},
	{name: "tier-code", value: true},
	{name: "tier-pro", value: true},

	{name: "digest-limit", value: true},
	{name: "output", value: true},
	{name: "out", value: true, use: written},
	{name: "progress", value: true},

	{name: "timeout", value: true},
	{name: "idle-timeout", value: true},
	{name: "retry-limit", value: true},
	{name: "grace", value: true},
	{name: "max-cost", value: true},
	{name: "max-tokens", value: true},
	{name: "ignore-quota"},

	{name: "explain"},
	{name: "print-command"},
}

var waitFlags = []flag{{name: "max-wait", value: true}}

// jobFlags are those of every verb that begins a job.
var jobFlags = []flag{
	{name: "name", value: true},
	{name: "max-jobs", value: true},
	{name: "max-jobs-per-model", value: true},
	{name: "on-finish", value: true, use: refused, why: "it runs a shell command"},
	{name: "after", value: true, many: true},
	{name: "json"},
}

var againFlags = []flag{{name: "timeout", value: true}}

// keptFlags are those of verbs whose words the plugin's own commands hand over by a hook.
var keptFlags = []flag{{name: "args-from-hook", use: refused, why: "it takes the words that the user typed behind a command of the plugin"}}

// commands are all verbs of each command. The one without a name is the command itself.
var commands = map[string][]verb{
	Delegate: {
		{act: begin, flags: [][]flag{commonFlags, callFlags, grantFlags, isolateFlags, checkFlags, placeFlags, everyFlags, waitFlags}},
		{name: "review", act: begin, paths: true, flags: [][]flag{commonFlags, placeFlags, everyFlags, waitFlags,
			{{name: "base", value: true, use: commit}, {name: "staged"}, {name: "commit", value: true, use: commit}, {name: "adversarial"}}}},
		{name: "fix", act: begin, writes: true, flags: [][]flag{commonFlags, grantFlags, isolateFlags, checkFlags, placeFlags, everyFlags, waitFlags,
			{{name: "from", value: true}, {name: "only", value: true, many: true}}}},
		{name: "diagnose", act: begin, flags: [][]flag{commonFlags, placeFlags, everyFlags, waitFlags, {{name: "log", value: true, use: reads}}}},
		{name: "research", act: begin, flags: [][]flag{commonFlags, everyFlags, waitFlags}},
	},
	Jobber: {
		{name: "start", act: begin, flags: [][]flag{commonFlags, callFlags, grantFlags, isolateFlags, checkFlags, placeFlags, everyFlags, jobFlags, {{name: "reuse"}}}},
		{name: "list", act: look, flags: [][]flag{commonFlags,
			{{name: "all"}, {name: "mine"}, {name: "state", value: true, many: true}, {name: "since", value: true}, {name: "limit", short: 'n', value: true}, {name: "json"}}}},
		{name: "status", act: look, flags: [][]flag{commonFlags, keptFlags, {{name: "json"}}}},
		{name: "result", act: look, flags: [][]flag{commonFlags, keptFlags, {{name: "full"}, {name: "json"}, {name: "events"}, {name: "diff"}}}},
		{name: "wait", act: look, flags: [][]flag{commonFlags, {{name: "any"}, {name: "all"}, {name: "timeout", value: true}, {name: "progress"}}}},
		{name: "logs", act: look, flags: [][]flag{commonFlags, {{name: "follow", short: 'f'}, {name: "raw"}}}},
		{name: "quota", act: look, flags: [][]flag{commonFlags, {{name: "json"}}}},
		{name: "report", act: look, flags: [][]flag{commonFlags, {{name: "since", value: true}, {name: "by", value: true}, {name: "json"}, {name: "csv"}}}},
		{name: "cancel", act: end, flags: [][]flag{commonFlags, keptFlags,
			{{name: "force", use: refused, why: "it ends jobs of other callers"}}}},
		{name: "continue", act: again, flags: [][]flag{commonFlags, againFlags, jobFlags, {{name: "prompt-file", value: true, use: reads}}}},
		{name: "retry", act: again, flags: [][]flag{commonFlags, againFlags, jobFlags, {{name: "tier", value: true}, {name: "model", short: 'm', value: true}}}},
		{name: "recover", act: again, flags: [][]flag{commonFlags, againFlags, jobFlags}},

		{name: "diff", act: look, flags: [][]flag{commonFlags, {{name: "stat"}}}},
		{name: "apply", act: landing, why: "it changes the user's files", flags: [][]flag{commonFlags, {{name: "index"}, {name: "commit"}, {name: "message", short: 'm', value: true}, {name: "force"}}}},
		{name: "merge", act: landing, why: "it changes the user's branch", flags: [][]flag{commonFlags, {{name: "message", short: 'm', value: true}, {name: "force"}}}},
		{name: "discard", act: landing, why: "it removes work", flags: [][]flag{commonFlags, {{name: "force"}}}},
		{name: "undo", act: landing, why: "it changes the user's files", flags: [][]flag{commonFlags, {{name: "history"}, {name: "force"}}}},
		{name: "trust", act: landing, why: "it lets commands of the repository run", flags: [][]flag{commonFlags, {{name: "yes"}, {name: "remove"}, {name: "list"}}}},

		{name: "gc", act: closed, why: "it removes records", flags: [][]flag{commonFlags,
			{{name: "older", value: true}, {name: "keep", value: true}, {name: "max-bytes", value: true}, {name: "unlanded"}, {name: "dry-run"}, {name: "json"}}}},
		{name: "doctor", act: closed, why: "it is the user's; /opencode:setup shows it", flags: [][]flag{commonFlags, {{name: "fix"}, {name: "json"}}}},
		{name: "notify", act: closed, why: "it takes the notices that the host's hook gives", flags: [][]flag{commonFlags, {{name: "json"}}}},
		{name: "setup", act: closed, why: "it is the user's; /opencode:setup shows it", flags: [][]flag{commonFlags}},
		{name: "hook", act: closed, why: "it is how the host itself asks", flags: [][]flag{commonFlags}},
		{name: "watch", act: closed, why: "it is a table for a terminal", flags: [][]flag{commonFlags, {{name: "all"}, {name: "mine"}}}},
	},
}

// reserved are words that cannot be a task of oc-delegate before --, beside its verbs: they are meant as verbs.
var reserved = []string{"help", "version"}

// verbNamed finds the verb of a command that is called so.
func verbNamed(command, name string) (verb, bool) {
	i := slices.IndexFunc(commands[command], func(v verb) bool { return v.name == name && name != "" })
	if i < 0 {
		return verb{}, false
	}
	return commands[command][i], true
}

func (v verb) long(name string) (flag, bool) {
	for _, list := range v.flags {
		for _, f := range list {
			if f.name == name {
				return f, true
			}
		}
	}
	return flag{}, false
}

func (v verb) short(c byte) (flag, bool) {
	for _, list := range v.flags {
		for _, f := range list {
			if f.short == c {
				return f, true
			}
		}
	}
	return flag{}, false
}
