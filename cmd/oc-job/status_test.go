package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"opencode-delegate/internal/delegate"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/job"
	"opencode-delegate/internal/proc"
	"opencode-delegate/internal/record"
	"opencode-delegate/internal/redact"
)

// running makes a forged job one that runs since a quarter of an hour.
func running(st *job.State) {
	at := deskNow().Add(-15 * time.Minute)
	st.State, st.Status, st.Exit, st.StartedAt, st.EndedAt = job.Running, "", nil, &at, nil
}

// file puts a file into a record.
func (d *desk) file(id, name string, v any) {
	d.t.Helper()
	data, err := json.Marshal(v)
	if err == nil {
		err = os.WriteFile(filepath.Join(d.state, "jobs", id, name), data, 0o600)
	}
	if err != nil {
		d.t.Fatal(err)
	}
}

// live makes a job live until the end of the test.
func (d *desk) live(id string) {
	d.t.Helper()
	dir := filepath.Join(d.state, "active")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, id), nil, 0o600); err != nil {
		d.t.Fatal(err)
	}
	hold(d.t, d.state, id)
}

func progress() delegate.Progress {
	reset := deskNow().Add(5 * time.Minute)
	return delegate.Progress{
		Step: 3, Tool: "bash", Target: "go test ./...", Text: "Now the \x1b[31mtests\u202e", Todo: &delegate.Todo{Done: 2, Total: 5, Active: "write the tests"},
		Tokens: 12345, CostUSD: cost(0.0123), Session: "ses_1", Model: "p/resolved",
		Retry: &delegate.Retry{Reason: "usage limit\x1b[2J", Since: deskNow().Add(-time.Minute), ResetAt: &reset},
	}
}

func inUTC(t *testing.T) {
	zone := time.Local
	time.Local = time.UTC
	t.Cleanup(func() { time.Local = zone })
}

func TestStatusOfARunningJob(t *testing.T) {
	inUTC(t)
	d := newDesk(t)
	d.job(number(1), 16*time.Minute, func(st *job.State) {
		running(st)
		st.Name, st.RetryOf, st.Model, st.Version = "docs", number(9), "p/asked", "1.18.33"
		st.Supervisor = &proc.ID{PID: 4242}
	})
	d.live(number(1))
	d.file(number(1), record.Progress, progress())
	here := strings.NewReplacer("DIR", d.app.Cwd, "RECORD", filepath.Join(d.state, "jobs", number(1)))

	want := here.Replace(`id          20261129-100001-0k7q2m
name        docs
state       running  for 15m
task        Mend the tests
lineage     retry of 20261129-100009-0k7q2m
waits       usage limit (until 20:05)
step        3
tool        bash go test ./...
says        Now the tests
todo        2 of 5, now: write the tests
tokens      12345
tier        code
model       p/resolved (asked for as p/asked)
cost        $0.0123
session     ses_1
dir         DIR
caller      shell
created     2026-11-29 19:44:00 +0000
started     2026-11-29 19:45:00 +0000
opencode    1.18.33
supervisor  process 4242
record      RECORD
`)
	if got := d.run("status", "docs"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}

	object := here.Replace(strings.ReplaceAll(`{"id":"20261129-100001-0k7q2m","name":"docs","state":"running","status":null,"exit":null,"tier":"code","model":"p/resolved",
"dir":"DIR","caller":"shell","created_at":"2026-11-29T19:44:00Z","started_at":"2026-11-29T19:45:00Z","ended_at":null,"cost_usd":0.0123,
"task":"Mend the tests","retry_of":"20261129-100009-0k7q2m","elapsed_s":900,"step":3,"tool":"bash","target":"go test ./...","text":"Now the tests",
"todo":{"done":2,"total":5,"active":"write the tests"},"tokens":12345,
"retry":{"reason":"usage limit","since":"2026-11-29T19:59:00Z","reset_at":"2026-11-29T20:05:00Z"},"reason":null,"session":"ses_1",
"requested_model":"p/asked","opencode_version":"1.18.33","record":"RECORD","supervisor_pid":4242,"queue_ahead":null,"after":[]}`, "\n", ""))
	if got := d.run("status", number(1)[:20], "--json"); got != object+"\n" {
		t.Errorf("got\n%s\nwant\n%s", got, object)
	}
	if got := d.run("status", "--json"); got != "["+object+"]\n" {
		t.Errorf("got\n%s\nwant\n[%s]", got, object)
	}

	want = strings.TrimPrefix(`
20261129-100001-0k7q2m  running  code  15m  $0.0123  docs: Mend the tests
  waits: usage limit (until 20:05), step 3, todo 2/5, bash go test ./...
`, "\n")
	if got := d.run("status"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got, want := d.run("list", "--json"), `"cost_usd":0.0123`; !strings.Contains(got, want) {
		t.Errorf("list: no %s in %s", want, got)
	}
}

// TestStatusIsPlain: a forged record acts on no terminal, and what is secret is not shown.
func TestStatusIsPlain(t *testing.T) {
	secret := "s3cr3t-" + "value-42"
	d := newDesk(t, "MY_API_KEY="+secret)
	d.app.Secrets = redact.New(d.app.Environ)
	d.job(number(1), time.Minute, func(st *job.State) {
		running(st)
		st.Dir, st.Session, st.Tier, st.Version, st.RetryOf = "/\x1b[31m\u202e"+secret, "ses\x9b1", "\x07", "\x1b]0;t\x07", "\x1b[2J"
	})
	d.live(number(1))
	p := progress()
	p.Tool, p.Target, p.Retry, p.Todo.Active = "\x1b[31mbash", "echo "+secret, nil, "\x1b[5mx"
	d.file(number(1), record.Progress, p)
	d.job(number(2), time.Minute, func(st *job.State) {
		running(st)
		st.State, st.StartedAt, st.After = job.Waiting, nil, []string{"\x1b[31m" + secret}
	})
	d.live(number(2))
	for _, args := range [][]string{{"status", number(1)}, {"status", number(2)}, {"status"}, {"status", number(1), "--json"}, {"status", "--json"}} {
		got := d.run(args...)
		if strings.ContainsFunc(got, func(r rune) bool { return r != '\n' && unicode.IsControl(r) || r == '\u202e' }) {
			t.Errorf("%v: not plain: %q", args, got)
		}
		if strings.Contains(got, secret) || !strings.Contains(got, "[redacted]") {
			t.Errorf("%v: a secret: %s", args, got)
		}
	}
}

func TestStatusLeavesOutWhatIsNotKnown(t *testing.T) {
	d := newDesk(t)
	d.job(number(1), time.Minute, func(st *job.State) { running(st); st.Model = "p/resolved" })
	d.live(number(1))
	d.file(number(1), record.Progress, delegate.Progress{Text: "I begin", Model: "p/resolved"})
	got := d.run("status", number(1))
	for _, label := range []string{"step", "tokens", "tool", "todo", "cost", "waits", "session", "name", "lineage", "reason", "asked for"} {
		if strings.Contains(got, "\n"+label+" ") || strings.Contains(got, "("+label) {
			t.Errorf("%s in\n%s", label, got)
		}
	}
	if got := d.run("status", number(1), "--json"); !strings.Contains(got, `"requested_model":null`) || !strings.Contains(got, `"text":"I begin","todo":null,"tokens":0,"retry":null,`) {
		t.Errorf("%s", got)
	}
	if got := d.run("status"); !strings.HasSuffix(got, "  Mend the tests\n  I begin\n") {
		t.Errorf("%s", got)
	}
}

func TestStatusOfJobsThatHaveNotBegun(t *testing.T) {
	d := newDesk(t)
	unborn := func(state job.Phase, queued time.Duration) func(*job.State) {
		return func(st *job.State) {
			at := deskNow().Add(-queued)
			st.State, st.Status, st.Exit, st.StartedAt, st.EndedAt, st.QueuedAt = state, "", nil, nil, nil, &at
		}
	}
	d.job(number(1), time.Minute, running)
	d.job(number(2), time.Minute, unborn(job.Queued, 30*time.Second)) // waited for another job first: it came into the queue later
	d.job(number(3), time.Minute, unborn(job.Queued, 40*time.Second))
	d.job(number(4), time.Minute, unborn(job.Queued, 20*time.Second))
	d.job(number(5), time.Minute, func(st *job.State) {
		unborn(job.Waiting, 0)(st)
		st.QueuedAt, st.After = nil, []string{number(1), number(8)}
	})
	for n := 1; n <= 5; n++ {
		d.live(number(n))
	}
	for n, want := range map[int]string{
		2: "queued  for 1m, 1 queued job goes first\n", 3: "queued  for 1m, next in the queue\n", 4: "queued  for 1m, 2 queued jobs go first\n",
		5: "waiting  for 1m\n",
	} {
		if got := d.run("status", number(n)); !strings.Contains(got, "\nstate       "+want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	after := "after       " + number(1) + " (running)\nafter       " + number(8) + " (not there any more)\n"
	if got := d.run("status", number(5)); !strings.Contains(got, after) {
		t.Errorf("no %q in\n%s", after, got)
	}
	if got := d.run("status", number(4), "--json"); !strings.Contains(got, `"elapsed_s":null,"step":null,`) || !strings.Contains(got, `"queue_ahead":2,"after":[]}`) {
		t.Errorf("%s", got)
	}
	if got := d.run("status", number(5), "--json"); !strings.Contains(got, `"queue_ahead":null,"after":["`+number(1)+`","`+number(8)+`"]}`) {
		t.Errorf("%s", got)
	}
	want := strings.TrimPrefix(`
20261129-100005-0k7q2m  waiting  code   1m  -  Mend the tests
  after 20261129-100001-0k7q2m (running), 20261129-100008-0k7q2m (not there any…
20261129-100004-0k7q2m  queued   code   1m  -  Mend the tests
  2 queued jobs go first
20261129-100003-0k7q2m  queued   code   1m  -  Mend the tests
  next in the queue
20261129-100002-0k7q2m  queued   code   1m  -  Mend the tests
  1 queued job goes first
20261129-100001-0k7q2m  running  code  15m  -  Mend the tests
`, "\n")
	if got := d.run("status"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestStatusOfJobsThatHaveEnded(t *testing.T) {
	d := newDesk(t)
	d.job(number(1), time.Hour, func(st *job.State) {
		st.State, st.Status, st.Exit, st.Reason = job.Failed, fault.Incomplete, new(5), "the stream was \x1b[1mcut"
		st.Session, st.Dead, st.ContinueOf = "ses_1", "it is poisoned", number(9)
		st.Supervisor = &proc.ID{PID: 4242}
	})
	d.file(number(1), record.Progress, progress())
	d.file(number(1), record.Result, delegate.Result{Schema: 1, ID: number(1), Status: fault.Incomplete, Usage: &delegate.Usage{Input: 20000, Output: 300, Reasoning: 40, CacheRead: 5, CacheWrite: 1}})
	got := d.run("status", number(1))
	for _, want := range []string{
		"\nstate       failed  INCOMPLETE, exit 5, after 1m\nreason      the stream was cut\n", "\nlineage     continues " + number(9) + "\n",
		"\nstep        3\n", "\ntokens      20346\n", "\nsession     ses_1 (cannot be continued: it is poisoned)\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "waits") || strings.Contains(got, "supervisor") {
		t.Errorf("an end that goes on:\n%s", got)
	}
	got = d.run("status", number(1), "--json")
	for _, want := range []string{
		`"state":"failed","status":"INCOMPLETE","exit":5,`, `"elapsed_s":60,`, `"tokens":20346,"retry":null,"reason":"the stream was cut","session":"ses_1","session_dead":"it is poisoned",`,
		`"supervisor_pid":null`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
	d.job(number(2), 2*time.Hour, nil)
	want := strings.TrimPrefix(`
20261129-100001-0k7q2m  failed     code  1h/1m  -  Mend the tests
  INCOMPLETE: the stream was cut
20261129-100002-0k7q2m  succeeded  code  2h/1m  -  Mend the tests
`, "\n")
	if got := d.run("status"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got, want := d.run("status", number(2)), "\nstate       succeeded  exit 0, after 1m\n"; !strings.Contains(got, want) {
		t.Errorf("no %q in\n%s", want, got)
	}
}

func TestStatusOfWhatCannotBeRead(t *testing.T) {
	inUTC(t)
	d := newDesk(t)
	forgeRaw(t, d.state, number(1), `{"schema":3}`)
	d.file(number(1), record.Progress, progress())
	want := `id          20261129-100001-0k7q2m
state       unreadable
problem     state.json has schema 3, and this version knows 1; use the newer version that wrote it
created     2026-11-29 10:00:01 +0000
record      ` + filepath.Join(d.state, "jobs", number(1)) + "\n"
	if got := d.run("status", number(1)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	// Times that are centuries apart, of a job that claims to run.
	forgeRaw(t, d.state, number(2), `{"schema":1,"id":"`+number(2)+`","state":"running","created_at":"0001-01-02T00:00:00Z","started_at":"0001-01-02T00:00:00Z"}`)
	hold(t, d.state, number(2))
	if got, want := d.run("status", number(2)), "\nstate       running  for 2500000h\n"; !strings.Contains(got, want) {
		t.Errorf("no %q in\n%s", want, got)
	}
	if got, want := d.run("list", "--all"), "running     -  106751d  -"; !strings.Contains(got, want) {
		t.Errorf("no %q in\n%s", want, got)
	}
}

func TestStatusOfAll(t *testing.T) {
	d := newDesk(t, "CLAUDE_CODE_SESSION_ID=me")
	mine := func(st *job.State) { st.Caller, st.Repo, st.Dir = "me", "/elsewhere", "/elsewhere" }
	d.job(number(0), 30*time.Hour, func(st *job.State) { mine(st); running(st) })
	d.live(number(0))
	d.job(number(1), 25*time.Hour, func(st *job.State) { // made before, ended within the day: the last of all
		mine(st)
		st.EndedAt = new(deskNow().Add(-time.Second))
	})
	d.job(number(2), 25*time.Hour, mine)
	d.job(number(3), 10*time.Minute, nil) // another's
	forgeRaw(t, d.state, number(4), "{")
	for n := 10; n < 32; n++ {
		d.job(number(n), time.Duration(60-n)*time.Minute, mine)
	}
	want := []string{number(0), number(1)}
	for n := 31; n > 12; n-- {
		want = append(want, number(n))
	}
	var got []string
	for l := range strings.Lines(d.run("status")) {
		got = append(got, l[:22])
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	var objects []struct{ ID string }
	if err := json.Unmarshal([]byte(d.run("status", "--json")), &objects); err != nil || len(objects) != len(want) || objects[1].ID != want[1] {
		t.Errorf("%v, %v", objects, err)
	}
}

func TestStatusOfNothing(t *testing.T) {
	d := newDesk(t)
	d.job(number(1), 26*time.Hour, nil)
	if got := d.run("status"); got != "" || d.err.String() != "oc-job: no job of yours lives, and none has ended in the last 24 hours; oc-job list --all shows every job\n" {
		t.Errorf("stdout %q, stderr %q", got, d.err.String())
	}
	if got := d.run("status", "--json"); got != "[]\n" || d.err.Len() > 0 {
		t.Errorf("stdout %q, stderr %q", got, d.err.String())
	}
	d.job(number(2), time.Hour, nil)
	for id, want := range map[string]string{"nosuch": `no job "nosuch"`, "2026": "names 2 jobs", "20261129-100001-aaaaaa": "no job"} {
		for _, args := range [][]string{{"status", id}, {"status", id, "--json"}} {
			if code := d.code(args...); code != 4 || d.out.Len() > 0 || !strings.Contains(d.err.String(), want) {
				t.Errorf("%q: exit %d, stdout %q, stderr %q", args, code, d.out.String(), d.err.String())
			}
		}
	}
}
