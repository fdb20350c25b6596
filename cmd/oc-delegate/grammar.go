package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"opencode-delegate/internal/call"
	"opencode-delegate/internal/cli"
	"opencode-delegate/internal/delegate"
	"opencode-delegate/internal/fault"
	findings "opencode-delegate/internal/review"
)

const description = `Hand one bounded task to a cheap OpenCode worker and get a short, checked answer back.

Without --write the worker can read and nothing else; the kernel enforces it. The exit code and the OC_SIGNAL line on stderr say what the evidence says.`

const examples = `
Examples:
  oc-delegate "Where is the retry limit set, and what is its default?"
      a question about this directory, read-only
  oc-delegate --write --digest "Add a --json flag to cmd/list, with a test"
      let it edit files here; print only a short digest
  git log -5 | oc-delegate --digest "Write release notes from this" -
      instruction first, then stdin as material
  oc-delegate --write --digest --timeout 30m --out answer.md - < brief.md
      a long brief from a file, the answer into another
  oc-delegate -c "And the tests?"
      go on in your newest session of this directory
  oc-delegate --output json --max-tokens 200000 "List every TODO"
      one JSON object for a program; a cap on tokens
  oc-delegate -- "--fix is broken, why?"
      a task that begins with a dash goes after --

Verbs, which answer with a digest and, but for fix, only read; oc-delegate VERB --help lists their flags:
%s
Exit codes: 0 OK, 1 USAGE, 2 RUN_FAILED, 3 EMPTY_OUTPUT, 4 NOT_FOUND, 5 INCOMPLETE, 6 CANCELLED, 7 NO_CHANGES,
  8 BUDGET_EXCEEDED, 9 VERIFY_FAILED, 10 QUOTA_EXHAUSTED, 11 AUTH_REQUIRED, 12 TIMEOUT, 13 OPENCODE_MISSING,
  14 MODEL_UNAVAILABLE, 15 PERMISSION_DENIED, 16 WRITE_VIOLATION, 17 JOB_RUNNING, 130 INTERRUPTED
`

// grammar is the whole command line of an ordinary call.
type grammar struct {
	call.Flags
	ownFlags
}

// ownFlags are those of this program, whatever it is called for.
type ownFlags struct {
	MaxWait call.Once `placeholder:"TIME" group:"limit" help:"Wait this long, then leave the run to the background and exit 17 (default 0: to its end)."`
	Help    bool      `short:"h" group:"look" help:"Print this help."`
	Version bool      `group:"look" help:"Print the version."`
}

func (f ownFlags) own() ownFlags { return f }

func groups() (list []kong.Group) {
	for _, g := range call.Groups {
		list = append(list, kong.Group{Key: g.Key, Title: g.Title})
	}
	return list
}

// newParser reads the words of a grammar, which are those of a verb or, without a name, of an ordinary call.
func newParser(g any, verb string, out io.Writer) (*kong.Kong, error) {
	name, text := "oc-delegate", description
	if v, ok := verbOf(verb); ok {
		name, text = name+" "+v.name, v.description
	}
	return kong.New(g, kong.Name(name), kong.Description(text), kong.NoDefaultHelp(),
		kong.Writers(out, out), kong.Exit(func(int) {}), kong.ExplicitGroups(groups()),
		kong.ConfigureHelp(kong.HelpOptions{WrapUpperBound: 110, NoExpandSubcommands: true}))
}

// asked reports which of the flags that need no valid call stands before any --.
func asked(args []string) (help, version bool) {
	args = args[:cli.Dashes(args)]
	return slices.Contains(args, "--help") || slices.Contains(args, "-h"), slices.Contains(args, "--version")
}

// A command is what the words of a call came to.
type command interface {
	flags() call.Flags // the delegation that it is
	own() ownFlags
	needs(c call.Call) string // says what the call lacks; empty = nothing
	// task reads what the worker is told. An error says why it cannot be told anything.
	task(ctx context.Context, a *cli.App, c call.Call) (task, error)
}

// A prepared command has to look around before its words have a meaning. One that works in a directory of our own makes it, unless it only shows what it
// would do.
type prepared interface{ prepare(a *cli.App) error }

// A remarking command has something to say of the form of a digest.
type remarking interface{ remarks(digest string) []string }

// remarksOn are those on the answer of a run that has ended well.
func remarksOn(cmd command, res delegate.Result) []string {
	if r, ok := cmd.(remarking); ok && res.Status == fault.OK {
		return r.remarks(res.Digest) // what the caller sees
	}
	return nil
}

// A task is what a worker is told, and how it is shown.
type task struct {
	prompt string
	title  string   // what lists of jobs show; empty = the first words of the prompt
	notes  []string // for the caller

	reverts []string        // files whose uncommitted changes the task may take back
	review  *findings.Scope // of a review: what its findings are checked by
	nothing string          // why there is nothing to do, which is a success; empty = there is
	hints   []string        // what would find something then
}

func (g *grammar) flags() call.Flags { return g.Flags }

func (g *grammar) needs(c call.Call) string {
	if c.Prompt.Given {
		return ""
	}
	return "no task was given; give it as one argument, with --prompt-file, or as - for stdin"
}

func (g *grammar) task(ctx context.Context, a *cli.App, c call.Call) (task, error) {
	prompt, err := a.ReadPrompt(ctx, c.Prompt)
	if err != nil {
		return task{}, err
	}
	return task{prompt: prompt, notes: a.Notes(c, prompt)}, nil
}

// parse reads the words. An error is one clear sentence.
func parse(args []string) (command, error) {
	for i, arg := range args {
		if !utf8.ValidString(arg) {
			return nil, fmt.Errorf("argument %d is not UTF-8; convert it first", i+1)
		}
	}
	verb, words := verbIn(args)
	g := newCommand(verb)
	p, err := newParser(g, verb, io.Discard)
	if err != nil {
		return nil, err
	}
	if _, err := p.Parse(words); err != nil {
		return nil, foreign(verb, cli.Clear(err))
	}
	if o := g.own(); o.Help || o.Version || slices.ContainsFunc(args[:cli.Dashes(args)], valued) {
		return nil, errors.New("--help and --version stand alone; leave the value out")
	}
	if f := g.flags(); f.Explain && f.PrintCommand {
		return nil, errors.New("--explain and --print-command show different things; give one of them")
	}
	if g, ok := g.(*grammar); ok {
		return g, g.check(args)
	}
	return g, nil
}

// check refuses a task that is more likely a slip.
func (g *grammar) check(args []string) error {
	if len(g.Task) == 1 && (g.Task[0] == "help" || g.Task[0] == "version") && len(beforeDashes(args)) == 1 {
		return fmt.Errorf("%q is no task; --%s is what prints it, and a task of that name goes after --", g.Task[0], g.Task[0])
	}
	if call.JobVerb(g.Task) && call.JobVerb(beforeDashes(args)) {
		return fmt.Errorf("%q is a verb of oc-job, not a task; for a task of that name write: -- %s", g.Task[0], g.Task[0])
	}
	if len(g.Task) == 1 && len(beforeDashes(args)) == 1 {
		if meant, ok := nearVerb(g.Task[0]); ok {
			return fmt.Errorf("%q is no verb; did you mean %s? A task of that name goes after --", g.Task[0], meant)
		}
	}
	if before := beforeDashes(args); len(before) > 0 {
		if v, ok := verbOf(before[0]); ok {
			return fmt.Errorf("%q is a verb, and a verb comes first: oc-delegate %s, then its flags; for a task of that name write: -- %s", v.name, v.name, v.name)
		}
	}
	return nil
}

// valued reports a flag that takes no value and was given one.
func valued(arg string) bool {
	return strings.HasPrefix(arg, "--help=") || strings.HasPrefix(arg, "--version=")
}

// beforeDashes is the task words that stand before --.
func beforeDashes(args []string) []string {
	var g grammar
	if p, err := newParser(&g, "", io.Discard); err == nil {
		p.Parse(args[:cli.Dashes(args)])
	}
	return g.Task
}

// printHelp prints the help of a verb or, without a name, of the whole program.
func printHelp(w io.Writer, verb string) error {
	p, err := newParser(newCommand(verb), verb, w)
	if err != nil {
		return err
	}
	ctx, err := kong.Trace(p, nil)
	if err != nil {
		return err
	}
	if err := ctx.PrintUsage(false); err != nil {
		return err
	}
	if v, ok := verbOf(verb); ok {
		_, err = io.WriteString(w, v.examples)
		return err
	}
	_, err = fmt.Fprintf(w, examples, verbList())
	return err
}
