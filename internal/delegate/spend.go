package delegate

import (
	"context"
	"time"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/opencode"
)

// The roles of an attempt.
const (
	RoleWork   = "work"   // the task itself
	RoleRepair = "repair" // the same session is told what a check has found
	RoleDigest = "digest" // the same session is asked for its digest
	RoleReview = "review" // a part of a review
)

// A Spend is what one attempt has cost, told as soon as the attempt has ended: whoever keeps the books then knows it even if nothing
// after it is ever written. Whether the work was any good is known later, and stands in the result.
type Spend struct {
	// Attempt is the place of the attempt in the job, from 1: that of its entry in Result.Attempts. A part that a subagent has spent
	// carries the number of the attempt that it belongs to.
	Attempt int
	// Try is the start from the base that the attempt belongs to, from 1; a repair is none of its own.
	Try  int
	Role string
	Tier string // empty: none was named

	Model    string     // provider/model as opencode resolved it, else as it was asked for
	Subagent bool       // a subagent's part of the attempt
	Status   fault.Kind // of the attempt alone

	// Reason and ResetAt are those of the fault; of a usage limit the words of the provider tell its window.
	Reason  string
	ResetAt time.Time // zero: not known

	Usage         *Usage // nil: not known
	Read, Written *int64 // what the worker has read and written, as [event.Transcript.Read] counts it; nil: not known

	Began, Ended time.Time
}

// spend is what an attempt that has just ended has cost: n is its place in the result.
func (a Attempt) spend(n int, out opencode.Outcome, ended time.Time) Spend {
	s := Spend{
		Attempt: n, Try: a.Try, Role: a.Role, Model: a.Model, Status: a.Status, Reason: a.Reason, Usage: a.Usage,
		Began: ended.Add(-out.Duration), Ended: ended,
	}
	if a.Tier != nil {
		s.Tier = *a.Tier
	}
	if out.Fault != nil {
		s.ResetAt = out.Fault.ResetAt
	}
	if tr := out.Transcript; tr != nil && tr.Events() > 0 {
		read, written := tr.Read(), tr.Written()
		s.Read, s.Written = &read, &written
	}
	return s
}

// book tells of an attempt that has ended, and of what its subagents have spent: opencode's database knows, and takes a second, as any
// question. It is asked only where there were some, and not when the caller wants the end; without an answer the attempt stays partial.
func (r *run) book(ctx context.Context, a Attempt, n int, out opencode.Outcome) {
	s := a.spend(n, out, r.plan.Now())
	var parts []opencode.Part
	if out.Subagents > 0 && out.Session != "" && ctx.Err() == nil {
		var err error
		if parts, err = opencode.Subagents(ctx, r.plan.query, r.plan.binary, out.Session, s.Began); err == nil && s.Usage != nil {
			whole := *s.Usage
			whole.Partial = false
			s.Usage = &whole
		}
	}
	r.job.Spent(s)
	for _, p := range parts {
		r.mu.Lock()
		r.purse.subagents(p.Cost, p.Tokens.Sum())
		r.mu.Unlock()
		part := s
		part.Model, part.Subagent, part.Usage, part.Read, part.Written = p.Model, true, usage(p.Tokens, p.Cost, false), nil, nil
		part.Reason, part.ResetAt = "", time.Time{}
		r.job.Spent(part)
	}
}
