package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"opencode-delegate/cmd/oc-job/watch"
	"opencode-delegate/internal/job"
	"opencode-delegate/internal/redact"
)

func printed(t *testing.T, s screen, lines ...line) string {
	t.Helper()
	var b bytes.Buffer
	if err := newTable(s, lines).print(&b, lines); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTableForAPerson(t *testing.T) {
	lines := []line{
		{Row: watch.Row{ID: number(1), State: "running", Tier: "pro", Age: "4m", Cost: "$0.0123", Task: "Mend"}, lineage: "(retry of …0k7q2m)", below: "step 3"},
		{Row: watch.Row{ID: number(2), State: "unreadable", Age: "300d", Task: "state.json is empty"}},
	}
	want := strings.TrimPrefix(`
ID                      STATE       TIER  AGE     COST  TASK
20261129-100001-0k7q2m  running     pro    4m  $0.0123  Mend  (retry of …0k7q2m)
  step 3
20261129-100002-0k7q2m  unreadable  state.json is empty
`, "\n")
	if got := printed(t, screen{width: 80, person: true}, lines...); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	coloured := printed(t, screen{width: 80, person: true, colour: true}, lines...)
	if ansi.Strip(coloured) != want {
		t.Errorf("colours change the text:\n%s", coloured)
	}
	for _, part := range []string{"\x1b[1mID ", "\x1b[36mrunning\x1b[m  ", "\x1b[31munreadable\x1b[m", "\x1b[2m(retry", "\x1b[2m  step 3\x1b[m\n"} {
		if !strings.Contains(coloured, part) {
			t.Errorf("no %q in %q", part, coloured)
		}
	}
}

func TestTableShowsLineageWhereThereIsRoom(t *testing.T) {
	l := line{Row: watch.Row{ID: number(1), State: "failed", Tier: "pro", Age: "4m", Cost: "$1.00", Task: "Mend"}, lineage: "(retry of …0k7q2m)"}
	short := number(1) + "  failed  pro  4m  $1.00  Mend"
	long := short + "  (retry of …0k7q2m)"
	for width, want := range map[int]string{columns(long): long, columns(long) - 1: short} {
		if got := printed(t, screen{width: width}, l); got != want+"\n" {
			t.Errorf("%d: %q, want %q", width, got, want)
		}
	}
}

func TestEachStateHasAColour(t *testing.T) {
	want := []string{faint, faint, cyan, green, red, red, yellow, yellow, yellow, red, red}
	for i, p := range job.Phases() {
		if got := stateStyle(p); got != want[i] {
			t.Errorf("%s: %s, want %s", p, got, want[i])
		}
	}
}

func TestTableOfAnyWidth(t *testing.T) {
	row := watch.Row{ID: number(1), State: "interrupted", Tier: "code", Age: "59m/59m", Cost: "$1234.56", Name: "docs", Task: "テスト mend the tests and the docs"}
	for width, want := range map[int]string{
		0:   "",
		1:   "…",
		10:  "20261129-…",
		22:  number(1),
		30:  number(1) + "  inter…",
		47:  number(1) + "  interrupted  docs: テ…",
		52:  number(1) + "  interrupted  docs: テスト m…",
		53:  number(1) + "  interrupted  code  docs: テ…",
		62:  number(1) + "  interrupted  code  59m/59m  docs: テ…",
		72:  number(1) + "  interrupted  code  59m/59m  $1234.56  docs: テ…",
		80:  number(1) + "  interrupted  code  59m/59m  $1234.56  docs: テスト mend…",
		200: number(1) + "  interrupted  code  59m/59m  $1234.56  docs: テスト mend the tests and the docs",
	} {
		if got := printed(t, screen{width: width}, line{Row: row, below: ""}); got != want+"\n" {
			t.Errorf("%d: %q, want %q", width, got, want)
		}
	}
	for width := range 100 {
		for l := range strings.Lines(printed(t, screen{width: width, person: true, colour: true}, line{Row: row, lineage: "(retry of …0k7q2m)", below: "漢字 漢字 漢字"})) {
			if n := ansi.StringWidth(strings.TrimSuffix(l, "\n")); n > width {
				t.Errorf("%d columns of %d: %q", n, width, l)
			}
		}
	}
}

// TestFit: what is cut is whole characters, however the terminal counts them.
func TestFit(t *testing.T) {
	for _, c := range []struct {
		text string
		room int
		want string
	}{
		{"", 3, ""},
		{"abc", 3, "abc"},
		{"abcd", 3, "ab…"},
		{"abcd", 1, "…"},
		{"abcd", 0, ""},
		{"abcd", -1, ""},
		{"漢字", 4, "漢字"},
		{"漢字", 3, "漢…"},
		{"漢字", 2, "…"},
		{"漢", 1, "…"},
		{"ae\u0301o\u0308", 3, "ae\u0301o\u0308"},
		{"ae\u0301o\u0308u", 3, "ae\u0301…"},
		{"👩‍👩‍👧x", 3, "…"}, // three wide ones where a terminal knows no joiner
		{"👩‍👩‍👧x", 7, "👩‍👩‍👧x"},
		{"👩‍👩‍👧xy", 7, "👩‍👩‍👧…"},
		{"🇩🇪🇫🇷", 3, "🇩🇪…"},
		{"⚠️x", 3, "⚠️x"},
		{"\u0301abc", 3, "\u0301abc"},
		{"a" + strings.Repeat("\u0301", 50) + "bc", 2, "a" + strings.Repeat("\u0301", 50) + "…"},
	} {
		if got := fit(c.text, c.room); got != c.want {
			t.Errorf("fit(%q, %d) = %q, want %q", c.text, c.room, got, c.want)
		}
	}
}

func TestAge(t *testing.T) {
	now := deskNow()
	at := func(ago time.Duration) *time.Time { return new(now.Add(-ago)) }
	for _, c := range []struct {
		state                 job.Phase
		created, start, ended *time.Time
		want                  string
	}{
		{job.Running, at(time.Hour), at(59 * time.Second), nil, "59s"},
		{job.Queued, at(90 * time.Second), nil, nil, "1m"},
		{job.Succeeded, at(3 * time.Hour), at(2 * time.Hour), at(time.Hour), "3h/1h"},
		{job.Failed, at(72 * time.Hour), at(72 * time.Hour), at(22 * time.Hour), "3d/2d"},
		{job.Skipped, at(47 * time.Hour), nil, at(time.Hour), "47h"},
		{job.Queued, at(-time.Hour), nil, nil, "0s"},
		{job.Succeeded, at(-time.Hour), at(0), at(time.Hour), "0s/0s"},
		{job.Unreadable, &time.Time{}, nil, nil, ""},
	} {
		v := job.View{State: job.State{State: c.state, CreatedAt: *c.created, StartedAt: c.start, EndedAt: c.ended}}
		if got := age(v, now); got != c.want {
			t.Errorf("%s: %q, want %q", c.state, got, c.want)
		}
	}
}

func TestDollars(t *testing.T) {
	for usd, want := range map[float64]string{0: "$0.0000", 0.00004: "$0.0000", 0.0123: "$0.0123", 0.1: "$0.10", 12.345: "$12.35", -0.5: "$-0.50", 1e6: "$1000000.00"} {
		if got := dollars(&usd); got != want {
			t.Errorf("%v: %q, want %q", usd, got, want)
		}
	}
	if got := dollars(nil); got != "" {
		t.Errorf("not known: %q", got)
	}
}

func TestRowsActOnNoTerminal(t *testing.T) {
	d := newDesk(t)
	v := job.View{State: job.State{ID: number(1), State: job.Unreadable, Name: "a\x1b[31mb"}, Problem: "open\x1b[2J\n" + strings.Repeat("x", 2*cellLimit)}
	r := rowOf(d.app, v, nil)
	if r.Name != "ab" || !strings.HasPrefix(r.Task, "open xxx") || len(r.Task) > cellLimit+3 {
		t.Errorf("%q", r)
	}
}

func TestRowsHoldNoSecretHalf(t *testing.T) {
	secret := "s3cr3t-" + "value-" + strings.Repeat("42", 8)
	d := newDesk(t, "MY_API_KEY="+secret)
	d.app.Secrets = redact.New(d.app.Environ)
	d.job(number(1), time.Hour, func(st *job.State) { st.Task = "use " + secret + " now" })
	if got := d.run("list"); !strings.Contains(got, "use [redacted]") {
		t.Errorf("%s", got)
	}
	d.job(number(2), time.Hour, func(st *job.State) { st.Task = fmt.Sprintf("%0190d ", 0) + secret })
	if got := d.run("list", "--json"); strings.Contains(got, "s3cr3t") {
		t.Errorf("%s", got)
	}
}
