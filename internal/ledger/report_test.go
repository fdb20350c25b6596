package ledger

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// keyed is what a report should say, reckoned from the entries one by one.
func keyed(e Work, by By) string {
	switch by {
	case ByTier:
		return e.Tier
	case ByModel:
		return strings.TrimPrefix(e.Provider+"/"+e.Model, "/")
	case ByDay:
		return e.At.UTC().Format("2006-01-02")
	}
	return strings.ToValidUTF8(e.Repo, "\ufffd")
}

// expected adds up in the most simple way; it shares nothing with totals.
func expected(entries []Entry, outcomes []Outcome, since time.Time, by By) (rows map[string]Totals, all Totals) {
	rows = map[string]Totals{}
	for _, e := range entries {
		if e.At.Before(since) {
			continue
		}
		one := func(t *Totals) {
			t.Entries++
			if e.Cost != nil {
				t.Cost += *e.Cost
			} else if e.Input != nil {
				t.Unpriced++
			}
			unknown := false
			for _, c := range []struct {
				n      *int64
				to     *int64
				tokens bool
			}{
				{e.Input, &t.Input, true}, {e.Output, &t.Output, true}, {e.Reasoning, &t.Reasoning, true}, {e.CacheRead, &t.CacheRead, true}, {e.CacheWrite, &t.CacheWrite, true},
				{e.Read, &t.Read, false}, {e.Written, &t.Written, false},
			} {
				if c.n != nil {
					*c.to += *c.n
				} else if c.tokens {
					unknown = true
				}
			}
			if unknown {
				t.Uncounted++
			}
			if e.Partial {
				t.Partial++
			}
			if !e.Subagent {
				t.Attempts++
			}
		}
		t := rows[keyed(e.Work, by)]
		one(&t)
		rows[keyed(e.Work, by)] = t
		one(&all)
	}
	for _, o := range outcomes {
		if o.At.Before(since) {
			continue
		}
		one := func(t *Totals) {
			t.Tries++
			if o.Final {
				t.Runs++
			}
			if o.Status == "OK" {
				t.Succeeded++
				if o.Verdict == "pass" {
					t.Verified++
				}
			}
			switch o.Verdict {
			case "pass":
				t.Pass++
			case "fail":
				t.Fail++
			case "could_not_run":
				t.CouldNotRun++
			}
			if o.Returned != nil {
				t.Returned += *o.Returned
			}
		}
		t := rows[keyed(o.Work, by)]
		one(&t)
		rows[keyed(o.Work, by)] = t
		one(&all)
	}
	return rows, all
}

func compare(t *testing.T, l *Ledger, entries []Entry, since time.Time, by By, outcomes ...Outcome) {
	t.Helper()
	rep := report(t, l, since, by)
	rows, all := expected(entries, outcomes, since, by)
	if rep.Total != all || rep.Damaged != 0 || rep.Later != 0 || rep.Unread != nil {
		t.Errorf("by %s since %v: total\n%+v, want\n%+v (%d damaged)", by, since, rep.Total, all, rep.Damaged)
	}
	got := map[string]Totals{}
	var sum Totals
	for _, r := range rep.Rows {
		got[r.Key] = r.Totals
		sum.plus(&r.Totals)
	}
	if !maps.Equal(got, rows) {
		t.Errorf("by %s since %v: rows\n%+v, want\n%+v", by, since, got, rows)
	}
	if sum != rep.Total {
		t.Errorf("by %s: the rows add up to\n%+v, and the total is\n%+v", by, sum, rep.Total)
	}
	if !slices.IsSortedFunc(rep.Rows, func(a, b Row) int { return strings.Compare(a.Key, b.Key) }) {
		t.Error("the rows are in no order")
	}
}

// Whatever was written in whatever order, with sums that were made at whatever moment: each report adds up to the entries.
func TestReportsAddUpToTheEntries(t *testing.T) {
	r := seeded(t)
	from := time.Date(2026, 2, 27, 0, 0, 0, 0, time.UTC)
	for range 12 {
		l := fresh(t)
		var entries []Entry
		var outcomes []Outcome
		for range 1 + r.IntN(6) {
			var more []Entry
			var judged []Outcome
			for range r.IntN(400) {
				e, o := random(r, len(entries)+len(more), from, 5)
				more, judged = append(more, e), append(judged, o)
			}
			fill(t, l, more, judged...)
			entries, outcomes = append(entries, more...), append(outcomes, judged...)
			since := time.Time{}
			if r.IntN(2) == 0 {
				since = from.Add(time.Duration(r.Int64N(int64(6 * 24 * time.Hour))))
			}
			compare(t, l, entries, since, Bys()[r.IntN(len(Bys()))], outcomes...)
		}
		for _, by := range Bys() {
			compare(t, l, entries, time.Time{}, by, outcomes...)
			compare(t, l, entries, from.Add(48*time.Hour), by, outcomes...)
			compare(t, l, entries, from.Add(49*time.Hour+7*time.Second), by, outcomes...)
			compare(t, l, entries, from.AddDate(1, 0, 0), by, outcomes...)
		}
	}
}

// Costs are added as integers: a million tenths are a hundred thousand, which they are not as fractions.
func TestAMillionSmallCostsAddUpExactly(t *testing.T) {
	var fraction float64
	s := &summary{}
	e := line{Work: work(noon), Spent: Spent{Attempt: 1, Cost: ptr(USD(131_000))}} // 0.000131
	for range 1_000_000 {
		s.add(spentLine, &e)
		fraction += 0.000131
	}
	if got := s.rows[0].Cost.String(); got != "131" || fraction == 131 {
		t.Errorf("%s, and as fractions %v", got, fraction)
	}
}

func TestWhatASumSays(t *testing.T) {
	l := fresh(t)
	bad, again, unknown := entry(noon), entry(noon), entry(noon)
	bad.Status, bad.Cost = "RUN_FAILED", nil
	again.Attempt, again.Partial = 2, true
	unknown.Subagent, unknown.Input = true, nil
	put(t, l, entry(noon), bad, again, unknown)
	failed, could, unjudged, superseded := outcome(noon), outcome(noon), outcome(noon), outcome(noon)
	failed.Status, failed.Verdict, failed.Returned = "VERIFY_FAILED", "fail", nil
	could.Status, could.Verdict = "VERIFY_FAILED", "could_not_run"
	unjudged.Verdict = "none"
	superseded.Final, superseded.Status = false, "RUN_FAILED"
	for _, o := range []Outcome{outcome(noon), failed, could, unjudged, superseded} {
		if err := l.Judge(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	got := report(t, l, time.Time{}, ByTier).Rows[0].Totals
	want := Totals{
		Runs: 4, Tries: 5, Succeeded: 2, Verified: 1, Pass: 2, Fail: 1, CouldNotRun: 1, Entries: 4, Attempts: 3, Cost: 3 * Dollar / 100, Unpriced: 1, Partial: 1,
		Input: 3000, Output: 400, Reasoning: 40, CacheRead: 20, CacheWrite: 4, Uncounted: 1, Returned: 1600, Read: 160_000, Written: 16_000,
	}
	if got != want {
		t.Errorf("got\n%+v, want\n%+v", got, want)
	}
	if rate, ok := got.SuccessRate(); !ok || rate != 2.0/5 {
		t.Errorf("success rate %v, %v", rate, ok)
	}
	if cost, ok := got.CostPerVerified(); !ok || cost != 3*Dollar/100 {
		t.Errorf("cost per verified success %v, %v", cost, ok)
	}
	if _, ok := (Totals{}).SuccessRate(); ok {
		t.Error("nothing has a success rate")
	}
	if _, ok := (Totals{Cost: 5}).CostPerVerified(); ok {
		t.Error("nothing verified has a price")
	}
}

// The time itself is in the report, what lies a moment before is not.
func TestSinceIsExact(t *testing.T) {
	l := fresh(t)
	put(t, l, entry(noon), entry(noon.Add(-1)), entry(noon.Add(1)), entry(noon.Truncate(24*time.Hour)))
	for since, want := range map[time.Time]int64{noon: 2, noon.Add(1): 1, noon.Add(2): 0, noon.Add(-1): 3, noon.Truncate(24 * time.Hour): 4, noon.Truncate(24 * time.Hour).Add(1): 3} {
		if rep := report(t, l, since, ByTier); rep.Total.Entries != want {
			t.Errorf("since %v: %d, want %d", since, rep.Total.Entries, want)
		}
	}
}

func TestReportsOfNothing(t *testing.T) {
	l := fresh(t)
	rep := report(t, l, noon, ByTier)
	if rep.Rows == nil || len(rep.Rows) != 0 || rep.Total != (Totals{}) {
		t.Errorf("%+v", rep)
	}
	if _, err := os.Stat(l.dir); err == nil {
		t.Error("a report made the ledger")
	}
	if _, err := l.Report(noon, "colour"); err == nil || !strings.Contains(err.Error(), `"colour"`) {
		t.Errorf("%v", err)
	}
	if err := os.WriteFile(l.dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Report(noon, ByTier); err == nil || !strings.Contains(err.Error(), "not a directory") {
		t.Errorf("%v", err)
	}
}

func TestWhatIsNoDayIsLeftAlone(t *testing.T) {
	l := fresh(t)
	put(t, l, entry(noon))
	for _, name := range []string{"2026-1-1.jsonl", "notes.txt", "2026-13-01.jsonl", "x.jsonl"} {
		if err := os.WriteFile(filepath.Join(l.dir, name), []byte("x\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(l.dir, "2026-11-29.jsonl"), 0o700); err != nil {
		t.Fatal(err)
	}
	rep := report(t, l, time.Time{}, ByDay)
	if rep.Total.Entries != 1 || rep.Damaged != 0 || !reflect.DeepEqual(rep.Unread, []string{"2026-11-29.jsonl"}) {
		t.Errorf("%+v", rep)
	}
}
