package main

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"opencode-delegate/internal/call"
	"opencode-delegate/internal/cli"
)

const description = `Delegations in the background: a job lives on without its caller, and whatever dies, its fate is known and its result is there.

An ID is a job's id, the beginning of one, or its name. Without one, a verb means your newest job of this repository.`

const examples = `
Examples:
  id=$(oc-job start --write --digest "Add a --json flag to cmd/list, with a test") || exit
      begin, and go on with something else
  oc-job wait --timeout 110s "$id" && oc-job result "$id"
      wait for it, then read what came of it
  oc-job list
      the jobs of this repository
  oc-job continue "$id" "And the docs?"
      go on in the session of a job that has ended

Exit codes are those of oc-delegate. result and wait give the job's own: 17 while it runs, 18 when its supervisor died.
`

// grammar is the whole command line.
type grammar struct {
	Start    startVerb    `cmd:"" help:"Begin a job and print its id."`
	List     listVerb     `cmd:"" help:"List jobs, newest first."`
	Status   statusVerb   `cmd:"" help:"Say what a job is doing."`
	Result   resultVerb   `cmd:"" help:"Print what came of a job."`
	Wait     waitVerb     `cmd:"" help:"Wait until jobs have ended."`
	Cancel   cancelVerb   `cmd:"" help:"End jobs, and return when they are dead."`
	Logs     logsVerb     `cmd:"" help:"Print what a job's worker says and does."`
	Continue continueVerb `cmd:"" help:"Go on in the session of a job that has ended."`
	Retry    retryVerb    `cmd:"" help:"Do a job again, in a new session."`
	Recover  recoverVerb  `cmd:"" help:"Resume a job that died, timed out or was interrupted."`
	Diff     diffVerb     `cmd:"" help:"Print what a job has changed, as a patch."`
	Apply    applyVerb    `cmd:"" help:"Bring the work of an isolated job into your files."`
	Merge    mergeVerb    `cmd:"" help:"Merge the branch of an isolated job into yours."`
	Discard  discardVerb  `cmd:"" help:"Give up the work of an isolated job."`
	Undo     undoVerb     `cmd:"" help:"Take the work of a job out of your files again."`
	Trust    trustVerb    `cmd:"" help:"Let the checks count that a repository names."`
	Gc       gcVerb       `cmd:"" help:"Remove the records of old jobs."`
	Doctor   doctorVerb   `cmd:"" help:"Look for what is wrong, and say what to do."`
	Notify   notifyVerb   `cmd:"" help:"Tell what has ended since you last asked."`
	Watch    watchVerb    `cmd:"" help:"Watch jobs in a live table."`
	Quota    quotaVerb    `cmd:"" help:"Say how much of each usage limit is left, and for how long."`
	Report   reportVerb   `cmd:"" help:"Add up what was spent, and what came of it."`
	Setup    setupVerb    `cmd:"" help:"Say whether the plugin of Claude Code is ready, and what to mend."`
	Hook     hookVerb     `cmd:"" hidden:"" help:"Answer an event of Claude Code."`

	Help    bool `short:"h" help:"Print this help."`
	Version bool `help:"Print the version."`
}

// A verb carries out what the words of a call mean; its result is the exit code.
type verb interface{ run(*cli.App) int }

func newParser(g *grammar, out io.Writer) (*kong.Kong, error) {
	return kong.New(g, kong.Name("oc-job"), kong.Description(description), kong.NoDefaultHelp(),
		kong.Writers(out, out), kong.Exit(func(int) {}), kong.ExplicitGroups(groups()),
		kong.ConfigureHelp(kong.HelpOptions{WrapUpperBound: 110, NoExpandSubcommands: true}))
}

func groups() (list []kong.Group) {
	for _, g := range call.Groups {
		list = append(list, kong.Group{Key: g.Key, Title: g.Title})
	}
	return list
}

// parse reads the words. An error is one clear sentence.
func parse(args []string) (verb, error) {
	for i, arg := range args {
		if !utf8.ValidString(arg) {
			return nil, fmt.Errorf("argument %d is not UTF-8; convert it first", i+1)
		}
	}
	if word := args[0]; !strings.HasPrefix(word, "-") && !slices.Contains(verbs(), word) {
		return nil, noVerb(word)
	}
	var g grammar
	p, err := newParser(&g, io.Discard)
	if err != nil {
		return nil, err
	}
	ctx, err := p.Parse(args)
	if err != nil {
		return nil, cli.Clear(err)
	}
	if g.Help || g.Version {
		return nil, errors.New("--help and --version stand alone; leave the value out")
	}
	v, ok := ctx.Selected().Target.Addr().Interface().(verb)
	if !ok {
		return nil, fmt.Errorf("%s cannot be run", ctx.Command())
	}
	if k, ok := v.(interface{ fromHook() bool }); ok && k.fromHook() {
		return nil, errAlone
	}
	return v, nil
}

// verbs are the names of all verbs.
func verbs() (names []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[grammar]()) {
		if _, ok := f.Tag.Lookup("cmd"); ok {
			names = append(names, strings.ToLower(f.Name))
		}
	}
	return names
}

// meant is what people call some of the verbs.
var meant = map[string]string{
	"kill": "cancel", "stop": "cancel", "abort": "cancel", "run": "start", "new": "start", "ls": "list", "ps": "list", "show": "status",
	"info": "status", "tail": "logs", "log": "logs", "output": "result", "rm": "gc", "clean": "gc", "resume": "recover", "top": "watch",
}

func noVerb(word string) error {
	if m, ok := meant[word]; ok {
		return fmt.Errorf("%q is no verb; did you mean %s?", word, m)
	}
	known := slices.DeleteFunc(verbs(), func(v string) bool { return v == "hook" }) // which is Claude Code's to call
	return fmt.Errorf("%.40q is no verb; the verbs are %s", word, strings.Join(known, ", "))
}

// help prints the help of the verb that the words name, else of the whole command.
func help(w io.Writer, args []string) error {
	var g grammar
	p, err := newParser(&g, w)
	if err != nil {
		return err
	}
	ctx, err := kong.Trace(p, args)
	if err != nil || ctx.Selected() == nil {
		if ctx, err = kong.Trace(p, nil); err != nil {
			return err
		}
		defer io.WriteString(w, examples)
	}
	return ctx.PrintUsage(false)
}
