package delegate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"opencode-delegate/internal/digest"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/opencode"
	"opencode-delegate/internal/permission"
	"opencode-delegate/internal/plain"
	"opencode-delegate/internal/record"
)

// run is one delegation under way.
type run struct {
	plan     *Plan
	job      Job
	prompt   string
	started  time.Time
	evidence *evidence
	progress Progress // of all attempts
	res      Result

	digest       digest.Digest
	digestSource digest.Source

	// worst is why the run is no success, so far; nil = nothing known against it.
	worst *fault.Error
}

// Run carries out the plan and judges it. The result is always whole; an error tells what could not be written down.
//
//	look at the repository ─▶ worker ─▶ look again ─▶ missing digest? ─▶ judge ─▶ result
func (p *Plan) Run(ctx context.Context, prompt string, job Job) (Result, error) {
	r := &run{plan: p, job: job, prompt: prompt, started: p.Now(), evidence: openEvidence(job.Record, p.host.Secrets), digestSource: digest.FromNobody}
	r.res = p.blank(job, r.started)
	if !p.binary.Known() {
		r.note("opencode %s is of a kind that this version was not measured with; what it prints may not be understood", plain.Line(p.binary.Version, 40))
	}
	tmp, err := r.makeTmp()
	if err == nil {
		defer os.RemoveAll(tmp)
		err = r.work(ctx, tmp)
	}
	if err != nil {
		r.against(fault.Of(err))
	}
	r.conclude(p.Now())
	return r.res, r.evidence.close()
}

// makeTmp makes the worker's TMPDIR: in the record, where it is found again when we die, or elsewhere when that is full.
func (r *run) makeTmp() (string, error) {
	if tmp, err := r.job.Record.MakeDir(record.Tmp); err == nil {
		return tmp, nil
	}
	return os.MkdirTemp("", "oc-delegate-*")
}

// work is the order of the steps. An error is a failure of our own, not the worker's.
func (r *run) work(ctx context.Context, tmp string) error {
	c := r.plan.cage
	before, err := r.look(ctx)
	if err != nil {
		return err
	}
	agent := permission.AgentName(r.job.ID)
	g, err := c.close(agent, tmp, c.profile.Writes())
	if err != nil {
		return err
	}
	out, err := r.carryOut(ctx, r.plan.attempt(g, r.job.ID), r.prompt+r.contract())
	if err != nil {
		return err
	}
	r.took(out)
	if err := r.lookAgain(ctx, before); err != nil {
		return err
	}
	r.judge()
	r.answer(ctx, out.Transcript, agent, tmp)
	r.checkModel(ctx, out.ModelDoubt)
	r.explain(out)
	return nil
}

// blank is a result that claims nothing.
func (p *Plan) blank(job Job, started time.Time) Result {
	req := p.Request
	res := Result{
		Schema: 1, ID: job.ID, Tier: optional(req.Tier), Model: req.Model, ModelSource: req.ModelSource,
		Session: optional(req.Session), Dir: req.Dir, Profile: req.Profile, Sandbox: p.cage.sandbox(),
		Opencode: Opencode{p.binary.Path, p.binary.Version}, StartedAt: stamp(started),
		DigestSource: "none", Verification: Verification{Verdict: "none", Checks: []Check{}},
		Attempts: []Attempt{}, Violations: []Violation{}, Survivors: []string{}, Notes: []string{}, Hints: []string{},
		Record: job.Record.Path(),
	}
	res.Changes.Reason = "the run ended before the tree was compared"
	if req.Fork {
		res.Session = nil // the copy has an id of its own
	}
	return res
}

// stamp is a time as a result shows it: UTC, to the millisecond.
func stamp(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// against takes a fault into account. The first one stands, but for the two that outrank what the worker met with: a
// violation has to be seen, and an order to stop is never turned into anything else.
func (r *run) against(f *fault.Error) {
	switch {
	case f == nil:
	case r.worst == nil:
		r.worst = f
	case r.worst.Kind == fault.Interrupted || r.worst.Kind == fault.Cancelled:
		r.note("%s", f.Reason)
	case f.Kind == fault.WriteViolation:
		r.note("before that: %s", r.worst.Reason)
		r.worst = f
	default:
		r.note("%s", f.Reason)
	}
}

func (r *run) note(format string, args ...any) {
	r.res.Notes = append(r.res.Notes, fmt.Sprintf(format, args...))
}

// took takes over what an attempt came to.
func (r *run) took(out opencode.Outcome) {
	r.attempted(out)
	r.named(out.Session)
	if out.Model != "" {
		r.res.Model = out.Model
	}
	r.res.Commands = Commands{Run: out.Transcript.Commands(), Failed: out.Transcript.FailedCommands()}
	r.res.Survivors = survivors(out.Exit.Survivors)
	if n := len(r.res.Survivors); n > 0 {
		r.note("%d process(es) outlived the worker and were ended: %s", n, r.res.Survivors[0])
	}
	r.res.Notes = append(r.res.Notes, out.Notes...)
	r.against(out.Fault)
	if out.Fault != nil && errors.Is(out.Fault, opencode.ErrSessionPoisoned) {
		r.res.SessionDead = out.Fault.Reason
	}
}

// attempted adds an attempt to the list and its spending to the sum.
func (r *run) attempted(out opencode.Outcome) {
	a := Attempt{
		Tier: r.res.Tier, Model: out.Model, Status: fault.OK, Session: optional(out.Session), Duration: Seconds(out.Duration),
		Usage: usage(out.Usage, out.Cost, out.Subagents > 0),
	}
	if out.Fault != nil {
		a.Status, a.Reason = out.Fault.Kind, reason(out.Fault.Reason)
	}
	r.res.Attempts = append(r.res.Attempts, a)
	r.job.Spent(a.spend(len(r.res.Attempts), out, r.plan.Now()))
	r.res.Usage = r.res.Usage.plus(a.Usage)
}

// conclude turns what is known into status, exit code and reason.
func (r *run) conclude(ended time.Time) {
	res, f := &r.res, r.worst
	if f == nil {
		f = &fault.Error{Kind: fault.OK, Reason: "success by evidence"}
	}
	res.Status, res.Exit, res.Reason, res.Retryable = f.Kind, f.Kind.Exit(), reason(r.plan.host.Secrets.String(f.Reason)), f.Retryable()
	res.Hints = append(res.Hints, f.Hints...)
	if f.RetryAfter > 0 {
		n := int((f.RetryAfter + time.Second - 1) / time.Second)
		res.RetryAfter = &n
	}
	if !f.ResetAt.IsZero() {
		at := stamp(f.ResetAt)
		res.ResetAt = &at
	}
	if f.ProviderStatus != 0 {
		res.ProviderStatus = &f.ProviderStatus
	}
	if f.Kind != fault.OK && f.Kind != fault.NotFound && len(res.Attempts) > 0 {
		res.Hints = append(res.Hints, "evidence is in "+res.Record)
	}
	res.EndedAt, res.Duration = stamp(ended), Seconds(ended.Sub(r.started))
	r.render()
}

// checkModel names ids that are near one that was refused. In doubt, which is how an unknown model looks without
// opencode's log, the list decides whether it was the model.
func (r *run) checkModel(ctx context.Context, doubt bool) {
	refused := r.worst != nil && r.worst.Kind == fault.ModelUnavailable
	if !refused && !(doubt && r.worst != nil && r.worst.Kind == fault.RunFailed) {
		return
	}
	model := r.plan.Request.Model
	models, err := opencode.Models(ctx, r.plan.query, r.plan.binary, r.plan.Request.Dir, "")
	if err != nil {
		return
	}
	if known := slices.Contains(models, model); known && !refused {
		return
	} else if !known {
		// opencode's own words propose ids without a provider, which nobody can use.
		r.worst = fault.New(fault.ModelUnavailable, "opencode knows no model %s", model)
	}
	r.res.Hints = append(r.res.Hints, modelHints(model, models)...)
}

// explain names a cause that only opencode's log tells: tools of the project that need a kit which a caged opencode
// cannot install.
func (r *run) explain(out opencode.Outcome) {
	if r.worst == nil || r.worst.Kind != fault.RunFailed || out.Steps > 0 {
		return
	}
	text, err := record.Read(r.job.Record.File(record.Stderr), 1<<20)
	if err == nil && bytes.Contains(text, []byte("Cannot find module '@opencode-ai/plugin'")) {
		r.worst = fault.New(fault.RunFailed, "the project's own opencode tools need the module @opencode-ai/plugin, which is not installed").
			With("run opencode once in the project yourself, which installs it, or use --write")
	}
}

// modelHints say what to take in place of a model that cannot be had.
func modelHints(model string, models []string) []string {
	provider, _, _ := strings.Cut(model, "/")
	var hints []string
	if !slices.ContainsFunc(models, func(m string) bool { return strings.HasPrefix(m, provider+"/") }) {
		hints = append(hints, "the provider "+provider+" is not set up in opencode: opencode auth login")
	}
	near := opencode.Near(model, models)
	if len(near) == 0 {
		near = models[:min(len(models), 3)]
	}
	if len(near) > 0 {
		hints = append(hints, "models that can be had: "+strings.Join(near, ", "))
	}
	return append(hints, "name one with -m PROVIDER/MODEL, or give the tier another meaning with OC_TIER_FLASH, OC_TIER_CODE, OC_TIER_PRO; opencode models lists all")
}
