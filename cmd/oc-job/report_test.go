package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"opencode-delegate/internal/cli"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/job"
	"opencode-delegate/internal/ledger"
	"opencode-delegate/internal/redact"
)

// A till is a ledger with random lines, and the command that reports of it.
type till struct {
	app    *cli.App
	out    *bytes.Buffer
	said   *bytes.Buffer
	ledger *ledger.Ledger

	cost          ledger.USD
	runs, entries int64
}

var reportDay = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func newTill(t *testing.T, lines int) *till {
	t.Helper()
	root := t.TempDir() + "/state"
	s, err := job.OpenStore(root, redact.New(nil))
	if err != nil {
		t.Fatal(err)
	}
	k := &till{out: &bytes.Buffer{}, said: &bytes.Buffer{}, ledger: s.Ledger()}
	k.app = cli.New("oc-job", func(stderr io.Writer, name string) func(string) {
		return func(line string) { fmt.Fprintln(stderr, line) }
	}).Redirected(k.out, k.said)
	k.app.Environ, k.app.Home, k.app.Cwd = []string{"OC_DELEGATE_STATE=" + root, "HOME=" + root}, root, root
	k.app.Now, k.app.Secrets = func() time.Time { return reportDay }, redact.New(nil)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	pick := func(words ...string) string { return words[r.IntN(len(words))] }
	for i := range lines {
		w := ledger.Work{
			Job: fmt.Sprint("j", i), Try: 1, Provider: pick("mock", "opencode-go"), Model: pick("a", "漢字", "=x"), Tier: pick("flash", "code", ""),
			Repo: pick("=HYPERLINK(\"http://x\")", "@sum", "+1", "-1", "/home/me/a,b\"c", "\u202e/evil\x1b[2J", "＝1", "\t=1", ""), Status: fault.Kind(pick("OK", "RUN_FAILED")),
			At: reportDay.Add(-time.Duration(r.IntN(9*24)) * time.Hour),
		}
		cost, n := ledger.USD(r.Int64N(int64(ledger.Dollar))), int64(r.IntN(1000))
		if err := k.ledger.Append(t.Context(), ledger.Entry{Work: w, Spent: ledger.Spent{Attempt: 1, Cost: &cost, Input: &n, Output: &n, Reasoning: &n, CacheRead: &n, CacheWrite: &n}}); err != nil {
			t.Fatal(err)
		}
		if err := k.ledger.Judge(t.Context(), ledger.Outcome{Work: w, Judged: ledger.Judged{Final: true, Verdict: pick("pass", "fail", "could_not_run", "none"), Returned: &n}}); err != nil {
			t.Fatal(err)
		}
		k.cost, k.runs, k.entries = k.cost+cost, k.runs+1, k.entries+1
	}
	return k
}

// ask runs a verb and returns what it printed.
func (k *till) ask(t *testing.T, v verb) string {
	t.Helper()
	k.out.Reset()
	if exit := v.run(k.app); exit != 0 {
		t.Fatalf("exit %d: %s", exit, k.said)
	}
	return k.out.String()
}

// Whatever is reported by, and in whatever form, it adds up to the ledger.
func TestReportAddsUp(t *testing.T) {
	k := newTill(t, 120)
	for _, by := range ledger.Bys() {
		v := reportVerb{JSON: true}
		v.By.Text, v.By.Set = string(by), true
		var s sheet
		if err := json.Unmarshal([]byte(k.ask(t, &v)), &s); err != nil {
			t.Fatal(err)
		}
		var cost ledger.USD
		var runs, entries int64
		for _, r := range s.Rows {
			cost, runs, entries = cost+r.Cost, runs+r.Runs, entries+r.Entries
		}
		if cost != k.cost || runs != k.runs || entries != k.entries || s.Total.Cost != k.cost || s.Total.Runs != k.runs {
			t.Errorf("by %s: rows of %v in %d runs, total %v in %d; the ledger has %v in %d", by, cost, runs, s.Total.Cost, s.Total.Runs, k.cost, k.runs)
		}
		v.JSON, v.CSV = false, true
		rows, err := csv.NewReader(strings.NewReader(k.ask(t, &v))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		cost = 0
		at := slices.Index(rows[0], "cost_usd")
		for _, row := range rows[1:] {
			f, err := strconv.ParseFloat(row[at], 64)
			usd, ok := ledger.FromFloat(f)
			if err != nil || !ok {
				t.Errorf("cost %q", row[at])
			}
			cost += usd
			for _, cell := range row {
				if !utf8.ValidString(cell) || strings.IndexAny(cell, "=+-@\t\r＝") == 0 || strings.ContainsAny(cell, "\x1b\u202e\n") {
					t.Errorf("by %s: a cell %q", by, cell)
				}
			}
		}
		if cost != k.cost || len(rows)-1 != len(s.Rows) {
			t.Errorf("by %s: CSV of %v in %d rows", by, cost, len(rows)-1)
		}
	}
}

// No line is wider than the screen, and only a terminal gets colours.
func TestReportAndQuotaOfAnyWidth(t *testing.T) {
	k := newTill(t, 40)
	for width := range 130 {
		k.app.Environ = append(slices.DeleteFunc(slices.Clone(k.app.Environ), func(s string) bool { return strings.HasPrefix(s, "COLUMNS=") }), fmt.Sprint("COLUMNS=", max(width, 1)))
		repo := reportVerb{}
		repo.By.Text, repo.By.Set = "repo", true
		for _, v := range []verb{&reportVerb{}, &repo, &quotaVerb{}} {
			text := k.ask(t, v)
			for l := range strings.Lines(text) {
				if n := ansi.StringWidth(strings.TrimSuffix(l, "\n")); n > max(width, 1) {
					t.Errorf("%d columns of %d: %q", n, width, l)
				}
			}
			if strings.Contains(text, "\x1b") || !utf8.ValidString(text) {
				t.Errorf("%q", text)
			}
		}
	}
}

func TestBar(t *testing.T) {
	for _, c := range []struct {
		part, whole float64
		cells       int
		want        string
	}{
		{0, 1, 10, ""}, {1, 1, 3, "███"}, {2, 1, 3, "███"}, {1, 2, 4, "██"}, {1, 1000, 4, "▏"}, {1, 3, 2, "▋"}, {1, 0, 4, ""}, {-1, 1, 4, ""}, {1, 1, 0, ""}, {1, 1, -3, ""},
	} {
		if got := bar(c.part, c.whole, c.cells); got != c.want {
			t.Errorf("%v of %v: %q, want %q", c.part, c.whole, got, c.want)
		}
	}
}

func TestShort(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1.0k", 9949: "9.9k", 9951: "10k", 999_499: "999k", 999_500: "1.0M", 12_345_678: "12M", 1 << 62: "4612P"} {
		if got := short(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

func TestFitEnd(t *testing.T) {
	for _, c := range []struct {
		text string
		room int
		want string
	}{{"abc", 3, "abc"}, {"abcd", 3, "…cd"}, {"漢字漢", 4, "…漢"}, {"abc", 0, ""}, {"abc", 1, "…"}} {
		if got := fitEnd(c.text, c.room); got != c.want {
			t.Errorf("%q in %d: %q, want %q", c.text, c.room, got, c.want)
		}
	}
}
