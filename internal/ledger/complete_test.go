package ledger

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"opencode-delegate/internal/redact"
)

// What two processes complete at once is complete once, and nothing of another job counts.
func TestCompleteOnce(t *testing.T) {
	l := fresh(t)
	mine := entry(noon)
	other := mine
	other.Job = mine.Job + "0" // an id that begins like it
	early := entry(noon.AddDate(0, 0, -2))
	put(t, l, early, mine, other)
	corrupt(t, l, "2026-11-30.jsonl", func(b []byte) []byte { return append(b, `{"schema":1,"job":"`+mine.Job+`"`...) }) // somebody died
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			err := Open(l.dir, redact.New(nil)).Complete(t.Context(), mine.Job, noon, func(have Lines) (more Lines) {
				for n := len(have.Entries) + 1; n <= 3; n++ {
					e := entry(noon.Add(24 * time.Hour)) // it ended the next day
					e.Attempt = n
					more.Entries = append(more.Entries, e)
				}
				if len(have.Outcomes) == 0 {
					more.Outcomes = append(more.Outcomes, outcome(noon.Add(24*time.Hour)))
				}
				return more
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	have, err := l.of(mine.Job, noon)
	if err != nil || len(have.Entries) != 3 || len(have.Outcomes) != 1 {
		t.Fatalf("%+v, %v", have, err)
	}
	for i, e := range have.Entries {
		if e.Attempt != i+1 || e.Job != mine.Job {
			t.Errorf("entry %d: %+v", i, e)
		}
	}
	if got := have.Outcomes[0]; got.Verdict != "pass" || !got.Final || got.Tier != "pro" {
		t.Errorf("%+v", got)
	}
	if rep := report(t, l, time.Time{}, ByTier); rep.Total.Entries != 5 || rep.Total.Runs != 1 || rep.Damaged != 1 {
		t.Errorf("%+v", rep)
	}
}

func TestCompleteSaysWhatIsWrong(t *testing.T) {
	l := fresh(t)
	if err := l.Complete(t.Context(), "j", noon, func(Lines) Lines { return Lines{Entries: []Entry{{}}} }); err == nil {
		t.Error("an entry of nothing was kept")
	}
	if err := l.Complete(t.Context(), "j", noon, func(Lines) Lines { return Lines{Outcomes: []Outcome{{}}} }); err == nil {
		t.Error("an outcome of nothing was kept")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	unlock, err := l.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	if err := l.Complete(ctx, "j", noon, func(Lines) Lines { t.Error("asked without the lock"); return Lines{} }); err == nil {
		t.Error("no lock, no error")
	}
}

// A model that answers is not blocked any more; one that had begun to answer before the error proves nothing.
func TestAnAnswerLiftsABlock(t *testing.T) {
	l := fresh(t)
	met := Exhaustion{Provider: "p", Model: "m", Window: Week, At: noon, Until: noon.Add(50 * time.Hour)}
	learn(t, l, met)
	learn(t, l, Exhaustion{Provider: "p", Model: "other", Window: Week, At: noon, Until: noon.Add(50 * time.Hour)})
	blocked := func(at time.Time, model string) bool {
		_, blocked, err := l.Blocked(at, "p", model)
		if err != nil {
			t.Fatal(err)
		}
		return blocked
	}
	at := noon.Add(time.Hour)
	for began, want := range map[time.Time]bool{noon.Add(-time.Minute): true, noon: true, noon.Add(time.Minute): false} {
		if want == false && !blocked(at, "m") {
			t.Fatal("lifted too early")
		}
		if !want {
			continue
		}
		if err := l.Answered(t.Context(), "p", "m", began, at); err != nil || !blocked(at, "m") {
			t.Errorf("an answer that began %v: %v", began, err)
		}
	}
	if err := l.Answered(t.Context(), "p", "m", noon.Add(time.Minute), at); err != nil {
		t.Fatal(err)
	}
	if blocked(at, "m") || !blocked(at, "other") {
		t.Error("the wrong one is lifted")
	}
	got := quotas(t, l, at)
	if q := got["p/m week"]; q.Exhausted || q.ResetAt != nil {
		t.Errorf("%+v", q)
	}
	// The next error counts again, the same as before too.
	met.At = noon.Add(2 * time.Hour)
	learn(t, l, met)
	if !blocked(met.At, "m") {
		t.Error("a new error does not block")
	}
	before := size(t, l, limitsFile)
	if err := l.Answered(t.Context(), "p", "unknown", noon, at); err != nil || size(t, l, limitsFile) != before {
		t.Errorf("an answer of a model that was never blocked was noted: %v", err)
	}
}

// Runs beside each other meet the same limit; the file stays short for years, what still holds stays in it, and the question costs little.
func TestLimitsStayShort(t *testing.T) {
	l := fresh(t)
	for i := range 10 {
		learn(t, l, Exhaustion{Provider: "p", Model: "m", Window: FiveHours, At: noon.Add(time.Duration(i) * time.Second), Until: noon.Add(2*time.Hour + time.Duration(i)*time.Second)})
	}
	learn(t, l, Exhaustion{Provider: "p", Model: "m", Window: FiveHours, At: noon.Add(time.Minute), Until: noon.Add(3 * time.Hour)})
	if all, err := l.exhaustions(noon.Add(time.Hour)); err != nil || len(all) != 2 {
		t.Errorf("%d errors kept of two that differ, %v", len(all), err)
	}
	learn(t, l, Exhaustion{Provider: "p", Model: "long", Window: Month, At: noon, Until: noon.Add(30 * 24 * time.Hour)})
	at := noon
	for range 3 {
		corrupt(t, l, limitsFile, func(b []byte) []byte {
			for i := 0; len(b) <= limitsMost; i++ {
				at = at.Add(13 * time.Minute)
				x := Exhaustion{Schema: Schema, Provider: "p", Model: fmt.Sprint("model-", i%7), Window: FiveHours, At: at, Until: at.Add(time.Minute)}
				data, err := x.line()
				if err != nil {
					t.Fatal(err)
				}
				b = append(b, data...)
			}
			return b
		})
		at = at.Add(13 * time.Minute)
		learn(t, l, Exhaustion{Provider: "p", Model: "model-8", Window: FiveHours, At: at, Until: at.Add(time.Minute)})
	}
	if n := size(t, l, limitsFile); n > limitsMost*2/3 || n < limitsMost/3 {
		t.Errorf("the file has %d bytes", n)
	}
	if x, blocked, err := l.Blocked(at, "p", "long"); err != nil || !blocked || x.Window != Month {
		t.Errorf("%+v, %v, %v", x, blocked, err)
	}
	if _, blocked, _ := l.Blocked(at, "p", "model-8"); !blocked {
		t.Error("the newest is lost")
	}
	if _, blocked, _ := l.Blocked(at, "p", "model-3"); blocked {
		t.Error("a reset that is past blocks")
	}
	best := time.Hour
	for range 20 {
		began := time.Now()
		if _, _, err := l.Blocked(at, "p", "m"); err != nil {
			t.Fatal(err)
		}
		best = min(best, time.Since(began))
	}
	t.Logf("the question takes %v", best)
	if best > 5*time.Millisecond && !raceDetector {
		t.Errorf("the question takes %v", best)
	}
	none, best := fresh(t), time.Hour
	for range 20 {
		began := time.Now()
		_, _, err := none.Blocked(at, "p", "m")
		if best = min(best, time.Since(began)); err != nil {
			t.Fatal(err)
		}
	}
	if t.Logf("without a ledger %v", best); best > time.Millisecond && !raceDetector {
		t.Errorf("without a ledger it takes %v", best)
	}
}
