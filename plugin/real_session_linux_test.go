package plugin_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"opencode-delegate/internal/job"
	"opencode-delegate/internal/realclaude"
	"opencode-delegate/internal/testanthropic"
)

// slow is a task that the worker needs some seconds for: the delay comes before each of three pieces of the answer.
const slow = `Take your time. [[mock:{"text":"It is done.","delay_ms":1200}]]`

// ends matches the request that tells of the end of a job.
func ends(id string) func(testanthropic.Request) bool {
	return func(r testanthropic.Request) bool {
		return r.Kind == testanthropic.Main && strings.Contains(r.Said("user")+r.Said("system"), id) && strings.Contains(r.Said("user"), "<task-notification>")
	}
}

// A job that ends while nobody does anything wakes Claude once, Claude reads the result, and it is never told again.
func TestRealWake(t *testing.T) {
	t.Parallel()
	realclaude.Each(t, func(t *testing.T, c realclaude.Claude) {
		m := installed(t, c, worker)
		term := m.Terminal("--permission-mode", "default")
		term.Send("Start it. " + say(bash("oc-job start --name nightly '"+slow+"'"), text("It has been started.")))
		term.WaitFor("It has been started.")
		id := m.only()
		m.API.Rules(testanthropic.Rule{
			Name: "woken", Match: ends(id), Times: 1,
			Step: testanthropic.Step{Calls: []testanthropic.Call{{Tool: "Bash", Input: map[string]any{"command": "oc-job result " + id, "description": "Read it"}}}},
		}, testanthropic.Rule{Name: "read", Match: ends(id), Times: 1, Step: testanthropic.Step{Text: "READ: {{result}}"}})
		before := len(m.API.Requests())
		term.WaitFor("READ: ")
		if read := m.API.Requests()[len(m.API.Requests())-1].Results(); len(read) == 0 || !strings.Contains(read[len(read)-1].Text, "It is done.") {
			t.Errorf("the result was %+v", read)
		}
		time.Sleep(3 * time.Second) // in which a second wake would come
		woken := 0
		for _, r := range m.API.Requests()[before:] {
			if r.Kind == testanthropic.Main {
				woken++
			}
		}
		if woken != 2 {
			t.Errorf("%d requests since the end of the turn, want 2: one wake, one result", woken)
		}
		term.Send("And now? " + say(text("Nothing more.")))
		term.WaitFor("Nothing more.")
		all := m.API.Requests()
		last := all[len(all)-1]
		if n := strings.Count(last.Said("user")+last.Said("system"), "oc-job result "+id); n > 1 {
			t.Errorf("the job was told of %d times", n)
		}
		// The next job finds the watcher armed again.
		term.Send("Once more. " + say(bash("oc-job start '"+slow+"'"), text("A second one.")))
		term.WaitFor("A second one.")
		second := m.jobs()[0].ID
		m.API.Rules(testanthropic.Rule{Name: "again", Match: ends(second), Step: testanthropic.Step{Text: "WOKEN AGAIN"}})
		term.WaitFor("WOKEN AGAIN")

		// One that ends within a turn is told when the turn has ended, and once.
		m.API.Rules()
		before = len(m.API.Requests())
		term.Send("Still busy. " + say(bash("oc-job start 'Quickly. [[mock:text]]'"), bash("sleep 9; echo slept"), bash("echo on"), text("THE TURN IS OVER")))
		term.WaitFor("THE TURN IS OVER")
		third := m.jobs()[0].ID
		m.API.Rules(testanthropic.Rule{Name: "after", Match: ends(third), Step: testanthropic.Step{Text: "WOKEN AFTER IT"}})
		term.WaitFor("WOKEN AFTER IT")
		time.Sleep(3 * time.Second)
		told := 0
		for _, r := range m.API.Requests()[before:] {
			if r.Kind == testanthropic.Main && strings.Contains(r.Said("user")+r.Said("system"), third) {
				told++
			}
		}
		if told != 1 {
			t.Errorf("%d requests tell of the job that ended within the turn, want 1", told)
		}
		if code := term.Exit(); code != 0 {
			t.Errorf("exit %d", code)
		}
	})
}

// Two sessions do not see each other's jobs; one session sees its own after /clear; a command cancels.
func TestRealCallers(t *testing.T) {
	t.Parallel()
	realclaude.Each(t, func(t *testing.T, c realclaude.Claude) {
		m := installed(t, c, worker)
		first := m.Terminal("--permission-mode", "default")
		first.Send("Start it. " + say(bash(`oc-job start 'Wait. [[mock:{"text":"late","delay_ms":300000}]]'`), text("It has been started.")))
		first.WaitFor("It has been started.")
		id := m.only()

		other := m.Headless(context.Background(), "Look. "+say(bash("oc-job status"), bash("oc-job result"), bash("oc-job cancel "+id)))
		got := results(other.Requests, testanthropic.Main)
		if len(got) != 3 || strings.Contains(got[0].Text, id) || strings.Contains(got[1].Text, id) || !got[2].Error {
			t.Errorf("another session: %+v", got)
		}
		other = m.Headless(context.Background(), "/opencode:cancel "+id)
		if said := other.Requests[0].Said("user"); !strings.Contains(said, "another caller") {
			t.Errorf("cancelled by another session? %q", said)
		}
		if list := m.jobs(); list[0].State.Terminal() {
			t.Fatalf("%+v", list)
		}

		first.Send("/clear")
		first.WaitGone("It has been started.")
		first.Send("Look again. " + say(bash("oc-job status"), text("LOOKED")))
		first.WaitFor("LOOKED")
		if got := results(m.API.Requests(), testanthropic.Main); len(got) != 1 || !strings.Contains(got[0].Text, id) {
			t.Errorf("after /clear: %+v", got)
		}
		first.Send("/opencode:cancel " + id)
		m.until("the job is cancelled", wait, func() bool { return m.jobs()[0].State == job.Cancelled })
		if code := first.Exit(); code != 0 {
			t.Errorf("exit %d", code)
		}
	})
}

// Without a person nothing hangs: what outlasts the host's limit goes on in the background, and so does what was started there; the run ends, and no watcher is left.
func TestRealHeadlessEnds(t *testing.T) {
	t.Parallel()
	realclaude.Each(t, func(t *testing.T, c realclaude.Claude) {
		m := installed(t, c, worker, "BASH_DEFAULT_TIMEOUT_MS=8000")
		late := `[[mock:{"text":"It is done.","delay_ms":3000}]]`
		a := m.Headless(context.Background(), "Go. "+say(bash("oc-delegate 'Slowly. "+late+"'"), bash("oc-job start --name mine 'Slowly too. "+late+"'"), text("END")))
		if a.Exit != 0 || a.Text != "END" {
			t.Fatalf("exit %d, %q, %s", a.Exit, a.Text, a.Stderr)
		}
		got := results(a.Requests, testanthropic.Main)
		if len(got) != 2 || !strings.Contains(got[0].Text, `"status":"JOB_RUNNING"`) || !strings.Contains(got[0].Text, "oc-job wait") || got[1].Error {
			t.Fatalf("%+v", got)
		}
		for _, p := range m.Processes() {
			if strings.Contains(p.Command, "hook") {
				t.Errorf("left: %s", p.Command)
			}
		}
		list := m.jobs()
		if len(list) != 2 {
			t.Fatalf("%+v", list)
		}
		for _, j := range list {
			if out, exit := m.job("wait", "--timeout", "300s", j.ID); exit != 0 {
				t.Errorf("%s: exit %d, %s", j.ID, exit, out)
			}
			if out, _ := m.job("result", j.ID); !strings.Contains(out, "It is done.") {
				t.Errorf("%s: %q", j.ID, out)
			}
		}
	})
}
