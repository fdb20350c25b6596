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
func bounded(r io.Reader, limit int64) []byte {
	data, _ := io.ReadAll(io.LimitReader(r, limit))
	io.Copy(io.Discard, r)
	return data
}

// attempt is one execution of a model in a directory, as opencode shall carry it out.
func (p *Plan) attempt(g grip, id, marker, dir string, rung Rung) opencode.Attempt {
	req := p.Request
	title := req.Title
	if title == "" {
		title = "oc-delegate " + id
	}
	return opencode.Attempt{
		Binary: p.binary, Dir: dir, Env: g.env, Wrap: g.wrap, Marker: marker,
		Title: title, Model: rung.Model, Variant: rung.Variant, Agent: g.agent, Auto: g.auto,
		Session: req.Session, Fork: req.Fork, Files: req.Files,
		Limits: opencode.Limits{
			Timeout: time.Duration(req.Timeout), Idle: time.Duration(req.Idle), Grace: time.Duration(req.Grace),
			Retry: time.Duration(req.RetryLimit), MaxCost: req.MaxCost, MaxTokens: req.MaxTokens,
		},
		Redact: p.host.Secrets,
	}
}

// drive runs one attempt and keeps the caller informed.
func (t *try) drive(ctx context.Context, a opencode.Attempt, prompt string) (opencode.Outcome, error) {
	a.Prompt, a.Events, a.Stderr = strings.NewReader(prompt), t.evidence.log, t.evidence.stderr
	// Told from the goroutine that also tells the events.
	a.Learned = func(f opencode.Facts) {
		t.run.tell(t, f.Session, func(p *Progress) { p.learn(f) })
	}
	return opencode.Run(ctx, a, func(e event.Event) error {
		t.run.tell(t, e.Session, func(p *Progress) { p.take(e) })
		return nil
	})
}

// tell passes on what the run is doing.
func (r *run) tell(t *try, session string, change func(*Progress)) {
	t.named(session)
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.progress)
	if r.session != "" {
		r.progress.Session = r.session
	}
	r.progress.Elapsed = r.plan.Now().Sub(r.started)
	r.job.Watch(r.progress)
}

// named passes the session on as soon as it has a name.
func (t *try) named(session string) {
	if CheckSession(session) != nil || t.res.Session != nil && *t.res.Session == session {
		return
	}
	t.res.Session = &session
	r := t.run
	r.mu.Lock()
	defer r.mu.Unlock()
	r.session = session
	r.job.Session(session)
}

// survivors names processes that outlived the worker.
func survivors(list []proc.Survivor) []string {
	names := []string{}
	for _, s := range list[:min(len(list), 20)] {
		names = append(names, plain.Line(s.Name, 120))
	}
	return names
}
