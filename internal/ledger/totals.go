package ledger

import "opencode-delegate/internal/fault"

// Totals are entries and outcomes added up. What is not known of an entry counts as nothing in its sum, and Unpriced, Partial and
// Uncounted say of how many entries that was: the sums are then lower bounds.
type Totals struct {
	Runs  int64 `json:"runs"`  // jobs that had at least one attempt and have ended
	Tries int64 `json:"tries"` // see [Work]; a try that is still under way is not yet one

	Succeeded   int64 `json:"succeeded"` // tries with status OK
	Verified    int64 `json:"verified"`  // of these, those with verdict pass
	Pass        int64 `json:"pass"`      // tries by verdict; the others had no check
	Fail        int64 `json:"fail"`
	CouldNotRun int64 `json:"could_not_run"`

	Entries  int64 `json:"entries"`
	Attempts int64 `json:"attempts"` // all entries but those of subagents

	Cost     USD   `json:"cost_usd"`
	Unpriced int64 `json:"unpriced"` // entries with known tokens and no known cost
	Partial  int64 `json:"partial"`  // entries that are known to leave something out

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
const totalsFields = 21

// fields are the numbers in the order of a sum file. Another order is another sumMagic.
func (t *Totals) fields() [totalsFields]*int64 {
	return [...]*int64{
		&t.Runs, &t.Tries, &t.Succeeded, &t.Verified, &t.Pass, &t.Fail, &t.CouldNotRun, &t.Entries, &t.Attempts, (*int64)(&t.Cost), &t.Unpriced, &t.Partial,
		&t.Input, &t.Output, &t.Reasoning, &t.CacheRead, &t.CacheWrite, &t.Uncounted, &t.Returned, &t.Read, &t.Written,
	}
}

func (t *Totals) plus(o *Totals) {
	to, from := t.fields(), o.fields()
	for i := range to {
		*to[i] = total(*to[i], *from[i])
	}
}

// totals is one entry added up.
func (s *Spent) totals() (t Totals) {
	t.Entries, t.Attempts, t.Partial = 1, one(!s.Subagent), one(s.Partial)
	switch {
	case s.Cost != nil:
		t.Cost = *s.Cost
	case s.Input != nil:
		t.Unpriced = 1
	}
	to := [...]*int64{&t.Input, &t.Output, &t.Reasoning, &t.CacheRead, &t.CacheWrite, &t.Read, &t.Written}
	const tokens = 5 // the first ones
	for i, n := range s.numbers() {
		if n != nil {
			*to[i] = *n
		} else if i < tokens {
			t.Uncounted = 1
		}
	}
	return t
}

// totals is one outcome added up.
func (j *Judged) totals(status fault.Kind) (t Totals) {
	t.Tries, t.Runs, t.Succeeded = 1, one(j.Final), one(status == fault.OK)
	t.Pass, t.Fail, t.CouldNotRun = one(j.Verdict == "pass"), one(j.Verdict == "fail"), one(j.Verdict == "could_not_run")
	t.Verified = t.Succeeded * t.Pass
	if j.Returned != nil {
		t.Returned = *j.Returned
	}
	return t
}

func one(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// SuccessRate is the part of the tries that succeeded; false when there was none.
func (t Totals) SuccessRate() (rate float64, ok bool) {
	if t.Tries == 0 {
		return 0, false
	}
	return float64(t.Succeeded) / float64(t.Tries), true
}

// CostPerVerified is what all entries cost for each verified success; false when there was none. With Unpriced entries it is a lower bound.
func (t Totals) CostPerVerified() (cost USD, ok bool) {
	if t.Verified == 0 {
		return 0, false
	}
	return t.Cost / USD(t.Verified), true
}
