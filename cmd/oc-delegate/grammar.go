package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"opencode-delegate/internal/call"
	"opencode-delegate/internal/cli"
)

const description = `Hand one bounded task to a cheap OpenCode worker and get a short, checked answer back.

Without --write the worker can read and nothing else; the kernel enforces it. The exit code and the OC_SIGNAL line on stderr say what the evidence says.`

const examples = `
Examples:
  oc-delegate "Where is the retry limit set, and what is its default?"
      a question about this directory, read-only
  oc-delegate --write --digest "Add a --json flag to cmd/list, with a test"
      let it edit files here; print only a short digest
  git diff | oc-delegate --tier pro --digest "Review this change" -
      instruction first, then stdin as material
  oc-delegate --write --digest --timeout 30m --out answer.md - < brief.md
      a long brief from a file, the answer into another
  oc-delegate -c "And the tests?"
      go on in your newest session of this directory
  oc-delegate --output json --max-tokens 200000 "List every TODO"
      one JSON object for a program; a cap on tokens
  oc-delegate -- "--fix is broken, why?"
      a task that begins with a dash goes after --

Exit codes: 0 OK, 1 USAGE, 2 RUN_FAILED, 3 EMPTY_OUTPUT, 4 NOT_FOUND, 5 INCOMPLETE, 6 CANCELLED, 7 NO_CHANGES,
  8 BUDGET_EXCEEDED, 9 VERIFY_FAILED, 10 QUOTA_EXHAUSTED, 11 AUTH_REQUIRED, 12 TIMEOUT, 13 OPENCODE_MISSING,
  14 MODEL_UNAVAILABLE, 15 PERMISSION_DENIED, 16 WRITE_VIOLATION, 17 JOB_RUNNING, 130 INTERRUPTED
`

// grammar is the whole command line.
type grammar struct {
	call.Flags
	MaxWait call.Once `placeholder:"TIME" group:"limit" help:"Wait this long, then leave the run to the background and exit 17 (default 0: to its end)."`
	Help    bool      `short:"h" group:"look" help:"Print this help."`
	Version bool      `group:"look" help:"Print the version."`
}

func groups() (list []kong.Group) {
	for _, g := range call.Groups {
		list = append(list, kong.Group{Key: g.Key, Title: g.Title})
	}
	return list
}

func newParser(g *grammar, out io.Writer) (*kong.Kong, error) {
	return kong.New(g, kong.Name("oc-delegate"), kong.Description(description), kong.NoDefaultHelp(),
		kong.Writers(out, out), kong.Exit(func(int) {}), kong.ExplicitGroups(groups()),
		kong.ConfigureHelp(kong.HelpOptions{WrapUpperBound: 110, NoExpandSubcommands: true}))
}

// asked reports which of the flags that need no valid call stands before any --.
func asked(args []string) (help, version bool) {
	args = args[:cli.Dashes(args)]
	return slices.Contains(args, "--help") || slices.Contains(args, "-h"), slices.Contains(args, "--version")
}

// parse reads the words. An error is one clear sentence.
func parse(args []string) (grammar, error) {
	var g grammar
	for i, arg := range args {
		if !utf8.ValidString(arg) {
			return g, fmt.Errorf("argument %d is not UTF-8; convert it first", i+1)
		}
	}
	p, err := newParser(&g, io.Discard)
	if err != nil {
		return g, err
	}
	if _, err := p.Parse(args); err != nil {
		return g, cli.Clear(err)
	}
	if g.Help || g.Version || slices.ContainsFunc(args[:cli.Dashes(args)], valued) {
		return g, errors.New("--help and --version stand alone; leave the value out")
	}
	if g.Explain && g.PrintCommand {
		return g, errors.New("--explain and --print-command show different things; give one of them")
	}
	if len(g.Task) == 1 && (g.Task[0] == "help" || g.Task[0] == "version") && len(beforeDashes(args)) == 1 {
		return g, fmt.Errorf("%q is no task; --%s is what prints it, and a task of that name goes after --", g.Task[0], g.Task[0])
	}
	if call.JobVerb(g.Task) && call.JobVerb(beforeDashes(args)) {
		return g, fmt.Errorf("%q is a verb of oc-job, not a task; for a task of that name write: -- %s", g.Task[0], g.Task[0])
	}
	if call.Reserved(g.Task) && call.Reserved(beforeDashes(args)) {
		return g, fmt.Errorf("%q is kept for a command of a later version; for a task of that name write: -- %s", g.Task[0], g.Task[0])
	}
	return g, nil
}

// valued reports a flag that takes no value and was given one.
func valued(arg string) bool {
	return strings.HasPrefix(arg, "--help=") || strings.HasPrefix(arg, "--version=")
}

// beforeDashes is the task words that stand before --.
func beforeDashes(args []string) []string {
	var g grammar
	if p, err := newParser(&g, io.Discard); err == nil {
		p.Parse(args[:cli.Dashes(args)])
	}
	return g.Task
}

func printHelp(w io.Writer) error {
	var g grammar
	p, err := newParser(&g, w)
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
	_, err = io.WriteString(w, examples)
	return err
}
