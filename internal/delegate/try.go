package delegate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"opencode-delegate/internal/digest"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/opencode"
	"opencode-delegate/internal/permission"
	"opencode-delegate/internal/record"
	"opencode-delegate/internal/tree"
	"opencode-delegate/internal/verify"
)

// A try is the work of one model from the base on: an attempt, and those that repair it, in one place.
type try struct {
	run      *run
	n        int // from 1
	rung     Rung
	prompt   string
	dir      record.Dir // for its evidence: the record itself has that of the first
	evidence *evidence
	place    place
	cage     cage
	tmp      string // TMPDIR of its workers
	agent    string
	round    int  // of the checks, from 1
	last     int  // its last attempt among those of the run
	poisoned bool // its session cannot go on
	idle     bool // no file has changed in it

	left *tree.Snapshot // the tree as the worker left it; nil: not known

	lists int // of findings, in a review

	res          Result
	digest       digest.Digest
	digestSource digest.Source

	// worst is why the try is no success, so far; nil = nothing known against it.
	worst *fault.Error
}

// newTry is the next try of the run.
func (r *run) newTry(rung Rung, prompt string) *try {
	t := &try{run: r, n: len(r.tries) + 1, rung: rung, prompt: prompt, dir: r.job.Record, digestSource: digest.FromNobody, last: -1, cage: r.plan.cage}
	r.tries = append(r.tries, t)
	t.res = r.plan.blank(r.job, r.started)
	t.res.Tier, t.res.Model = optional(rung.Tier), rung.Model
	if t.n > 1 {
		t.res.Session = nil
	}
	var err error
	if t.n > 1 {
		if t.dir, err = r.job.Record.Sub(fmt.Sprintf("try-%d", t.n)); err != nil {
			t.dir = r.job.Record
		}
	}
	t.evidence = openEvidence(t.dir, r.plan.host.Secrets)
	return t
}

// marker is in the environment of every process of the try. Those of tries beside each other must not be taken for one another, and all of
// them are found by the id of the job.
func (t *try) marker() string {
	if t.n == 1 && t.run.plan.Request.BestOf < 2 {
		return t.run.job.ID
	}
	return fmt.Sprintf("%s.%d", t.run.job.ID, t.n)
}

// carryOut works until there is a verdict.
func (t *try) carryOut(ctx context.Context) {
	err := ctx.Err()
	if err != nil {
		err = context.Cause(ctx)
	}
	if err == nil && t.place.dir == "" {
		err = t.settle(ctx)
	}
	if err == nil {
		err = t.work(ctx)
	}
	if err != nil {
		t.against(fault.Of(err))
		if t.run.checks.asked() {
			t.unproved()
			t.judged()
		}
	}
}

// work is the order of the steps. An error is a failure of our own, not the worker's.
func (t *try) work(ctx context.Context) error {
	t.tmp = filepath.Join(t.run.tmp, fmt.Sprint(t.n))
	if err := os.Mkdir(t.tmp, 0o700); err != nil {
		return err
	}
	before, err := t.look(ctx)
	if err != nil {
		return err
	}
	if err := t.remember(ctx); err != nil {
		return err
	}
	if t.place.copy != nil || len(t.run.checks.Verify) > 0 {
		// What a worker puts into a build cache must not reach a check, nor the caller's next build.
		if t.cage.layer = t.tmp + cachesName; t.cage.profile.Writes() {
			if err := os.Mkdir(t.cage.layer, 0o700); err != nil {
				return err
			}
		}
	}
	t.agent = permission.AgentName(strings.ReplaceAll(t.marker(), ".", "-"))
	g, err := t.cage.close(t.agent, t.tmp, t.cage.profile.Writes())
	if err != nil {
		return err
	}
	if t.run.plan.Request.Review != nil {
		return t.review(ctx, g, before)
	}
	a, prompt := t.attempt(g), t.prompt+t.contract()
	for role := RoleWork; ; role = RoleRepair {
		out, err := t.carry(ctx, role, a, prompt)
		if err != nil {
			return err
		}
		t.took(out)
		if err := t.lookAgain(ctx, before); err != nil {
			return err
		}
		if t.cage.profile.Writes() {
			if err := t.fix(context.WithoutCancel(ctx)); err != nil {
				t.note("%v", err)
			}
			t.narrow(context.WithoutCancel(ctx))
		}
		t.judge()
		tail := t.answer(out.Transcript)
		if err := t.prove(ctx, before); err != nil {
			return err
		}
		t.verdict()
		if !t.mends(ctx) {
			t.settleDigest(ctx, tail)
			t.checkModel(ctx, out.ModelDoubt)
			t.explain(out)
			return nil
		}
		a.Session, a.Fork, a.Files = *t.res.Session, false, nil
		prompt = t.failure() + t.contract()
		t.worst = nil
	}
}

// attempt is the try as opencode shall carry it out.
func (t *try) attempt(g grip) opencode.Attempt {
	a := t.run.plan.attempt(g, t.run.job.ID, t.marker(), t.place.dir, t.rung)
	if t.place.copy != nil {
		a.Resume = "oc-job continue " + t.run.job.ID // the session belongs to the copy, which no call has for its directory
	}
	return a
}

// carry carries out one attempt, keeps the caller informed, and books it.
func (t *try) carry(ctx context.Context, role string, a opencode.Attempt, prompt string) (opencode.Outcome, error) {
	r := t.run
	r.mu.Lock()
	n := r.purse.open()
	r.mu.Unlock()
	a.Limits.Sum = func(cost float64, tokens int64) (float64, int64) {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.purse.spend(n, cost, tokens)
	}
	out, err := t.drive(ctx, a, prompt)
	if err != nil {
		return out, err
	}
	t.attempted(ctx, role, out)
	return out, nil
}

// mends reports whether the worker shall hear of the failure and try again, and takes the turn.
func (t *try) mends(ctx context.Context) bool {
	switch {
	case t.worst == nil || t.worst.Kind != fault.VerifyFailed || t.res.Verification.Verdict != string(failed) || ctx.Err() != nil:
		return false
	case t.round > t.run.plan.Request.Repair || t.res.Session == nil || t.poisoned:
		return false
	}
	if f := t.run.spentUp(); f != nil {
		t.outranked(f)
		return false
	}
	t.note("round %d: %s; the worker was told", t.round, t.worst.Reason)
	return true
}

// outranked makes a fault the one that stands: a cap that ended what would have gone on.
func (t *try) outranked(f *fault.Error) {
	if t.worst != nil {
		t.note("before that: %s", t.worst.Reason)
	}
	t.worst = f
}

// hopeful reports whether a better model could come to something else: after a check that failed, and where nothing came.
func (t *try) hopeful(ctx context.Context) bool {
	if t.worst == nil || ctx.Err() != nil {
		return false
	}
	switch t.worst.Kind {
	case fault.EmptyOutput, fault.NoChanges:
		return true
	case fault.VerifyFailed:
		return t.res.Verification.Verdict == string(failed)
	}
	return false
}

// against takes a fault into account. The first one stands, but for the two that outrank what the worker met with: a
// violation has to be seen, and an order to stop is never turned into anything else.
func (t *try) against(f *fault.Error) {
	switch {
	case f == nil:
	case t.worst == nil:
		t.worst = f
	case t.stopped():
		t.note("%s", f.Reason)
	case f.Kind == fault.WriteViolation:
		t.note("before that: %s", t.worst.Reason)
		t.worst = f
	default:
		t.note("%s", f.Reason)
	}
}

func (t *try) note(format string, args ...any) {
	t.res.Notes = append(t.res.Notes, fmt.Sprintf(format, args...))
}

// took takes over what an attempt came to.
func (t *try) took(out opencode.Outcome) {
	t.named(out.Session)
	if out.Model != "" {
		t.res.Model = out.Model
	}
	t.res.Commands.Run += out.Transcript.Commands()
	t.res.Commands.Failed += out.Transcript.FailedCommands()
	left := survivors(out.Exit.Survivors)
	t.res.Survivors = append(t.res.Survivors, left...)
	if n := len(left); n > 0 {
		t.note("%d process(es) outlived the worker and were ended: %s", n, left[0])
	}
	t.res.Notes = append(t.res.Notes, out.Notes...)
	t.against(out.Fault)
	if out.Fault != nil && errors.Is(out.Fault, opencode.ErrSessionPoisoned) {
		t.res.SessionDead, t.poisoned = out.Fault.Reason, true
	}
}

// attempted adds an attempt to the list.
func (t *try) attempted(ctx context.Context, role string, out opencode.Outcome) {
	a := Attempt{
		Role: role, Try: t.n, Verdict: string(verify.None),
		Tier: t.res.Tier, Model: out.Model, Status: fault.OK, Session: optional(out.Session), Duration: Seconds(out.Duration),
		Usage: usage(out.Usage, out.Cost, out.Subagents > 0),
	}
	if out.Fault != nil {
		a.Status, a.Reason = out.Fault.Kind, reason(out.Fault.Reason)
	}
	r := t.run
	r.mu.Lock()
	r.attempts = append(r.attempts, a)
	n := len(r.attempts)
	r.mu.Unlock()
	if role != RoleDigest {
		t.last = n - 1
	}
	r.book(ctx, a, n, out)
}
