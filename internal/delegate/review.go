package delegate

import (
	"context"
	"fmt"
	"slices"
	"time"

	"opencode-delegate/internal/digest"
	"opencode-delegate/internal/event"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/opencode"
	"opencode-delegate/internal/record"
	"opencode-delegate/internal/review"
	"opencode-delegate/internal/sandbox"
)

// Nothing is the result of a review for which nothing is different. It has no id and no record: nothing was started, and nothing spent.
func Nothing(req Request, host Host, why string, hints ...string) Result {
	now := host.Now()
	res := (&Plan{Request: req, host: host, cage: cage{request: req, support: sandbox.Detect(host.getenv)}}).blank(Job{}, now)
	res.Status, res.Exit, res.Reason = fault.OK, fault.OK.Exit(), reason(why)
	res.EndedAt = res.StartedAt
	res.Changes.Reason = "nothing was started"
	res.Hints = append(res.Hints, hints...)
	res.Digest = res.Review.Table(review.Facts{Status: string(res.Status), Reason: res.Reason}, req.DigestLimit)
	return res
}

// unanswered is a review of which no part has an answer.
func unanswered(s review.Scope) review.Review {
	r := review.Of(s)
	r.NotReviewed = s.Missing(make([]bool, len(s.Parts)))
	return r
}

// review asks each part of a review in a session of its own, one after the other: the caps and the time limit hold for all of them together. A part without an
// answer leaves its files without a review; the others stand.
func (t *try) review(ctx context.Context, g grip, before view) error {
	scope := *t.run.plan.Request.Review
	questions := scope.Questions(t.prompt)
	answered, n := make([]bool, len(questions)), 0
	found := review.Of(scope)
	defer func() {
		found.NotReviewed = scope.Missing(answered)
		t.res.Review = &found
	}()
	end := t.run.plan.Now().Add(time.Duration(t.run.plan.Request.Timeout))
	var said []event.Text
	var faults []*fault.Error
	for i, q := range questions {
		a, f := t.part(g, i, end)
		if f != nil {
			faults = append(faults, f)
			break
		}
		t.announce(i, len(questions))
		out, err := t.carry(ctx, RoleReview, a, q+"\n"+review.Contract())
		if err != nil {
			return err
		}
		claims, f := t.heard(ctx, out)
		found.Add(scope.Check(claims, t.run.plan.host.Secrets))
		if answered[i] = f == nil; f != nil {
			faults = append(faults, f)
		} else {
			n++
		}
		said = append(said, spoken(out, i, len(questions))...)
		if err := t.lookAgain(ctx, before); err != nil {
			return err
		}
		if n == 0 && i == len(questions)-1 || f != nil && ends(f.Kind) {
			t.fail(ctx, f, out)
		}
		if t.worst != nil || f != nil && ends(f.Kind) {
			break
		}
	}
	t.judge()
	t.blame(faults, n, len(questions))
	head, size, whole := t.evidence.text(said)
	t.res.Text, t.res.TextBytes, t.res.TextTruncated = head, size, !whole
	if t.lists == 0 && size > 0 {
		t.digest, t.digestSource = digest.Digest{Text: digest.Abridge(head, t.evidence.tail(head, whole), size)}, digest.Extracted
	}
	return nil
}

// part is the next question as opencode shall carry it out, or why there is to be none.
func (t *try) part(g grip, i int, end time.Time) (opencode.Attempt, *fault.Error) {
	a := t.attempt(g)
	if i == 0 {
		return a, nil
	}
	a.Session, a.Fork = "", false
	if a.Limits.Timeout = end.Sub(t.run.plan.Now()); a.Limits.Timeout <= 0 {
		return a, fault.New(fault.Timeout, "the time limit left nothing for the other parts")
	}
	return a, t.run.spentUp()
}

// announce says which part is under way, where there are several.
func (t *try) announce(i, of int) {
	if of > 1 {
		t.run.tell(t, "", func(p *Progress) {
			p.Said = fmt.Sprintf("part %d of %d of the review", i+1, of)
			p.Text = p.Said
		})
	}
}

// heard takes over what an attempt came to, and asks once for a list of findings that is missing. A fault says why the part has no answer.
func (t *try) heard(ctx context.Context, out opencode.Outcome) (claims []review.Claim, f *fault.Error) {
	worst := t.worst
	t.worst = nil
	t.took(out)
	f, t.worst = t.worst, worst
	head, _, whole := t.evidence.text(out.Transcript.Answer())
	claims, ok := review.Parse(t.evidence.tail(head, whole))
	source := digest.FromWorker
	if !ok && f == nil {
		var text string
		if text, ok = t.askFor(ctx, "list of findings", review.Repair()); ok {
			claims, ok = review.Parse(text)
			source = digest.Repaired
		}
		if !ok {
			f = fault.New(fault.EmptyOutput, "the worker gave no list of findings that can be read, also when it was asked again")
		}
	}
	if ok {
		t.lists++
		if t.digestSource != digest.Repaired {
			t.digestSource = source
		}
	}
	return claims, f
}

// spoken is what an attempt said, for the whole text. Of several parts each has a heading.
func spoken(out opencode.Outcome, i, of int) []event.Text {
	blocks := out.Transcript.Answer()
	if of == 1 || len(blocks) == 0 {
		return blocks
	}
	head := fmt.Sprintf("===== part %d of %d =====", i+1, of)
	return append([]event.Text{{Head: head, Size: int64(len(head))}}, blocks...)
}

// ends reports whether what one part met with would meet every other one.
func ends(k fault.Kind) bool {
	return !slices.Contains([]fault.Kind{fault.EmptyOutput, fault.Incomplete, fault.RunFailed, fault.PermissionDenied, fault.Timeout}, k)
}

// fail looks for a better explanation of a fault.
func (t *try) fail(ctx context.Context, f *fault.Error, out opencode.Outcome) {
	if f == nil || t.worst != nil {
		return
	}
	t.worst = f
	t.checkModel(ctx, out.ModelDoubt)
	t.explain(out)
	*f, t.worst = *t.worst, nil
}

// blame makes one fault of those of the parts. What would have ended every part stands for itself, and so does one that left nothing; else the review
// is incomplete.
func (t *try) blame(faults []*fault.Error, answered, of int) {
	if len(faults) == 0 {
		return
	}
	first, last := faults[0], faults[len(faults)-1]
	switch {
	case ends(last.Kind):
		t.against(last)
	case answered == 0:
		t.against(first)
	default:
		f := fault.New(fault.Incomplete, "%d of %d parts have no answer; the first: %s", of-answered, of, first.Reason)
		t.against(f.With("oc-delegate review PATH… reviews what is missing; the names are in the result"))
	}
}

// renderReview makes the digest of a review for which there is a list of findings.
func (t *try) renderReview() {
	res := &t.res
	res.Digest = res.Review.Table(review.Facts{Status: string(res.Status), Reason: res.Reason, TextPath: t.run.job.Record.File(record.Text)}, t.run.plan.Request.DigestLimit)
	res.DigestSource, res.Text = string(t.digestSource), ""
}
