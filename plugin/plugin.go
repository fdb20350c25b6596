// Package plugin is Claude Code's side of the wire: what its hooks are given and what they answer, the options of the plugin, and the
// arguments of its commands.
//
// A hook is one call of `oc-job hook EVENT` with a JSON object on standard input. Whatever goes wrong in one is said in one line on
// stderr and nowhere else: Claude Code goes on as if there were no plugin. Only the hook before a tool call of the subagent that
// delegates fails closed.
package plugin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"opencode-delegate/internal/cli"
	"opencode-delegate/internal/plain"
)

// Events are the hooks that there are. Watch is our own: Claude Code runs it beside the session, and its end wakes an idle one.
var Events = []string{"SessionStart", "SessionEnd", "UserPromptSubmit", "UserPromptExpansion", "PreToolUse", "Watch"}

// stop is the exit code with which a hook stops a tool call, and with which Watch wakes Claude Code. No other hook gives it.
const stop = 2

// A hook is one call.
type hook struct {
	*cli.App
	in  input
	ctx context.Context
}

// Hook is the whole of one call of a hook; its result is the exit code.
func Hook(a *cli.App, event string) (exit int) {
	h := &hook{App: a, ctx: context.Background()}
	about := func() bool { return false } // the subagent
	fail := func(err error) int {
		h.Say("hook %.40s: %v", event, err)
		if event == "PreToolUse" && about() {
			return stop
		}
		return 0
	}
	defer func() {
		if r := recover(); r != nil {
			exit = fail(mistake(r))
		}
	}()
	given, err := readGiven(a.Stdin)
	about = func() bool { return given.guarded || h.in.AgentType == guardedAgent }
	if err == nil {
		h.in, err = given.input()
	}
	if err != nil {
		if event == "UserPromptExpansion" { // what was kept before would be taken for this
			err = oneLine(err, h.forget(h.Getenv("CLAUDE_CODE_SESSION_ID")))
		}
		return fail(err)
	}
	switch event {
	case "SessionStart":
		err = h.sessionStart()
	case "SessionEnd":
		err = h.forget(h.in.Session) // and nothing that runs
	case "UserPromptSubmit":
		err = h.prompted()
	case "UserPromptExpansion":
		err = h.expanded()
	case "PreToolUse":
		err = inTime(toolTime, h.beforeTool)
	case "Watch":
		ctx, done := cli.Ending()
		defer done()
		h.ctx = ctx
		woken, werr := h.watch()
		if err = werr; woken {
			return stop
		}
	default:
		err = errors.New("there is no such hook")
	}
	if err != nil {
		return fail(err)
	}
	return 0
}

func mistake(r any) error { return fmt.Errorf("a mistake of this program: %v", r) }

// toolTime is how long the judgement of a tool call may take. The host lets through what a hook has not judged in its time (measured), and a
// path can lie on a file system that does not answer.
const toolTime = 10 * time.Second

// inTime does something that may never end.
func inTime(limit time.Duration, do func() error) error {
	done := make(chan error, 1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				done <- mistake(r)
			}
		}()
		done <- do()
	}()
	select {
	case err := <-done:
		return err
	case <-time.After(limit):
		return fmt.Errorf("no answer within %v", limit)
	}
}

// An answer is what the host is told on stdout.
type answer struct {
	Decision      string    `json:"decision,omitempty"`      // block: the prompt goes no further
	Reason        string    `json:"reason,omitempty"`        // of the decision, for the user
	SystemMessage string    `json:"systemMessage,omitempty"` // for the user
	Specific      *specific `json:"hookSpecificOutput,omitempty"`
}

// A specific is the part of an answer that belongs to one event.
type specific struct {
	Event             string `json:"hookEventName"`
	Context           string `json:"additionalContext,omitempty"` // for the model
	Permission        string `json:"permissionDecision,omitempty"`
	PermissionBecause string `json:"permissionDecisionReason,omitempty"`
}

// answerLimit is the number of code points of each text of an answer.
const answerLimit = 2000

// tell gives an answer. One that says nothing is none.
func (h *hook) tell(a answer) error {
	if a == (answer{}) || a.Specific != nil && a.SystemMessage == "" && a.Specific.Context == "" && a.Specific.Permission == "" {
		return nil
	}
	texts := []*string{&a.Reason, &a.SystemMessage}
	if a.Specific != nil {
		texts = append(texts, &a.Specific.Context, &a.Specific.PermissionBecause)
	}
	for _, t := range texts {
		*t = h.neutral(*t, answerLimit)
	}
	if err := h.PrintJSON(a); err != nil {
		return fmt.Errorf("stdout: %w", err)
	}
	return nil
}

// neutral is a text without secrets, without what acts on a terminal or names a file to Claude Code, and of bounded length.
func (h *hook) neutral(s string, most int) string {
	s = plain.NoMentions(plain.Clean(h.Secrets.String(s)))
	if r := []rune(s); len(r) > most {
		s = string(r[:most-1]) + "…"
	}
	return s
}
