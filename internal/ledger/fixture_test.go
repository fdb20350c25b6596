package ledger

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/redact"
)

// TestMain lets this binary be a process that appends.
func TestMain(m *testing.M) {
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	if dir := os.Getenv("LEDGER_TEST_DIR"); dir != "" {
		appendUntilKilled(dir, os.Getenv("LEDGER_TEST_NAME"))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// appendUntilKilled says of each entry that it is kept.
func appendUntilKilled(dir, name string) {
	l := Open(dir, redact.New(nil))
	for i := range 100_000 {
		e := entry(noon)
		e.Job = fmt.Sprint(name, "-", i)
		if err := l.Append(context.Background(), e); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("kept")
	}
}

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func ptr[T any](v T) *T { return &v }

// entry is one that knows everything.
func entry(at time.Time) Entry {
	return Entry{work(at), Spent{
		Attempt: 1, Role: "work",
		Input: ptr[int64](1000), Output: ptr[int64](100), Reasoning: ptr[int64](10), CacheRead: ptr[int64](5), CacheWrite: ptr[int64](1), Cost: ptr(Dollar / 100),
		Read: ptr[int64](40_000), Written: ptr[int64](4_000),
	}}
}

func work(at time.Time) Work {
	return Work{Job: "20261130-120000-abcdef", Try: 1, Provider: "opencode-go", Model: "glm-5.2", Tier: "pro", Repo: "/r/a", Caller: "s", Status: fault.OK, At: at}
}

// outcome is that of the one try of a job.
func outcome(at time.Time) Outcome {
	return Outcome{work(at), Judged{Final: true, Verdict: "pass", Returned: ptr[int64](400)}}
}

// random is an entry of one of some days, with gaps, and an outcome of another.
func random(r *rand.Rand, i int, from time.Time, days int) (Entry, Outcome) {
	pick := func(words ...string) string { return words[r.IntN(len(words))] }
	maybe := func(most int64) *int64 {
		if r.IntN(6) == 0 {
			return nil
		}
		return ptr(r.Int64N(most))
	}
	work := func() Work {
		return Work{
			Job: fmt.Sprint("job-", i), Try: 1 + r.IntN(3), Provider: pick("opencode-go", "mock", ""), Model: pick("glm", "kimi", "a/b"),
			Tier: pick("flash", "code", "pro", ""), Repo: pick("/r/a", "/r/b\u202e", "", "/r/\xff"), Status: fault.Kind(pick("OK", "RUN_FAILED", "QUOTA_EXHAUSTED", "a later one")),
			At: from.Add(time.Duration(r.Int64N(int64(days) * int64(24*time.Hour)))),
		}
	}
	e := Entry{work(), Spent{
		Attempt: 1 + r.IntN(3), Subagent: r.IntN(8) == 0, Partial: r.IntN(8) == 0,
		Input: maybe(1e6), Output: maybe(1e5), Reasoning: maybe(1e5), CacheRead: maybe(1e7), CacheWrite: maybe(1e4), Read: maybe(1e7), Written: maybe(1e5),
	}}
	if r.IntN(5) > 0 {
		e.Cost = ptr(USD(r.Int64N(3e9)))
	}
	return e, Outcome{work(), Judged{Final: r.IntN(3) > 0, Verdict: pick("", "none", "pass", "fail", "could_not_run"), Returned: maybe(1e4)}}
}

func seeded(t testing.TB) *rand.Rand {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 1))
}

func fresh(t testing.TB) *Ledger { return Open(filepath.Join(t.TempDir(), "ledger"), redact.New(nil)) }

func put(t testing.TB, l *Ledger, entries ...Entry) {
	t.Helper()
	for _, e := range entries {
		if err := l.Append(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
}

// fill writes entries without the disk's leave, which a million of them would wait an hour for.
func fill(t testing.TB, l *Ledger, entries []Entry, outcomes ...Outcome) {
	t.Helper()
	if err := l.make(); err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, e := range entries {
		line, err := e.line()
		if err != nil {
			t.Fatal(err)
		}
		files[day(e.At)] = append(files[day(e.At)], line...)
	}
	for _, o := range outcomes {
		line, err := o.line()
		if err != nil {
			t.Fatal(err)
		}
		files[day(o.At)] = append(files[day(o.At)], line...)
	}
	for day, data := range files {
		f, err := os.OpenFile(filepath.Join(l.dir, day+entriesSuffix), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(data); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
}

func report(t testing.TB, l *Ledger, since time.Time, by By) Report {
	t.Helper()
	rep, err := l.Report(since, by)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

// corrupt changes a file of the ledger.
func corrupt(t *testing.T, l *Ledger, name string, change func([]byte) []byte) {
	t.Helper()
	path := filepath.Join(l.dir, name)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, change(data), 0o600); err != nil {
		t.Fatal(err)
	}
}
