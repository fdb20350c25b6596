package main

import (
	"context"
	"math"
	"time"

	"opencode-delegate/internal/cli"
	"opencode-delegate/internal/delegate"
	"opencode-delegate/internal/job"
	"opencode-delegate/internal/plain"
)

// A report is a job as status shows it: as in the list, and what it is doing, or was doing when it last said so. What is not
// known is null.
type report struct {
	entry
	Elapsed *float64        `json:"elapsed_s"` // of the run
	Step    *int            `json:"step"`      // model calls that have ended
	Tool    *string         `json:"tool"`      // the last one that finished
	Target  *string         `json:"target"`    // what it acted on
	Text    *string         `json:"text"`      // the last line that the worker wrote
	Todo    *delegate.Todo  `json:"todo"`
	Tokens  *int64          `json:"tokens"` // of all kinds
	Retry   *delegate.Retry `json:"retry"`  // what is under way

	Reason      *string  `json:"reason"` // why it ended so
	Session     *string  `json:"session"`
	SessionDead string   `json:"session_dead,omitempty"` // why the session cannot be continued
	Requested   *string  `json:"requested_model"`        // where opencode resolved another
	Opencode    *string  `json:"opencode_version"`
	Record      string   `json:"record"`
	Supervisor  *int     `json:"supervisor_pid"`
	Ahead       *int     `json:"queue_ahead"` // queued jobs that go first
	After       []string `json:"after"`       // the jobs that have to succeed first
}

// A reporter finds out what there is to tell of jobs.
type reporter struct {
	ctx   context.Context
	app   *cli.App
	store *job.Store
	live  []job.View // the jobs that live; nil until somebody asks
}

func (r *reporter) report(j job.View) report {
	j.Work = r.store.Fate(j)
	p, known := r.store.ReadProgress(j.ID)
	known = known && j.State.State != job.Unreadable
	if known && j.State.State == job.Running {
		if j.CostUSD == nil {
			j.CostUSD = p.CostUSD
		}
		if p.Model != "" && p.Model != j.Model && j.Requested == "" {
			j.Requested, j.Model = j.Model, p.Model
		}
		if j.Session == "" {
			j.Session = p.Session
		}
	}
	clean := func(s string, limit int) *string { return optional(plain.Line(r.app.Secrets.String(s), limit)) }
	s := report{
		entry: listed(r.app, j, j.CostUSD), Elapsed: seconds(j, r.app.Now()),
		Reason: clean(j.Reason, cli.ReasonLimit), Session: optional(j.Session), SessionDead: plain.Line(j.Dead, cli.ReasonLimit),
		Requested: optional(j.Requested), Opencode: optional(j.Version), Record: r.store.Record(j.ID).Path(), After: j.After,
	}
	if s.After == nil {
		s.After = []string{}
	}
	if known {
		s.Step, s.Tokens, s.Todo = &p.Step, &p.Tokens, p.Todo
		s.Tool, s.Target, s.Text = clean(p.Tool, taskLimit), clean(p.Target, taskLimit), clean(p.Text, taskLimit)
	}
	if known && p.Retry != nil && j.State.State == job.Running && moment(&p.Retry.Since) != nil {
		s.Retry = &delegate.Retry{Reason: plain.Line(p.Retry.Reason, cli.ReasonLimit), Since: p.Retry.Since.UTC(), ResetAt: moment(p.Retry.ResetAt)}
	}
	if !j.Live() && j.State.State != job.Unreadable {
		if res, err := r.store.ReadResult(j.ID); err == nil && res.Usage != nil { // progress may have missed the last step
			u := res.Usage
			sum := u.Input + u.Output + u.Reasoning + u.CacheRead + u.CacheWrite
			s.Tokens = &sum
		}
	}
	if j.Live() && j.Supervisor != nil {
		s.Supervisor = &j.Supervisor.PID
	}
	if j.State.State == job.Queued {
		s.Ahead = r.ahead(j)
	}
	return s
}

// seconds is how long the run of a job has taken so far, or took.
func seconds(j job.View, now time.Time) *float64 {
	if j.StartedAt == nil {
		return nil
	}
	if j.EndedAt != nil {
		now = *j.EndedAt
	} else if !j.Live() {
		return nil
	}
	s := math.Round(max(now.Sub(*j.StartedAt), 0).Seconds()*1000) / 1000
	return &s
}

// ahead is how many queued jobs go before this one; nil when that cannot be found out.
func (r *reporter) ahead(j job.View) *int {
	if r.live == nil {
		live, err := r.store.Live(r.ctx)
		if err != nil {
			return nil
		}
		r.live = live
	}
	n := j.Ahead(r.live)
	return &n
}
