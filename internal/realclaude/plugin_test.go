package realclaude

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"opencode-delegate/internal/testanthropic"
)

// sample writes a small plugin with one part of each kind that these tests drive, and returns its directory and the file into which its hook copies what it is given.
func sample(p *Place) (dir, log string) {
	log = filepath.Join(p.Root, "hook.log")
	p.Write("sample/.claude-plugin/plugin.json", `{
  "name": "sample", "version": "0.0.1", "description": "A plugin for a test.", "author": {"name": "Nobody"}
}`)
	p.Write("sample/.claude-plugin/marketplace.json", `{
  "name": "shelf", "owner": {"name": "Nobody"}, "metadata": {"description": "One plugin for a test.", "version": "0.0.1"},
  "plugins": [{"name": "sample", "source": "./", "description": "A plugin for a test."}]
}`)
	p.Write("sample/commands/weather.md", `---
description: Say how the weather is
allowed-tools: Bash(sample-sky:*)
disable-model-invocation: true
---

!`+"`sample-sky look`"+`

Repeat what stands above.
`)
	p.Write("sample/agents/porter.md", `---
name: porter
description: Carries one thing. Use when something has to be carried.
tools: Bash
---

You carry things.
`)
	p.Program("sample/bin/sample-sky", "#!/bin/sh\necho \"rain with $# argument\"\n")
	p.Write("sample/hooks/hooks.json", `{"hooks": {"PreToolUse": [
  {"matcher": "Bash", "hooks": [{"type": "command", "command": "\"${CLAUDE_PLUGIN_ROOT}\"/hooks/judge", "timeout": 10}]}
]}}`)
	p.Program("sample/hooks/judge", `#!/bin/sh
given=$(cat)
printf '%s\n' "$given" >> '`+log+`'
verdict() { printf '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"%s","permissionDecisionReason":"%s"}}' "$1" "$2"; }
case $given in
*forbidden*) verdict deny "the judge says no" ;;
*permitted*) verdict allow "the judge says yes" ;;
esac
`)
	return p.path("sample"), log
}

// A given is what a hook was given on its standard input.
type given struct {
	Event     string `json:"hook_event_name"`
	Session   string `json:"session_id"`
	AgentType string `json:"agent_type"`
	Tool      string `json:"tool_name"`
	Input     struct {
		Command string `json:"command"`
	} `json:"tool_input"`
}

func hooked(t *testing.T, log string) []given {
	t.Helper()
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	var all []given
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		var g given
		if err := json.Unmarshal([]byte(line), &g); err != nil {
			t.Fatalf("the hook was given %q: %v", line, err)
		}
		all = append(all, g)
	}
	return all
}

// TestRealPlugin drives a plugin in one run: a command with the output of a program in it, a hook that allows and one that denies, and a subagent.
func TestRealPlugin(t *testing.T) {
	Each(t, func(t *testing.T, c Claude) {
		p := New(t, c, "")
		dir, log := sample(p)
		a := p.Headless(context.Background(), `/sample:weather [[claude:[
			{"bash":"touch permitted.txt; echo $((6*7))"},
			{"bash":"touch forbidden.txt"},
			{"agent":"sample:porter","prompt":"carry [[claude:[{\"bash\":\"touch permitted.txt; echo a load\"},{\"text\":\"The porter has: {{result}}\"}]]]"},
			{"text":"The end: {{result}}"}]]]`, "--plugin-dir", dir)
		t.Logf("%s: %v, %d requests", c.Version, a.Wall, len(a.Requests))
		if a.Exit != 0 || a.Failed || !strings.HasPrefix(a.Text, "The end: ") || !strings.Contains(a.Text, "The porter has: a load") {
			t.Fatalf("exit %d, answer %q, stderr %q", a.Exit, a.Text, a.Stderr)
		}
		var main, porter []testanthropic.Request
		for _, r := range a.Requests {
			switch r.Kind {
			case testanthropic.Main:
				main = append(main, r)
			case testanthropic.Subagent:
				porter = append(porter, r)
			}
		}
		if len(main) != 4 || len(porter) != 2 {
			t.Fatalf("%d requests of the conversation and %d of the subagent, want 4 and 2", len(main), len(porter))
		}
		if said := main[0].Said("user"); !strings.Contains(said, "rain with 1 argument") {
			t.Errorf("the command's output did not reach the model: %q", said)
		}
		if main[0].Session == "" || porter[0].Session != main[0].Session || porter[0].Agent == "" || !strings.Contains(porter[0].System, "You carry things.") {
			t.Errorf("subagent %q of session %q, conversation %q, system prompt %q", porter[0].Agent, porter[0].Session, main[0].Session, porter[0].System)
		}
		results := main[3].Results()
		if got := results[0]; got.Error || got.Text != "42" {
			t.Errorf("the allowed call came to %+v", got)
		}
		if got := results[1]; !got.Error || !strings.Contains(got.Text, "the judge says no") {
			t.Errorf("the denied call came to %+v", got)
		}
		if _, err := os.Stat(filepath.Join(p.Project, "forbidden.txt")); err == nil {
			t.Error("the denied call ran")
		}
		var calls []string
		for _, g := range hooked(t, log) {
			if g.Event != "PreToolUse" || g.Tool != "Bash" || g.Session != main[0].Session {
				t.Errorf("the hook was given %+v", g)
			}
			calls = append(calls, g.AgentType+": "+g.Input.Command)
		}
		if got, want := strings.Join(calls, "\n"), ": touch permitted.txt; echo $((6*7))\n: touch forbidden.txt\nsample:porter: touch permitted.txt; echo a load"; got != want {
			t.Errorf("the hook saw\n%s\nwant\n%s", got, want)
		}
	})
}

// TestRealInstall installs from a directory that is a marketplace, and measures what the plugin adds to the first request: twice the same without it, then with it.
func TestRealInstall(t *testing.T) {
	Each(t, func(t *testing.T, c Claude) {
		p := New(t, c, "")
		dir, _ := sample(p)
		ctx := context.Background()
		p.Write("sample/README.md", strings.Repeat("This plugin is there for a test and does nothing else at all. ", 5))
		p.Write("sample/LICENSE", "MIT\n")
		if r := p.Run(ctx, "", "plugin", "validate", "--strict", filepath.Join(dir, ".claude-plugin", "plugin.json")); r.Exit != 0 {
			t.Errorf("validate: exit %d\n%s%s", r.Exit, r.Stdout, r.Stderr)
		}
		const prompt = `[[claude:{"text":"Hello"}]]`
		first := p.Headless(ctx, prompt).Requests[0]
		again := p.Headless(ctx, prompt).Requests[0]
		if added := again.Added(first); len(added) != 0 {
			t.Errorf("two equal runs differ in %q", added)
		}
		p.Install(ctx, dir, "sample@shelf")
		with := p.Headless(ctx, prompt)
		added := strings.Join(with.Requests[0].Added(first), "\n")
		t.Logf("%s: %v; %d characters without, %d with; added:\n%s", c.Version, with.Wall, first.Characters(), with.Requests[0].Characters(), added)
		if !strings.Contains(added, "sample:porter: Carries one thing.") || strings.Contains(added, "weather") || len(added) > 300 {
			t.Errorf("the plugin added %q", added)
		}
		if len(with.Events) == 0 || !strings.Contains(string(with.Events[0].Raw), `"sample:weather"`) {
			t.Errorf("the command is not there: %.2000s", with.Stdout)
		}
	})
}
