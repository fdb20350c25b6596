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

// carryOut runs one attempt and keeps the caller informed.
func (r *run) carryOut(ctx context.Context, a opencode.Attempt, prompt string) (opencode.Outcome, error) {
	a.Prompt, a.Events, a.Stderr = strings.NewReader(prompt), r.evidence.log, r.evidence.stderr
	// Told from the goroutine that also tells the events.
	a.Learned = func(f opencode.Facts) {
		r.progress.learn(f)
		r.tell(f.Session)
	}
	return opencode.Run(ctx, a, func(e event.Event) error {
		r.progress.take(e)
		r.tell(e.Session)
		return nil
	})
}

// tell passes on what the run is doing.
func (r *run) tell(session string) {
	r.named(session)
	if r.res.Session != nil {
		r.progress.Session = *r.res.Session
	}
	r.progress.Elapsed = r.plan.Now().Sub(r.started)
	r.job.Watch(r.progress)
}

// named passes the session on as soon as it has a name.
func (r *run) named(session string) {
	if CheckSession(session) == nil && (r.res.Session == nil || *r.res.Session != session) {
		r.res.Session = &session
		r.job.Session(session)
	}
}

// survivors names processes that outlived the worker.
func survivors(list []proc.Survivor) []string {
	names := []string{}
	for _, s := range list[:min(len(list), 20)] {
		names = append(names, plain.Line(s.Name, 120))
	}
	return names
}
