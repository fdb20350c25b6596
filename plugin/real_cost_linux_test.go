package plugin_test

import (
	"context"
	"strings"
	"testing"
	"unicode/utf8"

	"opencode-delegate/internal/realclaude"
	"opencode-delegate/internal/testanthropic"
)

// What the plugin adds to the model's context, in characters: to the first request of a session that does not use it, and by a whole delegation whose worker printed
// a megabyte.
const (
	idleLimit       = 850
	delegationLimit = 8000
)

func TestRealContextCost(t *testing.T) {
	t.Parallel()
	realclaude.Each(t, func(t *testing.T, c realclaude.Claude) {
		m := bare(t, c, worker)
		const prompt = `[[claude:{"text":"Hello"}]]`
		without := m.Headless(context.Background(), prompt).Requests[0]
		m.Install(context.Background(), m.copyRelease(), "opencode@opencode-delegate")
		with := m.Headless(context.Background(), prompt).Requests[0]
		added := strings.Join(with.Added(without), "\n")
		idle := utf8.RuneCountInString(added)
		t.Logf("%s: an idle session: %d characters (limit %d):\n%s", c.Version, idle, idleLimit, added)
		if idle == 0 || idle > idleLimit {
			t.Errorf("%d characters", idle)
		}

		const task = "Read everything. [[mock:big-text 1048576]]"
		for name, script := range map[string]string{
			"by command":       "/opencode:delegate read everything " + say(subagent(bash(heredoc("oc-delegate --digest --timeout 2m", task)), text("{{result}}")), text("END")),
			"by the model":     "Go. " + say(bash(heredoc("oc-delegate --digest --timeout 2m", task)), text("END")),
			"without a digest": "Go. " + say(subagent(bash(heredoc("oc-delegate --timeout 2m", task)), text("{{result}}")), text("END")),
			"read by command":  "/opencode:result",
		} {
			if name == "read by command" {
				script += " " + m.ended(task)
			}
			a := m.Headless(context.Background(), script)
			var last testanthropic.Request
			for _, r := range a.Requests {
				if r.Kind == testanthropic.Main {
					last = r
				}
			}
			cost := last.Characters() - with.Characters() - utf8.RuneCountInString(script) + utf8.RuneCountInString(prompt)
			t.Logf("%s: a delegation %s: %d characters (limit %d)", c.Version, name, cost, delegationLimit)
			if a.Exit != 0 || cost > delegationLimit || cost < 100 {
				t.Errorf("%s: %d characters; exit %d, %q", name, cost, a.Exit, a.Text)
			}
		}
	})
}
