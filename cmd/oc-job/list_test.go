package main

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"opencode-delegate/internal/cli"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/job"
	"opencode-delegate/internal/lock"
	"opencode-delegate/internal/record"
	"opencode-delegate/internal/redact"
)

// A desk is where commands are given in a test: a state directory, a moment, and what comes back.
type desk struct {
	t        *testing.T
	state    string
	app      *cli.App
	out, err bytes.Buffer
}

// deskNow is the moment of a desk.
func deskNow() time.Time { return time.Date(2026, 11, 29, 20, 0, 0, 0, time.UTC) }

func newDesk(t *testing.T, environ ...string) *desk {
	d := &desk{t: t, state: filepath.Join(t.TempDir(), "state")}
	d.app = cli.New("oc-job", func(_ io.Writer, name string) func(string) {
		return func(line string) { fmt.Fprintln(&d.err, name+": "+line) }
	})
	d.app.Environ = append([]string{"OC_DELEGATE_STATE=" + d.state}, environ...)
	d.app.Stdout, d.app.Now, d.app.Cwd = &d.out, deskNow, t.TempDir()
	return d
}

// run gives a command that ends with 0; what it says on stdout comes back.
func (d *desk) run(args ...string) string {
	d.t.Helper()
	if code := d.code(args...); code != 0 {
		d.t.Fatalf("%v: exit %d: %s", args, code, d.err.String())
	}
	return d.out.String()
}

func (d *desk) code(args ...string) int {
	d.out.Reset()
	d.err.Reset()
	return run(d.app, args)
}

// job forges the record of a job that ended well, a minute after it began, ago before now.
func (d *desk) job(id string, ago time.Duration, change func(*job.State)) {
	d.t.Helper()
	at, exit := deskNow().Add(-ago), 0
	end := at.Add(time.Minute)
	st := job.State{
		Schema: job.Schema, ID: id, State: job.Succeeded, Status: fault.OK, Exit: &exit, Caller: "shell", Dir: d.app.Cwd, Repo: d.app.Cwd,
		Tier: "code", Model: "opencode-go/kimi-k2.7-code", Task: "Mend the tests", CreatedAt: at, StartedAt: &at, EndedAt: &end,
	}
	if change != nil {
		change(&st)
	}
	forge(d.t, d.state, st)
}

// hold makes a job live until the end of the test.
func hold(t *testing.T, root, id string) {
	t.Helper()
	l, err := lock.Try(filepath.Join(root, "jobs", id, record.Lease))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Release)
}

// number is the id of a job in the order in which they were made.
func number(n int) string { return fmt.Sprintf("20261129-1%05d-0k7q2m", n) }

func cost(usd float64) *float64 { return &usd }

func TestListIsRightInAnyLanguage(t *testing.T) {
	d := newDesk(t)
	d.job(number(1), 3*time.Hour, nil)
	d.job(number(2), 50*time.Hour, func(st *job.State) {
		st.Task, st.CostUSD = "テストを直して、結果を日本語で詳しく説明してください", cost(0.0123)
	})
	d.job(number(3), time.Hour, func(st *job.State) {
		st.Task = "👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦"
	})
	d.job(number(4), time.Hour, func(st *job.State) { st.Task = strings.Repeat("e\u0301", 60) })
	d.job(number(5), time.Hour, func(st *job.State) {
		st.Task = "תקן את הבדיקות \u202eאחרי זה\u202c כתוב סיכום"
	})
	d.job(number(6), time.Hour, func(st *job.State) {
		st.Name, st.Task = "\x1b[31mred\x1b[m\x07", "a\x1b]0;title\x07b\r\nc\td\u009b31m\x7f \x1b[2Jend"
		st.Tier, st.Model = "", "p/\x1b[5mblink\u202e-model-with-a-long-name"
	})
	d.job(number(7), time.Hour, func(st *job.State) {
		st.Tier, st.Task = "漢字漢字漢字", "हिन्दी में परीक्षण सुधारो और सारांश लिखो"
	})
	d.job(number(8), time.Hour, func(st *job.State) {
		st.Task, st.Tier = "🇩🇪🇫🇷⚠️1️⃣ mend flags and keycaps now", "pro"
	})
	forgeRaw(t, d.state, number(10), `{"schema":1,"id":"`+number(10)+`","state":"\u001b[31m\u202e"}`)
	forgeRaw(t, d.state, number(11), `{"schema":7,"id":["of another shape"]}`)
	forgeRaw(t, d.state, number(12), `{"schema":1,`)
	got := d.run("list")
	want := strings.TrimPrefix(`
20261129-100012-0k7q2m  unreadable  state.json is damaged: unexpected EOF after…
20261129-100011-0k7q2m  unreadable  state.json has schema 7, and this version k…
20261129-100010-0k7q2m  unreadable  state.json names a state that does not exis…
20261129-100008-0k7q2m  succeeded   pro         1h/1m        -  🇩🇪🇫🇷⚠️1️⃣ mend f…
20261129-100007-0k7q2m  succeeded   漢字漢字…   1h/1m        -  हिन्दी में परीक्षण …
20261129-100006-0k7q2m  succeeded   blink-mod…  1h/1m        -  red: ab c d end
20261129-100005-0k7q2m  succeeded   code        1h/1m        -  תקן את הבדיקות …
20261129-100004-0k7q2m  succeeded   code        1h/1m        -  @@@@@@@@@@@@@@@…
20261129-100003-0k7q2m  succeeded   code        1h/1m        -  👩‍👩‍👧‍👦…
20261129-100002-0k7q2m  succeeded   code        2d/1m  $0.0123  テストを直して…
20261129-100001-0k7q2m  succeeded   code        3h/1m        -  Mend the tests
`, "\n")
	if want = strings.ReplaceAll(want, "@", "e\u0301"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for l := range strings.Lines(got) {
		l = strings.TrimSuffix(l, "\n")
		if n := max(ansi.StringWidth(l), ansi.StringWidthWc(l)); n > 80 {
			t.Errorf("%d columns: %s", n, l)
		}
		if !utf8.ValidString(l) || strings.ContainsFunc(l, unicode.IsControl) || strings.ContainsAny(l, "\u202e\u202c") {
			t.Errorf("not plain: %q", l)
		}
	}
	if d.err.Len() > 0 {
		t.Errorf("stderr: %s", d.err.String())
	}
}

func TestListShowsNamesAndLineage(t *testing.T) {
	d := newDesk(t)
	d.job(number(1), time.Hour, func(st *job.State) { st.Name, st.Task = "docs", "Go on" })
	d.job(number(2), time.Hour, func(st *job.State) { st.Task, st.RetryOf = "Mend", number(1) })
	d.job(number(3), time.Hour, func(st *job.State) { st.Task, st.ContinueOf = "Mend the tests", number(1) })
	d.job(number(4), time.Hour, func(st *job.State) { st.Task, st.RetryOf = "Mend", "\x1b[31m" })
	want := strings.TrimPrefix(`
20261129-100004-0k7q2m  succeeded  code  1h/1m  -  Mend
20261129-100003-0k7q2m  succeeded  code  1h/1m  -  Mend the tests
20261129-100002-0k7q2m  succeeded  code  1h/1m  -  Mend  (retry of …0k7q2m)
20261129-100001-0k7q2m  succeeded  code  1h/1m  -  docs: Go on
`, "\n")
	if got := d.run("list"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestListChooses(t *testing.T) {
	d := newDesk(t, "CLAUDE_CODE_SESSION_ID=me")
	other := t.TempDir()
	live := func(st *job.State) { st.State, st.Status, st.Exit, st.EndedAt = job.Queued, "", nil, nil }
	d.job(number(1), 72*time.Hour, func(st *job.State) { st.Caller = "me" })
	d.job(number(2), 2*time.Hour, func(st *job.State) { st.State, st.Status, st.Exit = job.Failed, fault.Incomplete, new(5) })
	d.job(number(3), 30*time.Minute, func(st *job.State) { st.Dir, st.Repo, st.Caller = other, other, "me" })
	d.job(number(4), time.Minute, func(st *job.State) { live(st); st.Dir, st.Repo = other, other })
	hold(t, d.state, number(4))
	forgeRaw(t, d.state, number(5), "")
	for _, c := range []struct {
		args string
		want []int
	}{
		{"list", []int{5, 2, 1}},
		{"list --all", []int{5, 4, 3, 2, 1}},
		{"list --all -n 2", []int{5, 4}},
		{"list --mine", []int{1}},
		{"list --mine --all", []int{3, 1}},
		{"list --all --state queued", []int{4}},
		{"list --all --state failed,queued", []int{4, 2}},
		{"list --all --state failed --state unreadable", []int{5, 2}},
		{"list --all --since 3h", []int{4, 3, 2}},
		{"list --all --since 2h", []int{4, 3, 2}},
		{"list --all --since 3d", []int{5, 4, 3, 2, 1}},
		{"list --all --since 2026-11-01", []int{5, 4, 3, 2, 1}},
		{"list --all --since 1799", []int{4}},
		{"list --all --since 2026-11-29T19:30:00Z", []int{4, 3}},
		{"list --all --since 2026-11-29T21:30:01+02:00", []int{4}},
	} {
		var got []int
		for l := range strings.Lines(d.run(strings.Fields(c.args)...)) {
			got = append(got, int(l[14]-'0'))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.args, got, c.want)
		}
	}
}

func TestListRefusesWithASentence(t *testing.T) {
	d := newDesk(t)
	for args, want := range map[string]string{
		"list --state asleep":          `flag --state: "asleep" is no state of a job; there are waiting, queued, running, succeeded, failed, timeout, cancelled, interrupted, skipped, lost and unreadable`,
		"list --state running,":        `flag --state: "" is no state of a job`,
		"list --state=":                `flag --state: "" is no state of a job`,
		"list --state Running":         `flag --state: "Running" is no state`,
		"list --since yesterday":       `flag --since: "yesterday" is neither a duration such as 30m, 2h or 7d nor a day or time such as 2026-11-29 or 2026-11-29T19:30:00Z`,
		"list --since=-2h":             `flag --since: "-2h" is neither`,
		"list --since 1.5h":            `flag --since: "1.5h" is neither`,
		"list --since 2026-11-32":      `flag --since: "2026-11-32" is neither`,
		"list --since= ":               `flag --since: "" is neither`,
		"list --since 999999999999h":   `flag --since: "999999999999h" is neither`,
		"list --since 1h --since 2h":   "twice",
		"list -n 0":                    `flag --limit: "0" is no whole number of at least 1`,
		"list -n many":                 `flag --limit: "many" is no whole number`,
		"list -n 99999999999999999999": "is no whole number",
	} {
		if code := d.code(strings.Fields(args)...); code != 1 || d.out.Len() > 0 || !strings.Contains(d.err.String(), want) {
			t.Errorf("%s: exit %d, stdout %q, stderr %q, want %q", args, code, d.out.String(), d.err.String(), want)
		}
	}
	d.code("list", "--state", "x", "--since", "y", "-n", "z")
	if n := strings.Count(d.err.String(), "\n"); n != 3 {
		t.Errorf("%d problems of 3: %s", n, d.err.String())
	}
}

func TestListOfNothing(t *testing.T) {
	d := newDesk(t)
	d.job(number(1), time.Hour, func(st *job.State) { st.Repo = "/elsewhere" })
	for args, want := range map[string]string{
		"list":                        "oc-job: no job in this repository; --all looks in every one\n",
		"list --mine --state running": "oc-job: no job matches in this repository; --all looks in every one\n",
		"list --all --since 0":        "oc-job: no job matches\n",
		"list --mine":                 "oc-job: no job of yours in this repository; --all looks in every one\n",
	} {
		if got := d.run(strings.Fields(args)...); got != "" || d.err.String() != want {
			t.Errorf("%s: stdout %q, stderr %q", args, got, d.err.String())
		}
		if got := d.run(append(strings.Fields(args), "--json")...); got != "[]\n" || d.err.Len() > 0 {
			t.Errorf("%s --json: stdout %q, stderr %q", args, got, d.err.String())
		}
	}
}

func TestListAsJSON(t *testing.T) {
	secret := "s3cr3t-" + "value-42"
	d := newDesk(t, "MY_API_KEY="+secret)
	d.app.Secrets = redact.New(d.app.Environ)
	d.job(number(1), time.Hour, func(st *job.State) {
		st.Name, st.CostUSD, st.RetryOf = "docs", cost(0.25), number(9)
		st.Task = "use " + secret + " \x1b[31m\u202e\nnow"
	})
	d.job(number(2), time.Minute, func(st *job.State) {
		*st = job.State{Schema: 1, ID: st.ID, State: job.Queued, Repo: st.Repo, CreatedAt: st.CreatedAt}
	})
	hold(t, d.state, number(2))
	// A time that RFC 3339 cannot say in UTC must not spoil the answer.
	forgeRaw(t, d.state, number(3), `{"schema":1,"id":"`+number(3)+`","state":"lost","status":"JOB_LOST","exit":18,"repo":"`+d.app.Cwd+`","created_at":"9999-12-31T23:59:59-01:00","ended_at":"2026-11-29T20:00:00+02:00"}`)
	forgeRaw(t, d.state, number(4), `{"schema":2}`)
	forgeRaw(t, d.state, "20261399-100000-aaaaaa", "") // an id of no day
	d.job("20260101-100000-aaaaaa", time.Hour, func(st *job.State) { st.Dir = "/a\x7f\u202e/" + secret })
	want := strings.NewReplacer("DIR", d.app.Cwd, "\n", "").Replace(`[
{"id":"20261399-100000-aaaaaa","name":null,"state":"unreadable","status":null,"exit":null,"tier":null,"model":null,"dir":null,"caller":null,
"created_at":null,"started_at":null,"ended_at":null,"cost_usd":null,"task":null,"problem":"state.json is empty"},
{"id":"20261129-100004-0k7q2m","name":null,"state":"unreadable","status":null,"exit":null,"tier":null,"model":null,"dir":null,"caller":null,
"created_at":"2026-11-29T10:00:04Z","started_at":null,"ended_at":null,"cost_usd":null,"task":null,
"problem":"state.json has schema 2, and this version knows 1; use the newer version that wrote it"},
{"id":"20261129-100003-0k7q2m","name":null,"state":"lost","status":"JOB_LOST","exit":18,"tier":null,"model":null,"dir":null,"caller":null,
"created_at":null,"started_at":null,"ended_at":"2026-11-29T18:00:00Z","cost_usd":null,"task":null},
{"id":"20261129-100002-0k7q2m","name":null,"state":"queued","status":null,"exit":null,"tier":null,"model":null,"dir":null,"caller":null,
"created_at":"2026-11-29T19:59:00Z","started_at":null,"ended_at":null,"cost_usd":null,"task":null},
{"id":"20261129-100001-0k7q2m","name":"docs","state":"succeeded","status":"OK","exit":0,"tier":"code","model":"opencode-go/kimi-k2.7-code","dir":"DIR","caller":"shell",
"created_at":"2026-11-29T19:00:00Z","started_at":"2026-11-29T19:00:00Z","ended_at":"2026-11-29T19:01:00Z","cost_usd":0.25,"task":"use [redacted] now",
"retry_of":"20261129-100009-0k7q2m"},
{"id":"20260101-100000-aaaaaa","name":null,"state":"succeeded","status":"OK","exit":0,"tier":"code","model":"opencode-go/kimi-k2.7-code","dir":"/a\u007f\u202e/[redacted]","caller":"shell",
"created_at":"2026-11-29T19:00:00Z","started_at":"2026-11-29T19:00:00Z","ended_at":"2026-11-29T19:01:00Z","cost_usd":null,"task":"Mend the tests"}]`) + "\n"
	if got := d.run("list", "--json"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
