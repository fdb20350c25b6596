package plugin_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"opencode-delegate/internal/realclaude"
	"opencode-delegate/internal/testanthropic"
)

// idleAim is what the texts alone may add to the first request of a session that does not use them, in characters.
const idleAim = 600

// recorded makes a copy of the plugin whose oc-job only writes down how it was called, and returns the copy and the file.
func recorded(t *testing.T, p *realclaude.Place) (dir, log string) {
	t.Helper()
	dir, log = filepath.Join(p.Root, "a plugin"), filepath.Join(p.Root, "calls")
	folder(t, dir)
	p.Program("a plugin/bin/oc-job", "#!/bin/sh\nif [ \"$1\" = hook ]; then printf '%s %s\\n' \"$2\" \"$(cat)\" >> '"+log+"'; else echo \"said by $*\"; fi\n")
	p.Program("a plugin/bin/oc-delegate", "#!/bin/sh\necho nothing\n")
	return dir, log
}

// TestRealHooksAreCalled: each hook is called in a folder with a space in its name, and the one before a tool call for each tool and for whoever calls it. A command runs what
// stands behind its !, and the model reads that.
func TestRealHooksAreCalled(t *testing.T) {
	t.Parallel()
	realclaude.Each(t, func(t *testing.T, c realclaude.Claude) {
		p := realclaude.New(t, c, "")
		dir, log := recorded(t, p)
		file := p.Write("project/a.txt", "hello\n")
		script := `[[claude:[{"bash":"echo one"},{"tool":"Read","input":{"file_path":"` + file + `"}},{"skill":"opencode:opencode"},
			{"agent":"opencode:opencode-delegate","prompt":"Do it. [[claude:[{\"bash\":\"echo two\"},{\"text\":\"over\"}]]]"},{"text":"END"}]]]`
		a := p.Headless(context.Background(), "/opencode:status it's `mine` "+script, "--plugin-dir", dir)
		if a.Exit != 0 || a.Text != "END" {
			t.Fatalf("exit %d, %q, %s", a.Exit, a.Text, a.Stderr)
		}
		if said := a.Requests[0].Said("user"); !strings.Contains(said, "said by status --args-from-hook") || !strings.Contains(said, "Show the text above") {
			t.Errorf("the model read %q", said)
		}
		for _, r := range a.Requests {
			if r.Kind == testanthropic.Subagent && (!strings.Contains(r.Model, "haiku") || !strings.Contains(r.System, "You pass one unit of work")) {
				t.Errorf("the subagent is %s with %q", r.Model, r.System)
			}
		}
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		var events, tools []string
		for l := range strings.Lines(string(text)) {
			event, input, _ := strings.Cut(l, " ")
			var in struct {
				Event string `json:"hook_event_name"`
				Tool  string `json:"tool_name"`
				Agent string `json:"agent_type"`
				Args  string `json:"command_args"`
			}
			if err := json.Unmarshal([]byte(input), &in); err != nil {
				t.Fatalf("%q: %v", l, err)
			}
			if event == "Watch" {
				event += " " + in.Event
			} else if event != in.Event {
				t.Errorf("%s is called as %s", in.Event, event)
			}
			events = append(events, event)
			if event == "PreToolUse" {
				tools = append(tools, strings.TrimSpace(in.Agent+" "+in.Tool))
			}
			if event == "UserPromptExpansion" && !strings.HasPrefix(in.Args, "it's `mine` ") {
				t.Errorf("the arguments are %q", in.Args)
			}
		}
		if want := []string{"Bash", "Read", "Skill", "Agent", "opencode:opencode-delegate Bash"}; !slices.Equal(tools, want) {
			t.Errorf("before a tool call: %q, want %q", tools, want)
		}
		slices.Sort(events)
		want := []string{"PreToolUse", "SessionEnd", "SessionStart", "UserPromptExpansion", "UserPromptSubmit", "Watch SessionStart", "Watch Stop"}
		if got := slices.Compact(events); !slices.Equal(got, want) {
			t.Errorf("called: %q, want %q", got, want)
		}
	})
}

// TestRealTextsIdle prints what the texts cost in a session that does not use them: a line for the agent and one for the skill, and none for a command.
func TestRealTextsIdle(t *testing.T) {
	t.Parallel()
	realclaude.Each(t, func(t *testing.T, c realclaude.Claude) {
		p := realclaude.New(t, c, "")
		dir, _ := recorded(t, p)
		const prompt = `[[claude:{"text":"Hello"}]]`
		without := p.Headless(context.Background(), prompt).Requests[0]
		with := p.Headless(context.Background(), prompt, "--plugin-dir", dir)
		added := with.Requests[0].Added(without)
		n := utf8.RuneCountInString(strings.Join(added, "\n"))
		t.Logf("%s: %d characters (aim %d):\n%s", c.Version, n, idleAim, strings.Join(added, "\n"))
		if n > idleAim || len(added) != 2 {
			t.Errorf("%d characters in %d lines", n, len(added))
		}
		for _, p := range pages(t) {
			if p.kind == command && !strings.Contains(with.Stdout, `"opencode:`+p.name()+`"`) {
				t.Errorf("/opencode:%s is not there", p.name())
			}
		}
	})
}
