package plugin

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"opencode-delegate/internal/call"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/opencode"
	"opencode-delegate/internal/plain"
	"opencode-delegate/internal/proc"
)

// policyText is what the model is told at the start of a session by those who want it to be told. It costs context in each.
const policyText = "The plugin opencode hands work to a cheap worker: oc-delegate. Hand over whole, bounded tasks whose end a command can check: " +
	"a migration, tests for a module, a review of a diff, reading much for a short answer. Keep small edits and decisions. " +
	"Write the contract first: goal, files, what must hold, and the command that checks it, as --verify. Ask for --digest, read that instead of the files, " +
	"believe the verdict and not the worker, and correct once at most. Act on the exit code. The skill opencode tells the rest."

// sessionStart hands the options on, notes which process the session is of, and says what is missing. It says nothing when all is well, since
// each word is in the context of every session.
func (h *hook) sessionStart() error {
	errs := []error{h.link(), h.export()}
	var context []string
	missing := h.missing()
	if missing != "" {
		context = append(context, missing)
	}
	// A session that is resumed has it in its context; after /clear and /compact it is gone.
	if h.on("policy_text", false) && h.in.Source != "resume" {
		context = append(context, policyText)
	}
	errs = append(errs, h.tell(answer{SystemMessage: missing, Specific: &specific{Event: "SessionStart", Context: strings.Join(context, "\n\n")}}))
	return oneLine(errs...)
}

// oneLine joins errors to one of one line.
func oneLine(errs ...error) error {
	var texts []string
	for _, err := range errs {
		if err != nil {
			texts = append(texts, err.Error())
		}
	}
	if len(texts) == 0 {
		return nil
	}
	return errors.New(strings.Join(texts, "; "))
}

// link notes as which session the process of Claude Code calls from now on.
func (h *hook) link() error {
	process, ok := h.claude()
	if !ok || !call.IsSession(h.in.Session) {
		return nil
	}
	store, err := h.Store()
	if err != nil {
		return err
	}
	return store.Link(h.ctx, process, h.in.Session)
}

// claude is the process of Claude Code, which starts each hook in a session of its own (measured): whoever started that session. Newer ones
// say their pid; it is believed where a hook is in Claude Code's own session or where there are no sessions. Elsewhere it may be
// that of another Claude Code, in one of whose commands this one runs.
func (h *hook) claude() (proc.ID, bool) {
	if pid, err := strconv.Atoi(h.Getenv("CLAUDE_PID")); err == nil && pid > 1 && proc.SessionOf(pid) == proc.SessionOf(0) {
		return proc.Of(pid)
	}
	return proc.Starter()
}

// export appends to the file that Claude Code has read by the shell before each later command of the session.
func (h *hook) export() error {
	path := h.Getenv("CLAUDE_ENV_FILE")
	if path == "" {
		return nil
	}
	lines, dropped := h.exports()
	if err := appendTo(path, lines); err != nil {
		return fmt.Errorf("CLAUDE_ENV_FILE: %w", err)
	}
	if len(dropped) > 0 {
		return fmt.Errorf("the option %s is left out: a value is one line of at most 4 KiB", strings.Join(dropped, " and "))
	}
	return nil
}

func appendTo(path, text string) error {
	if !filepath.IsAbs(path) {
		return fmt.Errorf("%.200q is not an absolute path", path)
	}
	if fi, err := os.Stat(path); err == nil && !fi.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", path) // a pipe would be waited for
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	before, err := f.Stat()
	if err == nil {
		if _, err = f.WriteString(text); err != nil { // half a line would be an error in every later command of the session
			f.Truncate(before.Size())
		}
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// missing says in one line what keeps a delegation from starting, as far as that can be told without starting anything.
func (h *hook) missing() string {
	c, problems := call.Check(h.environment())
	what := ""
	if len(problems) > 0 {
		what = problems[0]
	} else if _, err := opencode.Find(opencode.FindOptions{
		Explicit: c.Request.Opencode, Source: c.Request.OpencodeSource, Dir: h.Cwd, Getenv: h.Getenv, Self: h.Self,
	}); err != nil {
		f := fault.Of(err)
		what = f.Reason
		if len(f.Hints) > 0 {
			what += "; " + f.Hints[0]
		}
	}
	if what == "" {
		return ""
	}
	return plain.Line("opencode-delegate cannot work yet: "+what, 280) + " (/opencode:setup tells more)"
}

func (h *hook) environment() call.Environment {
	return call.Environment{Getenv: h.Getenv, Home: h.Home, Cwd: h.Cwd}
}
