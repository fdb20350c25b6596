package plugin_test

import (
	"context"
	"strings"
	"testing"

	"opencode-delegate/internal/realclaude"
	"opencode-delegate/internal/testanthropic"
)

// The subagent has work done in a copy, unasked, and the checks that a person has trusted prove it. Claude may look at the difference, and to land it the user is asked.
func TestRealIsolatedWorkLandsWhenAsked(t *testing.T) {
	t.Parallel()
	realclaude.Each(t, func(t *testing.T, c realclaude.Claude) {
		m := installed(t, c, worker)
		m.Write("project/.opencode-delegate.json", `{"verify": ["test -s mock-out.txt"]}`)
		m.git("add", ".")
		m.git("commit", "-q", "-m", "checks")
		if out, exit := m.job("trust", "--yes"); exit != 0 {
			t.Fatalf("trust: exit %d, %s", exit, out)
		}
		write := heredoc("oc-delegate --write --isolate --digest --timeout 2m", "Write the file. [[mock:write]]")
		a := m.Headless(context.Background(), "/opencode:delegate --write --isolate make the file "+say(
			subagent(bash(write), text("DIGEST: {{result}}")), bash("oc-job diff"), bash("oc-job apply"), text("END")))
		got := results(a.Requests, testanthropic.Main)
		if a.Exit != 0 || len(got) != 3 {
			t.Fatalf("exit %d, %+v, %s", a.Exit, got, a.Stderr)
		}
		if !strings.Contains(got[0].Text, `"verdict":"pass"`) || !strings.Contains(got[0].Text, "the work is in a copy") {
			t.Errorf("the report: %s", got[0].Text)
		}
		if got[1].Error || !strings.Contains(got[1].Text, "+++ b/mock-out.txt") {
			t.Errorf("the difference: %+v", got[1])
		}
		if !got[2].Error || m.exists("mock-out.txt") {
			t.Errorf("it landed, and nobody was asked: %+v", got[2])
		}
		if out, exit := m.job("apply", m.only()); exit != 0 || !m.exists("mock-out.txt") {
			t.Errorf("apply: exit %d, %s", exit, out)
		}
	})
}
