package opencode

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"opencode-delegate/internal/lazyregexp"

	"opencode-delegate/internal/fault"
)

// A Binary is an opencode that was asked what it is.
type Binary struct {
	Path      string // absolute
	Version   string // as it prints it, such as "1.18.33"
	Abilities Abilities
}

// Abilities are the flags that `run --help` of this version lists. Versions differ: 1.0 has neither --variant nor
// --dir, and --auto came after 1.2.
type Abilities struct {
	Format, Title, Model, Agent, File, Session, Continue bool
	PrintLogs, LogLevel, Dir, Auto, Variant, Fork        bool
	Thinking, Attach, Pure, Command                      bool
}

// Known reports whether this tool was measured with versions like this one. Another version is tried by its abilities all the same.
func (b Binary) Known() bool {
	return strings.HasPrefix(strings.TrimPrefix(b.Version, "v"), "1.")
}

// AllAbilities is what the newest known version can do: the assumption for a plan that starts nothing.
func AllAbilities() Abilities {
	return Abilities{
		Format: true, Title: true, Model: true, Agent: true, File: true, Session: true, Continue: true,
		PrintLogs: true, LogLevel: true, Dir: true, Auto: true, Variant: true, Fork: true,
		Thinking: true, Attach: true, Pure: true, Command: true,
	}
}

// A Query is one short opencode command that asks for something and changes nothing.
type Query struct {
	Argv []string // Argv[0] is the binary
	Dir  string   // where it runs, absolute; empty: a fresh, empty directory, where no project's plugins are loaded

	// File is handed over as a file, whose path the runner puts in the place of the argument [FileArg].
	File []byte
	// Limit is how many bytes of its output are wanted; 0 = 8 MiB.
	Limit int64
}

// FileArg stands for the path of Query.File in its Argv.
const FileArg = "\x00file"

// A Reply is what a query printed. The runner cuts both outputs at the limit of the query.
type Reply struct {
	Stdout, Stderr []byte
	Code           int // exit code; -1 when a signal ended it
}

// A Runner carries out a query: sandboxed, with the environment of a worker, bounded in time and output, and with
// nothing left alive behind it. It must take the output as it comes, through a large pipe or into a file: opencode exits
// without waiting until it was read, and a list of models has hundreds of kilobytes. An error means that the command did not run to its end.
type Runner func(ctx context.Context, q Query) (Reply, error)

// Probe asks a binary for its version and for the flags of `run`, or takes both from the cache in cacheDir, which is
// keyed by path, size and modification time. A cache that is corrupt, foreign or not writable only costs the time of
// asking again; an empty cacheDir switches it off. Concurrent probes are fine.
//
// A binary that does not start, is no opencode, or cannot print events as JSON is a *fault.Error OPENCODE_MISSING.
func Probe(ctx context.Context, path, cacheDir string, run Runner) (Binary, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Binary{}, &fault.Error{Kind: fault.OpencodeMissing, Reason: fmt.Sprintf("no usable opencode binary: %v", err), Hints: installHints, Err: err}
	}
	key := cacheKey{Path: path, Size: info.Size(), ModTime: info.ModTime().UnixNano()}
	if b, ok := key.load(cacheDir); ok {
		return b, nil
	}
	b, err := ask(ctx, path, run)
	if err != nil {
		return Binary{}, err
	}
	key.store(cacheDir, b)
	return b, nil
}

func ask(ctx context.Context, path string, run Runner) (Binary, error) {
	unusable := func(format string, args ...any) *fault.Error {
		return fault.New(fault.OpencodeMissing, "no usable opencode binary: "+path+": "+format, args...).With(installHints...)
	}
	version, err := run(ctx, Query{Argv: []string{path, "--version"}})
	if err != nil {
		return Binary{}, startFailure(ctx, err, unusable)
	}
	name := firstLine(version.Stdout, 64)
	if version.Code != 0 || name == "" {
		return Binary{}, unusable("--version exits %d: %s", version.Code, firstLine(append(version.Stdout, version.Stderr...), 200))
	}
	help, err := run(ctx, Query{Argv: []string{path, "run", "--help"}})
	if err != nil {
		return Binary{}, startFailure(ctx, err, unusable)
	}
	// yargs prints help on stdout in some versions and on stderr in others.
	abilities := parseHelp(string(help.Stdout) + "\n" + string(help.Stderr))
	if !abilities.Format {
		return Binary{}, unusable("version %s has no `run --format json`", name).With("opencode 1.0 or newer is needed: opencode upgrade")
	}
	return Binary{Path: path, Version: name, Abilities: abilities}, nil
}

func startFailure(ctx context.Context, err error, unusable func(string, ...any) *fault.Error) error {
	// The caller's own end is not the binary's fault.
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	var f *fault.Error
	if errors.As(err, &f) {
		return err
	}
	return unusable("%w", err)
}

// helpFlag matches the long names at the beginning of a line of options; the descriptions beside them name flags too.
var helpFlag = lazyregexp.New(`(?m)^\s+(?:-[A-Za-z], )?--([a-z][a-z-]*)`)

func parseHelp(text string) Abilities {
	var a Abilities
	flags := map[string]*bool{
		"format": &a.Format, "title": &a.Title, "model": &a.Model, "agent": &a.Agent, "file": &a.File,
		"session": &a.Session, "continue": &a.Continue, "print-logs": &a.PrintLogs, "log-level": &a.LogLevel,
		"dir": &a.Dir, "auto": &a.Auto, "variant": &a.Variant, "fork": &a.Fork, "thinking": &a.Thinking,
		"attach": &a.Attach, "pure": &a.Pure, "command": &a.Command,
	}
	for _, m := range helpFlag().FindAllStringSubmatch(text, -1) {
		if known, ok := flags[m[1]]; ok {
			*known = true
		}
	}
	// A program that has a --format of another kind is no opencode that we can read.
	if !strings.Contains(text, "json") {
		a.Format = false
	}
	return a
}

// firstLine is the first line of a program's output that is not blank, without colours, at most n runes long.
func firstLine(out []byte, n int) string {
	for line := range strings.Lines(string(out[:min(len(out), 64<<10)])) {
		if s := oneLine(line, n); s != "" {
			return s
		}
	}
	return ""
}
