package job

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"unicode/utf8"

	"opencode-delegate/internal/delegate"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/journal"
	"opencode-delegate/internal/ledger"
	"opencode-delegate/internal/record"
)

// outcomes are what the tries of a job came to: those of its attempts, or of entries where the result has none, since nobody judged it.
// A job in which nothing was attempted has none.
func outcomes(st State, res delegate.Result, entries []ledger.Entry) (all []ledger.Outcome) {
	if undelegated(res.Status) {
		return nil
	}
	at := func(try int) *ledger.Outcome {
		for i := range all {
			if all[i].Try == try {
				return &all[i]
			}
		}
		all = append(all, ledger.Outcome{Work: work(st, try, "", "")})
		return &all[len(all)-1]
	}
	for _, a := range res.Attempts {
		o := at(max(a.Try, 1))
		if a.Role == delegate.RoleDigest && o.Status != "" {
			continue // which says nothing of the work
		}
		o.Work = work(st, a.Try, text(a.Tier), a.Model)
		o.Status, o.Verdict = a.Status, a.Verdict
		if a.Status == fault.OK && (a.Verdict == "fail" || a.Verdict == "could_not_run") {
			o.Status = fault.VerifyFailed
		}
	}
	if len(res.Attempts) == 0 {
		for _, e := range entries {
			if !e.Subagent {
				at(e.Try).Work = e.Work
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	slices.SortFunc(all, func(a, b ledger.Outcome) int { return cmp.Compare(a.Try, b.Try) })
	final := &all[len(all)-1]
	for i := range all { // a job that nobody judged chose none
		if all[i].Try == res.Try {
			final = &all[i]
		}
	}
	n := returned(res)
	final.Final, final.Status, final.Verdict, final.Returned = true, res.Status, res.Verification.Verdict, &n
	for i := range all {
		all[i].At = res.EndedAt
	}
	return all
}

// returned is how many code points the conductor gets to read: the digest, else the text. Of a text that a result does not hold whole it is
// the number of bytes.
func returned(res delegate.Result) int64 {
	switch {
	case res.Digest != "":
		return int64(utf8.RuneCountInString(res.Digest))
	case res.TextTruncated:
		return res.TextBytes
	}
	return int64(utf8.RuneCountInString(res.Text))
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// complete makes the books of a job whole whose supervisor died: what the result or the events show beyond what was entered, and what
// its tries came to. It may be called as often as readers die over it.
func (s *Store) complete(ctx context.Context, st State, res delegate.Result) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lockTime)
	defer cancel()
	if st.StartedAt == nil {
		return nil
	}
	var lost []ledger.Entry // what events there are
	if len(res.Attempts) == 0 {
		lost = s.remainders(st, res)
	}
	return s.Ledger().Complete(ctx, st.ID, st.CreatedAt, func(have ledger.Lines) (more ledger.Lines) {
		for i, a := range res.Attempts {
			entered := slices.ContainsFunc(have.Entries, func(e ledger.Entry) bool { return e.Attempt == i+1 && !e.Subagent })
			if !entered && !(a.Usage == nil && undelegated(a.Status)) {
				more.Entries = append(more.Entries, entry(st, delegate.Spend{
					Attempt: i + 1, Try: a.Try, Role: a.Role, Tier: text(a.Tier), Model: a.Model, Status: a.Status, Usage: a.Usage, Ended: res.EndedAt,
				}))
			}
		}
		for _, e := range lost {
			if e, ok := beyond(e, have.Entries); ok {
				more.Entries = append(more.Entries, e)
			}
		}
		for _, o := range outcomes(st, res, slices.Concat(have.Entries, more.Entries)) {
			if !slices.ContainsFunc(have.Outcomes, func(h ledger.Outcome) bool { return h.Try == o.Try }) {
				more.Outcomes = append(more.Outcomes, o)
			}
		}
		return more
	})
}

// triesLimit is how many tries of a job are looked for.
const triesLimit = 100

// Logs are the files of the events of a job, one for each try, in their order; the first may not be there.
func (s *Store) Logs(id string) []string {
	rec := s.Record(id)
	all := []string{rec.File(record.Events)}
	for try := 2; try <= triesLimit; try++ {
		path := filepath.Join(rec.File(fmt.Sprint("try-", try)), record.Events)
		if _, err := os.Lstat(path); err != nil {
			break
		}
		all = append(all, path)
	}
	return all
}

// remainders are, by try, all that the events of a job show, as if it had been one attempt.
func (s *Store) remainders(st State, res delegate.Result) (all []ledger.Entry) {
	req, _ := s.ReadRequest(st.ID)
	for i, path := range s.Logs(st.ID) {
		try, tier, model := i+1, st.Tier, st.Model
		if n := try - 2; n >= 0 && req.BestOf < 2 && n < len(req.Escalate) {
			tier, model = req.Escalate[n].Tier, req.Escalate[n].Model
		}
		left := journal.Salvage(path)
		if left.Usage == nil && left.Read == nil {
			continue
		}
		sp := delegate.Spend{
			Try: try, Role: delegate.RoleWork, Tier: tier, Model: model, Status: res.Status, Usage: left.Usage, Read: left.Read, Written: left.Written, Ended: res.EndedAt,
		}
		e := entry(st, sp)
		e.Partial = true // the step that it died in
		all = append(all, e)
	}
	return all
}

// beyond is what of all that a try has spent the entries of its attempts do not hold; false when that is nothing.
func beyond(all ledger.Entry, entries []ledger.Entry) (rest ledger.Entry, ok bool) {
	last, known := 0, false
	for _, e := range entries {
		last = max(last, e.Attempt)
		if e.Try != all.Try || e.Subagent {
			continue
		}
		known = true
		all.Provider, all.Model, all.Tier = e.Provider, e.Model, e.Tier // as opencode resolved it
		for _, n := range []struct{ from, less **int64 }{
			{&all.Input, &e.Input}, {&all.Output, &e.Output}, {&all.Reasoning, &e.Reasoning}, {&all.CacheRead, &e.CacheRead}, {&all.CacheWrite, &e.CacheWrite},
			{&all.Read, &e.Read}, {&all.Written, &e.Written},
		} {
			*n.from = less(*n.from, *n.less)
		}
		switch {
		case all.Cost == nil:
		case e.Cost != nil:
			usd := max(0, *all.Cost-*e.Cost)
			all.Cost = &usd
		case e.Input != nil:
			all.Cost = nil // of which it is not known how much was in the entry
		}
	}
	all.Attempt = last + 1
	var sum int64
	for _, n := range []*int64{all.Input, all.Output, all.Reasoning, all.CacheRead, all.CacheWrite, all.Written} {
		if n != nil && sum < math.MaxInt64-*n {
			sum += *n
		}
	}
	return all, !known || sum > 0
}

// less is a difference of counts, which is not negative.
func less(a, b *int64) *int64 {
	if a == nil || b == nil {
		return a
	}
	n := max(0, *a-*b)
	return &n
}
