package ledger

import "opencode-delegate/internal/fault"

// Totals are entries added up. What is not known of an entry counts as nothing in its sum, and Unpriced and Uncounted say of how many
// entries that was: the sums are then lower bounds.
type Totals struct {
	Entries  int64 `json:"entries"`
	Runs     int64 `json:"runs"`     // first attempts
	Attempts int64 `json:"attempts"` // all entries but those of subagents

	Succeeded   int64 `json:"succeeded"` // attempts with status OK
	Verified    int64 `json:"verified"`  // of these, those with verdict pass
	Pass        int64 `json:"pass"`      // attempts by verdict; the others had no check
	Fail        int64 `json:"fail"`
	CouldNotRun int64 `json:"could_not_run"`

	Cost     USD   `json:"cost_usd"`
	Unpriced int64 `json:"unpriced"` // entries without a known cost

	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	Reasoning  int64 `json:"reasoning"`
	CacheRead  int64 `json:"cache_read"`
	CacheWrite int64 `json:"cache_write"`
	Uncounted  int64 `json:"uncounted"` // entries of which a kind of tokens is not known

	Returned int64 `json:"chars_returned"`
	Read     int64 `json:"chars_read"`
	Written  int64 `json:"chars_written"`
}

// totalsFields is how many numbers there are.
const totalsFields = 19

// fields are the numbers in the order of a sum file. Another order is another sumMagic.
func (t *Totals) fields() [totalsFields]*int64 {
	return [...]*int64{
		&t.Entries, &t.Runs, &t.Attempts, &t.Succeeded, &t.Verified, &t.Pass, &t.Fail, &t.CouldNotRun, (*int64)(&t.Cost), &t.Unpriced,
		&t.Input, &t.Output, &t.Reasoning, &t.CacheRead, &t.CacheWrite, &t.Uncounted, &t.Returned, &t.Read, &t.Written,
	}
}

func (t *Totals) plus(o *Totals) {
	to, from := t.fields(), o.fields()
	for i := range to {
		*to[i] = total(*to[i], *from[i])
	}
}

// totalsOf is one entry added up.
func totalsOf(e *Entry) (t Totals) {
	t.Entries = 1
	if !e.Subagent {
		t.Attempts = 1
		t.Runs = one(e.Attempt == 1)
		t.Succeeded = one(e.Status == fault.OK)
		t.Pass, t.Fail, t.CouldNotRun = one(e.Verdict == "pass"), one(e.Verdict == "fail"), one(e.Verdict == "could_not_run")
		t.Verified = t.Succeeded * t.Pass
	}
	if e.Cost == nil {
		t.Unpriced = 1
	} else {
		t.Cost = *e.Cost
	}
	to := [...]*int64{&t.Input, &t.Output, &t.Reasoning, &t.CacheRead, &t.CacheWrite, &t.Returned, &t.Read, &t.Written}
	const tokens = 5 // the first ones
	for i, n := range e.numbers() {
		if n != nil {
			*to[i] = *n
		} else if i < tokens {
			t.Uncounted = 1
		}
	}
	return t
}

func one(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// SuccessRate is the part of the attempts that succeeded; false when there was none.
func (t Totals) SuccessRate() (rate float64, ok bool) {
	if t.Attempts == 0 {
		return 0, false
	}
	return float64(t.Succeeded) / float64(t.Attempts), true
}

// CostPerVerified is what all entries cost for each verified success; false when there was none. With Unpriced entries it is a lower bound.
func (t Totals) CostPerVerified() (cost USD, ok bool) {
	if t.Verified == 0 {
		return 0, false
	}
	return t.Cost / USD(t.Verified), true
}
