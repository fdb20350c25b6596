package job

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"opencode-delegate/internal/delegate"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/ledger"
	"opencode-delegate/internal/record"
)

// linesOf is what the ledger has of a job.
func linesOf(t testing.TB, s *Store, id string) (have ledger.Lines) {
	t.Helper()
	err := s.Ledger().Complete(t.Context(), id, time.Now().Add(-48*time.Hour), func(l ledger.Lines) ledger.Lines { have = l; return ledger.Lines{} })
	if err != nil {
		t.Fatal(err)
	}
	return have
}

func ptr[T any](v T) *T { return &v }

// used is a usage of n tokens of each kind that cost n thousandths.
func used(n int64) *delegate.Usage {
	return &delegate.Usage{Input: n, Output: n, Reasoning: n, CacheRead: n, CacheWrite: n, CostUSD: ptr(float64(n) / 1000)}
}

func spend(n int, u *delegate.Usage) delegate.Spend {
	now := time.Now()
	return delegate.Spend{Attempt: n, Try: 1, Role: delegate.RoleWork, Tier: "flash", Model: "mock/worker", Status: fault.OK, Usage: u, Read: ptr[int64](100), Written: ptr[int64](10), Began: now.Add(-time.Second), Ended: now}
}

// step is an event of a step that used n tokens of each kind and cost n thousandths.
func step(n int64) string {
	return fmt.Sprintf(`{"type":"step_finish","timestamp":1,"sessionID":"ses_a","part":{"reason":"tool-calls","tokens":{"input":%d,"output":%d,"reasoning":%d,"cache":{"read":%d,"write":%d}},"cost":%g}}`+"\n", n, n, n, n, n, float64(n)/1000)
}

// What a supervisor had entered when it died, and what its events show beyond that, is in the ledger once, however often readers die over
// it; and so is the outcome.
func TestTheBooksOfADeadJob(t *testing.T) {
	for name, c := range map[string]struct {
		entered []int64 // tokens of the attempts
		events  []int64 // tokens of the steps
		try2    []int64
		entries []int64 // what is there then
		status  fault.Kind
	}{
		"nothing happened":            {status: ""},
		"in the first attempt":        {events: []int64{5, 7}, entries: []int64{12}, status: fault.JobLost},
		"after an attempt":            {entered: []int64{12}, events: []int64{5, 7}, entries: []int64{12}, status: fault.JobLost},
		"in a second attempt":         {entered: []int64{12}, events: []int64{5, 7, 9}, entries: []int64{12, 9}, status: fault.JobLost},
		"entered without events":      {entered: []int64{12}, entries: []int64{12}, status: fault.JobLost},
		"in a second try":             {entered: []int64{12}, events: []int64{12}, try2: []int64{3}, entries: []int64{12, 3}, status: fault.JobLost},
		"in the first step of a tool": {events: []int64{}, entries: nil, status: ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			j := in(t, s, Running)
			for i, n := range c.entered {
				j.spent(spend(i+1, used(n)))
			}
			write := func(path string, steps []int64) {
				var b strings.Builder
				for _, n := range steps {
					b.WriteString(step(n))
				}
				if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if c.events != nil {
				write(j.Record.File(record.Events), c.events)
			}
			if c.try2 != nil {
				dir := j.Record.File("try-2")
				if err := os.Mkdir(dir, 0o700); err != nil {
					t.Fatal(err)
				}
				write(filepath.Join(dir, record.Events), c.try2)
			}
			id := j.dies()
			first := stateOf(t, s, id)
			for range 3 { // three readers, of whom two die before they have written the state
				if v := look(t, s, id); v.State.State != Lost {
					t.Fatalf("%+v", v.State)
				}
				if err := s.Record(id).WriteJSON(record.State, first); err != nil {
					t.Fatal(err)
				}
			}
			have := linesOf(t, s, id)
			var got []int64
			var cost ledger.USD
			for i, e := range have.Entries {
				if e.Attempt != i+1 || e.Provider != "mock" || e.Model != "worker" || e.Repo != "/project" || e.Partial != (i >= len(c.entered)) {
					t.Errorf("entry %d: %+v", i, e)
				}
				if *e.CacheWrite != *e.Input {
					t.Errorf("entry %d: %+v", i, e.Spent)
				}
				got, cost = append(got, *e.Input), cost+*e.Cost
			}
			var sum int64
			for _, n := range c.entries {
				sum += n
			}
			if fmt.Sprint(got) != fmt.Sprint(c.entries) || cost != ledger.USD(sum)*ledger.Dollar/1000 {
				t.Errorf("entries of %v tokens, for %v USD; want %v", got, cost, c.entries)
			}
			tries := 1
			if c.try2 != nil {
				tries = 2
			}
			switch {
			case c.status == "":
				if len(have.Outcomes) != 0 {
					t.Errorf("%+v", have.Outcomes)
				}
			case len(have.Outcomes) != tries || !have.Outcomes[tries-1].Final || have.Outcomes[tries-1].Status != c.status || have.Outcomes[0].Final != (tries == 1):
				t.Errorf("%+v", have.Outcomes)
			}
		})
	}
}

func stateOf(t *testing.T, s *Store, id string) State {
	t.Helper()
	st, err := readState(s.dir(id), id)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// A supervisor that dies after its result has entered all, or what is missing of it is taken from the result.
func TestTheBooksOfAResult(t *testing.T) {
	for _, entered := range []int{0, 1, 2} {
		for _, judged := range []bool{false, true} {
			s := open(t)
			j := in(t, s, Running)
			res := ended(j, fault.OK)
			res.Text = "äöü"
			for n := range 2 {
				res.Attempts = append(res.Attempts, delegate.Attempt{Role: delegate.RoleWork, Try: 1, Tier: ptr("flash"), Model: "mock/worker", Status: fault.OK, Usage: used(int64(n + 1)), Verdict: "pass"})
				if n < entered {
					j.spent(spend(n+1, used(int64(n+1))))
				}
			}
			res.Verification.Verdict = "pass"
			if err := writeResult(j.Record, res); err != nil {
				t.Fatal(err)
			}
			if judged {
				if err := j.judge(res); err != nil {
					t.Fatal(err)
				}
			}
			id := j.dies()
			look(t, s, id)
			have := linesOf(t, s, id)
			if len(have.Entries) != 2 || *have.Entries[0].Input != 1 || *have.Entries[1].Input != 2 || len(have.Outcomes) != 1 {
				t.Errorf("%d entered, judged %v: %+v", entered, judged, have)
				continue
			}
			if o := have.Outcomes[0]; !o.Final || o.Status != fault.OK || o.Verdict != "pass" || *o.Returned != 3 || o.Tier != "flash" {
				t.Errorf("%+v", o)
			}
		}
	}
}

// Each try has its own outcome, and one of them is the job's.
func TestOutcomes(t *testing.T) {
	attempt := func(try int, role, tier, model string, status fault.Kind, verdict string) delegate.Attempt {
		return delegate.Attempt{Try: try, Role: role, Tier: ptr(tier), Model: model, Status: status, Verdict: verdict}
	}
	result := func(status fault.Kind, verdict, tier, model string, attempts ...delegate.Attempt) delegate.Result {
		return delegate.Result{Status: status, Tier: ptr(tier), Model: model, Attempts: attempts, Verification: delegate.Verification{Verdict: verdict}, Digest: "äö"}
	}
	for name, c := range map[string]struct {
		res  delegate.Result
		want string // try tier status verdict, a star for the final one
	}{
		"one":        {result(fault.OK, "none", "flash", "p/m", attempt(1, "work", "flash", "p/m", fault.OK, "none")), "1 flash OK none*"},
		"no changes": {result(fault.NoChanges, "none", "flash", "p/m", attempt(1, "work", "flash", "p/m", fault.OK, "")), "1 flash NO_CHANGES none*"},
		"repaired": {result(fault.OK, "pass", "flash", "p/m", attempt(1, "work", "flash", "p/m", fault.OK, "fail"), attempt(1, "repair", "flash", "p/m", fault.OK, "pass"),
			attempt(1, "digest", "flash", "p/m", fault.RunFailed, "")), "1 flash OK pass*"},
		"escalated": {result(fault.OK, "pass", "pro", "p/big", attempt(1, "work", "flash", "p/m", fault.OK, "fail"), attempt(1, "repair", "flash", "p/m", fault.OK, "fail"),
			attempt(2, "work", "pro", "p/big", fault.OK, "pass")), "1 flash VERIFY_FAILED fail, 2 pro OK pass*"},
		"escalated in vain": {result(fault.VerifyFailed, "could_not_run", "pro", "p/big", attempt(1, "work", "flash", "p/m", fault.EmptyOutput, ""),
			attempt(2, "work", "pro", "p/big", fault.OK, "could_not_run")), "1 flash EMPTY_OUTPUT , 2 pro VERIFY_FAILED could_not_run*"},
		"the best of three": {result(fault.OK, "pass", "flash", "p/m", attempt(2, "work", "flash", "p/m", fault.OK, "pass"), attempt(1, "work", "flash", "p/m", fault.OK, "fail"),
			attempt(3, "work", "flash", "p/m", fault.Timeout, "")), "1 flash VERIFY_FAILED fail, 2 flash OK pass*, 3 flash TIMEOUT "},
		"a digest in vain": {result(fault.OK, "pass", "pro", "p/big", attempt(1, "work", "flash", "p/m", fault.OK, "fail"), attempt(1, "digest", "flash", "p/m", fault.RunFailed, "none"),
			attempt(2, "work", "pro", "p/big", fault.OK, "pass")), "1 flash VERIFY_FAILED fail, 2 pro OK pass*"},
		"nothing was attempted": {result(fault.Skipped, "none", "flash", "p/m"), ""},
		"nothing was delegated": {result(fault.NotFound, "none", "flash", "p/m", attempt(1, "work", "flash", "p/m", fault.NotFound, "")), ""},
	} {
		var got []string
		if name == "the best of three" {
			c.res.Try = 2
		}
		for _, o := range outcomes(State{ID: "id"}, c.res, nil) {
			line := fmt.Sprintf("%d %s %s %s", o.Try, o.Tier, o.Status, o.Verdict)
			if o.Final {
				line += "*"
			}
			if o.Final != (o.Returned != nil) || o.Final && *o.Returned != 2 {
				t.Errorf("%s: %+v", name, o)
			}
			got = append(got, line)
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, strings.Join(got, ", "), c.want)
		}
	}
}

// An error of the ledger is a note, and what could be entered later is entered.
func TestALedgerThatCannotBeWritten(t *testing.T) {
	s := open(t)
	path := filepath.Join(s.root, ledgerDir)
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	j := in(t, s, Running)
	j.spent(spend(1, used(3)))
	j.spent(spend(2, used(4)))
	if notes := j.books.notes(s.Ledger()); len(notes) != 1 || !strings.Contains(notes[0], "missing in the ledger") || !strings.Contains(notes[0], "not a directory") {
		t.Errorf("%q", notes)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if notes := j.books.notes(s.Ledger()); len(notes) != 0 {
		t.Errorf("%q", notes)
	}
	if have := linesOf(t, s, j.state.ID); len(have.Entries) != 2 {
		t.Errorf("%+v", have)
	}
	if notes := j.books.notes(s.Ledger()); len(notes) != 1 || strings.Contains(notes[0], "spent") {
		t.Errorf("%q", notes) // what was learned is lost
	}
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	res := ended(j, fault.OK)
	res.Attempts = []delegate.Attempt{{Try: 1, Role: "work", Status: fault.OK}}
	if err := j.finish(res); err == nil || !strings.Contains(err.Error(), "ledger") {
		t.Errorf("%v", err)
	}
	if v := look(t, s, j.state.ID); v.State.State != Succeeded {
		t.Errorf("%+v", v.State)
	}
}

// A usage limit that an attempt meets blocks its model, and an answer lifts that.
func TestAnAttemptTeaches(t *testing.T) {
	s := open(t)
	j := in(t, s, Running)
	now := time.Now()
	met := spend(1, nil)
	met.Status, met.Reason, met.ResetAt = fault.QuotaExhausted, "Weekly usage limit reached. Resets in 3 days.", now.Add(72*time.Hour)
	j.spent(spend(1, used(2000)))
	j.spent(met)
	x, blocked, err := s.Ledger().Blocked(now, "mock", "worker")
	if err != nil || !blocked || x.Window != ledger.Week || !x.Until.Equal(met.ResetAt) || x.Used == nil || *x.Used != 2*ledger.Dollar {
		t.Errorf("%+v, %v, %v", x, blocked, err)
	}
	// An attempt beside it that had begun before proves nothing, one that began later does.
	j.spent(spend(2, used(1)))
	if _, blocked, _ := s.Ledger().Blocked(now, "mock", "worker"); !blocked {
		t.Error("lifted by an attempt that had begun before")
	}
	later := spend(3, used(1))
	later.Began, later.Ended = time.Now(), time.Now().Add(time.Millisecond)
	j.spent(later)
	if _, blocked, _ := s.Ledger().Blocked(later.Ended, "mock", "worker"); blocked {
		t.Error("an answer does not lift it")
	}
	part := met // of an attempt that met the limit; its subagent's model has not
	part.Model, part.Subagent, part.Usage, part.Ended = "mock/small", true, used(1), time.Now()
	j.spent(part)
	if _, blocked, _ := s.Ledger().Blocked(time.Now(), "mock", "small"); blocked {
		t.Error("a subagent's model is blocked by what another has met")
	}
	unnamed := met
	unnamed.Model = "worker"
	j.spent(unnamed)
	if notes := j.books.notes(s.Ledger()); notes != nil {
		t.Errorf("%q", notes)
	}
	ghost := spend(9, nil)
	ghost.Status = fault.NotFound
	j.spent(ghost)
	if have := linesOf(t, s, j.state.ID); len(have.Entries) != 6 {
		t.Errorf("%d entries", len(have.Entries))
	}
}
