// Package plugin is Claude Code's side of the wire: what its hooks are given and what they answer, the options of the plugin, and the
// arguments of its commands.
//
// A hook is one call of `oc-job hook EVENT` with a JSON object on standard input. Whatever goes wrong in one is said in one line on
// stderr and nowhere else: Claude Code goes on as if there were no plugin. Only the hook before a tool call of the subagent that
// delegates fails closed.
package plugin

import (
	"opencode-delegate/internal/cli"
)

// Events are the hooks that there are. Watch is our own: Claude Code runs it beside the session, and its end wakes an idle one.
var Events = []string{"SessionStart", "SessionEnd", "UserPromptSubmit", "UserPromptExpansion", "PreToolUse", "Watch"}

// Hook is the whole of one call of a hook; its result is the exit code. 2 is an answer to the host, which never stands for an error of
// our own.
func Hook(a *cli.App, event string) int {
	return 0
}
