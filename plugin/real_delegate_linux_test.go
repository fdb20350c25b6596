package plugin_test

import (
	"context"
	"strings"
	"testing"

	"opencode-delegate/internal/realclaude"
	"opencode-delegate/internal/testanthropic"
)

// Work goes out in three ways, and none of them asks: by the command, by the subagent that the model chooses, and by the model's own call.
func TestRealDelegate(t *testing.T) {
	t.Parallel()
	realclaude.Each(t, func(t *testing.T, c realclaude.Claude) {
		m := installed(t, c, worker)
		write := heredoc("oc-delegate --write --digest --timeout 2m", "Write the file. [[mock:write]]")
		a := m.Headless(context.Background(), "/opencode:delegate --write make the file "+say(subagent(bash(write), text("DIGEST: {{result}}")), text("END: {{result}}")))
		if a.Exit != 0 || !strings.HasPrefix(a.Text, "END: ") || !strings.Contains(a.Text, "DIGEST: ") || !strings.Contains(a.Text, "mock-out.txt") {
			t.Fatalf("exit %d, %q\n%s", a.Exit, a.Text, a.Stderr)
		}
		if !m.exists("mock-out.txt") {
			t.Error("nothing was written")
		}
		if said := a.Requests[0].Said("user"); !strings.Contains(said, "opencode:opencode-delegate") {
			t.Errorf("the command does not name the subagent: %q", said)
		}
		for _, r := range a.Requests {
			if r.Kind != testanthropic.Subagent {
				continue
			}
			for _, tool := range r.Tools {
				if tool.Name != "Bash" && !strings.HasPrefix(tool.Name, "Task") && tool.Name != "SendMessage" {
					t.Errorf("the subagent is offered %s", tool.Name)
				}
			}
		}

		a = m.Headless(context.Background(), "Ask the worker. "+say(
			bash("oc-delegate --digest 'What is in a.txt? [[mock:text]]'"),
			bash("oc-delegate --write --digest 'Write it. [[mock:write]]'"),
			bash("oc-delegate --no-sandbox 'Anything. [[mock:text]]'"),
			bash("oc-job list")))
		got := results(a.Requests, testanthropic.Main)
		if len(got) != 4 {
			t.Fatalf("%d results: %+v", len(got), got)
		}
		if got[0].Error || !strings.Contains(got[0].Text, `"status":"OK"`) {
			t.Errorf("the model's own call: %+v", got[0])
		}
		for _, i := range []int{1, 2} {
			if !got[i].Error || strings.Contains(got[i].Text, "OC_SIGNAL") {
				t.Errorf("call %d was not asked about: %+v", i, got[i])
			}
		}
		if got[3].Error || !strings.Contains(got[3].Text, "succeeded") {
			t.Errorf("list: %+v", got[3])
		}
	})
}

// The subagent can do one thing. Whatever it is told, the hook stops the rest, also where the host would ask nobody.
func TestRealSubagentIsHeld(t *testing.T) {
	t.Parallel()
	realclaude.Each(t, func(t *testing.T, c realclaude.Claude) {
		m := installed(t, c, worker)
		evil := []map[string]any{
			bash("touch evil1"),
			bash("oc-delegate --digest 'x [[mock:text]]' && touch evil2"),
			bash("oc-delegate --digest \"$(touch evil3)\""),
			bash("oc-delegate --no-sandbox --write 'x [[mock:write]]'"),
			bash("oc-delegate --write --dir /tmp 'x [[mock:write]]'"),
			bash("oc-delegate --write --verify 'touch evil5' 'x [[mock:write]]'"),
			bash("oc-job apply --force"),
			bash("oc-job trust --yes"),
			{"tool": "Write", "input": map[string]any{"file_path": m.Project + "/evil4", "content": "x"}},
			{"tool": "Read", "input": map[string]any{"file_path": m.Project + "/a.txt"}},
			{"bash": "oc-delegate --digest 'x [[mock:text]]'", "input": map[string]any{"dangerouslyDisableSandbox": true}},
		}
		a := m.Headless(context.Background(), "Go. "+say(subagent(append(evil, text("over"))...), text("END")), "--dangerously-skip-permissions")
		if a.Exit != 0 {
			t.Fatalf("exit %d: %s", a.Exit, a.Stderr)
		}
		got := results(a.Requests, testanthropic.Subagent)
		if len(got) != len(evil) {
			t.Fatalf("%d results, want %d: %+v", len(got), len(evil), got)
		}
		for i, r := range got {
			if !r.Error {
				t.Errorf("call %d went through: %+v", i, r)
			}
		}
		for _, name := range []string{"evil1", "evil2", "evil3", "evil4", "evil5", "mock-out.txt"} {
			if m.exists(name) {
				t.Errorf("%s is there", name)
			}
		}
		if list := m.jobs(); len(list) > 0 {
			t.Errorf("jobs: %+v", list)
		}
	})
}

// A review of a real difference: the worker is given it, the model gets the findings.
func TestRealReview(t *testing.T) {
	t.Parallel()
	realclaude.Each(t, func(t *testing.T, c realclaude.Claude) {
		m := installed(t, c, worker)
		m.Write("project/a.txt", "hello\nthis line is new\n")
		a := m.Headless(context.Background(), "/opencode:review --base HEAD "+say(
			bash(`oc-delegate review --base HEAD 'mind the greeting [[mock:{"text":"{\"findings\":[{\"file\":\"a.txt\",\"line\":2,\"severity\":\"low\",\"claim\":\"it is new\"}]}"}]]'`), text("END: {{result}}")))
		if a.Exit != 0 || !strings.Contains(a.Text, `"status":"OK"`) || !strings.Contains(a.Text, "a.txt:2  it is new") {
			t.Fatalf("exit %d, %q, %s", a.Exit, a.Text, a.Stderr)
		}
		var briefs string
		for _, r := range m.model.Requests() {
			briefs += r.User
		}
		if !strings.Contains(briefs, "+this line is new") || !strings.Contains(briefs, "mind the greeting") {
			t.Errorf("the worker was told %q", briefs)
		}
		if said := a.Requests[0].Said("user"); !strings.Contains(said, "oc-delegate review") || !strings.Contains(said, "--base HEAD") {
			t.Errorf("the model was told %q", said)
		}
	})
}

// What the user sets reaches the tiers; the user's own environment is above it.
func TestRealOptions(t *testing.T) {
	t.Parallel()
	realclaude.Each(t, func(t *testing.T, c realclaude.Claude) {
		m := bare(t, c, "OC_TIER_PRO=mock/mine")
		m.Write("config/settings.json", `{"pluginConfigs": {"opencode@opencode-delegate": {"options": {
			"tier_flash": "mock/worker", "tier_pro": "mock/theirs", "timeout": "77s", "digest_limit": 1234, "max_jobs": 3, "policy_text": true}}}}`)
		m.Install(context.Background(), m.copyRelease(), "opencode@opencode-delegate")
		a := m.Headless(context.Background(), "Look. "+say(
			bash("oc-delegate --explain"), bash("oc-delegate --tier pro --explain"), bash("oc-delegate --digest 'Say it. [[mock:digest]]'")))
		got := results(a.Requests, testanthropic.Main)
		if len(got) != 3 {
			t.Fatalf("%d results: %+v\n%s", len(got), got, a.Stderr)
		}
		for _, want := range []string{"mock/worker", "CLAUDE_PLUGIN_OPTION_TIER_FLASH", "77s", "1234"} {
			if !strings.Contains(got[0].Text, want) {
				t.Errorf("no %s in %s", want, got[0].Text)
			}
		}
		if !strings.Contains(got[1].Text, "mock/mine") {
			t.Errorf("the user's own variable does not win: %s", got[1].Text)
		}
		if got[2].Error || !strings.Contains(got[2].Text, `"model":"mock/worker"`) {
			t.Errorf("the run: %+v", got[2])
		}
		if all := a.Requests[0].Said("system") + a.Requests[0].Said("user"); !strings.Contains(all, "oc-delegate") {
			t.Error("the policy text was switched on and is not there")
		}
	})
}

// The skill and the texts that it refers to are read without a question, and nothing else that lies beside them.
func TestRealSkill(t *testing.T) {
	t.Parallel()
	realclaude.Each(t, func(t *testing.T, c realclaude.Claude) {
		m := installed(t, c, worker)
		read := func(path string) map[string]any {
			return map[string]any{"tool": "Read", "input": map[string]any{"file_path": m.Root + "/release/" + path}}
		}
		a := m.Headless(context.Background(), "Go. "+say(map[string]any{"skill": "opencode:opencode"}, read("skills/opencode/references/cost.md"), read("README.md"), text("END")))
		got := results(a.Requests, testanthropic.Main)
		if len(got) != 3 || got[0].Error || got[1].Error || !strings.Contains(got[1].Text, "# ") {
			t.Fatalf("%+v\n%s", got, a.Stderr)
		}
		if !got[2].Error {
			t.Errorf("a file beside them was read: %.200s", got[2].Text)
		}
		if all := a.Requests[1].Said("user") + a.Requests[1].Said("system"); !strings.Contains(all, "# Delegating to opencode") {
			t.Error("the skill is not in the context")
		}
	})
}
