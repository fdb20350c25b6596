package delegate

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"time"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/opencode"
	"opencode-delegate/internal/record"
)

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
	if req.Review != nil {
		found := unanswered(*req.Review)
		res.Review = &found
	}
	res.Changes.Reason = "the run ended before the tree was compared"
	if req.Fork {
		res.Session = nil // the copy has an id of its own
	}
	return res
}

// stamp is a time as a result shows it: UTC, to the millisecond.
func stamp(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// conclude turns what is known into status, exit code and reason.
func (t *try) conclude(ended time.Time) {
	res, f := &t.res, t.worst
	if f == nil {
		f = &fault.Error{Kind: fault.OK, Reason: "success by evidence"}
	}
	res.Status, res.Exit, res.Reason, res.Retryable = f.Kind, f.Kind.Exit(), reason(t.run.plan.host.Secrets.String(f.Reason)), f.Retryable()
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
	if f.Kind != fault.OK && f.Kind != fault.NotFound && len(t.run.attempts) > 0 {
		res.Hints = append(res.Hints, "evidence is in "+res.Record)
	}
	if next := t.next(); next != "" {
		res.Hints = append(res.Hints, next)
	}
	res.EndedAt, res.Duration = stamp(ended), Seconds(ended.Sub(t.run.started))
	t.render()
}

// next says where the work of an isolated run is; empty where it is in the caller's tree or there is none.
func (t *try) next() string {
	if t.worst != nil && slices.Contains([]fault.Kind{fault.Usage, fault.NotFound, fault.OpencodeMissing}, t.worst.Kind) {
		return "" // nothing was delegated, and nothing is left
	}
	if t.res.Isolation == nil || t.res.Changes.Known && len(t.res.Changes.Files) == 0 {
		return ""
	}
	id := t.res.ID
	if t.worst == nil {
		return "the work is in a copy: oc-job diff " + id + " shows it, oc-job apply " + id + " lands it"
	}
	return "what there is of the work is in a copy: oc-job diff " + id + " shows it, oc-job discard " + id + " removes it"
}

// checkModel names ids that are near one that was refused. In doubt, which is how an unknown model looks without
// opencode's log, the list decides whether it was the model.
func (t *try) checkModel(ctx context.Context, doubt bool) {
	refused := t.worst != nil && t.worst.Kind == fault.ModelUnavailable
	if !refused && !(doubt && t.worst != nil && t.worst.Kind == fault.RunFailed) {
		return
	}
	model := t.rung.Model
	models, err := opencode.Models(ctx, t.run.plan.query, t.run.plan.binary, t.place.dir, "")
	if err != nil {
		return
	}
	if known := slices.Contains(models, model); known && !refused {
		return
	} else if !known {
		// opencode's own words propose ids without a provider, which nobody can use.
		t.worst = fault.New(fault.ModelUnavailable, "opencode knows no model %s", model)
	}
	t.res.Hints = append(t.res.Hints, modelHints(model, models)...)
}

// explain names a cause that only opencode's log tells: tools of the project that need a kit which a caged opencode
// cannot install.
func (t *try) explain(out opencode.Outcome) {
	if t.worst == nil || t.worst.Kind != fault.RunFailed || out.Steps > 0 {
		return
	}
	text, err := record.Read(t.dir.File(record.Stderr), 1<<20)
	if err == nil && bytes.Contains(text, []byte("Cannot find module '@opencode-ai/plugin'")) {
		t.worst = fault.New(fault.RunFailed, "the project's own opencode tools need the module @opencode-ai/plugin, which is not installed").
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
