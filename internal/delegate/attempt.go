package delegate

import (
	"context"
	"io"
	"strings"
	"time"

	"opencode-delegate/internal/event"
	"opencode-delegate/internal/opencode"
	"opencode-delegate/internal/plain"
	"opencode-delegate/internal/proc"
)

// answerLimit is how much of a question's output is kept.
const answerLimit = 8 << 20

// bounded reads to the end and keeps the beginning.
func bounded(r io.Reader) []byte {
	data, _ := io.ReadAll(io.LimitReader(r, answerLimit))
	io.Copy(io.Discard, r)
	return data
}

// attempt is the plan as opencode shall carry it out.
func (p *Plan) attempt(g grip, id string) opencode.Attempt {
	req := p.Request
	title := req.Title
	if title == "" {
		title = "oc-delegate " + id
	}
	return opencode.Attempt{
		Binary: p.binary, Dir: req.Dir, Env: g.env, Wrap: g.wrap, Marker: id,
		Title: title, Model: req.Model, Variant: req.Variant, Agent: g.agent, Auto: g.auto,
		Session: req.Session, Fork: req.Fork, Files: req.Files,
		Limits: opencode.Limits{
			Timeout: time.Duration(req.Timeout), Idle: time.Duration(req.Idle), Grace: time.Duration(req.Grace),
			Retry: time.Duration(req.RetryLimit), MaxCost: req.MaxCost, MaxTokens: req.MaxTokens,
		},
		Redact: p.host.Secrets,
	}
}

// carryOut runs one attempt, folds its events into a transcript and keeps the caller informed.
func (r *run) carryOut(ctx context.Context, a opencode.Attempt, prompt string) (opencode.Outcome, *event.Transcript, error) {
	a.Prompt, a.Events, a.Stderr = strings.NewReader(prompt), r.evidence.log, r.evidence.stderr
	tr := &event.Transcript{}
	// Told from the goroutine that also tells the events.
	a.Learned = func(session, model string) {
		r.named(session)
		if model != "" {
			r.job.Watch(Progress{Elapsed: r.plan.Now().Sub(r.started), Said: "session " + session + ", model " + model})
		}
	}
	out, err := opencode.Run(ctx, a, func(e event.Event) error {
		tr.Add(e)
		r.named(tr.Session())
		r.job.Watch(r.progress(e, tr))
		return nil
	})
	return out, tr, err
}

// named passes the session on as soon as it has a name.
func (r *run) named(session string) {
	if session != "" && (r.res.Session == nil || *r.res.Session != session) {
		r.res.Session = &session
		r.job.Session(session)
	}
}

// progress is what an event means to a person who waits.
func (r *run) progress(e event.Event, tr *event.Transcript) Progress {
	p := Progress{
		Elapsed: r.plan.Now().Sub(r.started), Step: tr.Steps(), Tokens: tr.Tokens().Sum(), CostUSD: tr.Cost(),
	}
	if t := tr.LastTool(); t.Name != "" {
		p.Tool = plain.Line(t.Name+" "+t.Target, 80)
	}
	switch e.Type {
	case event.ToolUse:
		p.Said = p.Tool
		if e.Tool.Status == "error" {
			p.Said = plain.Line("failed: "+e.Tool.Name+": "+e.Tool.Error, 120)
		}
	case event.TextBlock:
		p.Said = plain.Line("says: "+e.Text.Head, 120)
	case event.Failure:
		p.Said = plain.Line("error: "+e.Err.Message, 120)
	case event.StepStart:
		p.Said = "the model answers"
	}
	return p
}

// survivors names processes that outlived the worker.
func survivors(list []proc.Survivor) []string {
	names := []string{}
	for _, s := range list[:min(len(list), 20)] {
		names = append(names, plain.Line(s.Name, 120))
	}
	return names
}
