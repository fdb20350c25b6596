package plugin_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"opencode-delegate/internal/realclaude"
	"opencode-delegate/internal/testanthropic"
)

// wait is how long a terminal may take for an answer: the machine may be busy.
const wait = 180 * time.Second

// Setup says what is there; without opencode it says how to get it, and so does the first line of a session.
func TestRealSetup(t *testing.T) {
	t.Parallel()
	realclaude.Each(t, func(t *testing.T, c realclaude.Claude) {
		m := installed(t, c, worker)
		a := m.Headless(context.Background(), "/opencode:setup "+say(text("END")))
		if said := a.Requests[0].Said("user"); a.Exit != 0 || !strings.Contains(said, "ready") || strings.Contains(said, "not ready") || !strings.Contains(said, "mock/worker") {
			t.Errorf("exit %d: %q", a.Exit, said)
		}
		m.Extra = append(m.Extra, "OC_DELEGATE_OPENCODE=", "PATH=/usr/bin:/bin")
		a = m.Headless(context.Background(), "/opencode:setup "+say(bash("oc-delegate 'Anything'"), text("END")))
		first := a.Requests[0]
		if said := first.Said("user"); a.Exit != 0 || !strings.Contains(said, "not ready") || !strings.Contains(said, "opencode-ai") {
			t.Errorf("exit %d: %q", a.Exit, said)
		}
		if all := first.Said("user") + first.Said("system"); strings.Count(all, "opencode-ai") < 2 {
			t.Errorf("the session was not told: %q", all)
		}
		if got := results(a.Requests, testanthropic.Main); len(got) != 1 || !got[0].Error || !strings.Contains(got[0].Text, `"status":"OPENCODE_MISSING"`) {
			t.Errorf("%+v", got)
		}
	})
}

// A plugin without its programs, and without Go to build them: the session works, each call says one line, and the subagent may do nothing.
func TestRealWithoutPrograms(t *testing.T) {
	t.Parallel()
	realclaude.Each(t, func(t *testing.T, c realclaude.Claude) {
		m := installed(t, c, worker, "PATH=/usr/bin:/bin")
		if err := os.RemoveAll(filepath.Join(m.Root, "release", "lib")); err != nil {
			t.Fatal(err)
		}
		a := m.Headless(context.Background(), "Go. "+say(
			bash("touch mine"), bash("oc-delegate 'x'"), subagent(bash("touch evil"), bash("oc-delegate 'x'"), text("over")), text("END")), "--dangerously-skip-permissions")
		if a.Exit != 0 || a.Text != "END" || !m.exists("mine") {
			t.Fatalf("exit %d, %q, %s", a.Exit, a.Text, a.Stderr)
		}
		got := results(a.Requests, testanthropic.Main)
		if !got[1].Error || !strings.Contains(got[1].Text, "oc-delegate: ") || strings.Count(strings.TrimSpace(got[1].Text), "\n") > 2 {
			t.Errorf("the call said %q", got[1].Text)
		}
		for _, r := range results(a.Requests, testanthropic.Subagent) {
			if !r.Error {
				t.Errorf("the subagent: %+v", r)
			}
		}
		if m.exists("evil") {
			t.Error("the subagent ran something")
		}
	})
}

// Disabled, removed and upgraded while a job runs and one waits for its turn: both come to their end, and the results are there.
func TestRealRemoval(t *testing.T) {
	t.Parallel()
	realclaude.Each(t, func(t *testing.T, c realclaude.Claude) {
		m := installed(t, c, worker)
		ctx := context.Background()
		task := `Slowly. [[mock:{"text":"It is done.","delay_ms":2500}]]`
		a := m.Headless(ctx, "Go. "+say(bash("oc-job start --max-jobs 1 '"+task+"'"), bash("oc-job start --max-jobs 1 '"+task+" once more'"), text("END")))
		if a.Text != "END" {
			t.Fatalf("%q, %s", a.Text, a.Stderr)
		}
		list := m.jobs()
		if len(list) != 2 {
			t.Fatalf("%+v", list)
		}
		for _, args := range [][]string{{"plugin", "disable", "opencode@opencode-delegate"}, {"plugin", "uninstall", "opencode@opencode-delegate"}, {"plugin", "marketplace", "remove", "opencode-delegate"}} {
			if r := m.Run(ctx, "", args...); r.Exit != 0 {
				t.Fatalf("%v: exit %d, %s%s", args, r.Exit, r.Stdout, r.Stderr)
			}
		}
		if err := os.RemoveAll(filepath.Join(m.Root, "release")); err != nil {
			t.Fatal(err)
		}
		gone := m.Headless(ctx, "Go. "+say(bash("oc-job list"), text("END")), "--dangerously-skip-permissions")
		if got := results(gone.Requests, testanthropic.Main); gone.Text != "END" || len(got) != 1 || !got[0].Error {
			t.Errorf("after the removal: %q, %+v", gone.Text, got)
		}
		m.Install(ctx, m.copyRelease(), "opencode@opencode-delegate")
		for _, j := range list {
			if out, exit := m.job("wait", "--timeout", "300s", j.ID); exit != 0 {
				t.Errorf("%s: exit %d, %s", j.ID, exit, out)
			}
			if out, exit := m.job("result", j.ID); exit != 0 || !strings.Contains(out, "It is done.") {
				t.Errorf("%s: exit %d, %q", j.ID, exit, out)
			}
		}
	})
}
