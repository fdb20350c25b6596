package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"opencode-delegate/internal/cli"
	"opencode-delegate/internal/delegate"
	"opencode-delegate/internal/job"
	"opencode-delegate/internal/plain"
	"opencode-delegate/internal/record"
)

// labelWidth is that of the longest label, and a gap.
const labelWidth = 12

// block is a job for a person: a line for each thing that is known. Lines are as long as they are, since paths and ids are copied.
func (r *reporter) block(j job.View, s screen) string {
	rep := r.report(j)
	var b strings.Builder
	add := func(label, value string) {
		if value = plain.Line(r.app.Secrets.String(value), 4096); value != "" {
			b.WriteString(s.style(faint, fmt.Sprintf("%-*s", labelWidth, label)) + value + "\n")
		}
	}
	addText := func(label string, value *string) {
		if value != nil {
			add(label, *value)
		}
	}
	add("id", j.ID)
	add("name", j.Name)
	fmt.Fprint(&b, s.style(faint, fmt.Sprintf("%-*s", labelWidth, "state")), s.style(stateStyle(j.State.State), string(j.State.State)), r.since(j, rep), "\n")
	add("problem", j.Problem)
	addText("reason", rep.Reason)
	addText("task", rep.Task)
	for _, id := range j.After {
		add("after", r.other(id))
	}
	if j.RetryOf != "" {
		add("lineage", "retry of "+j.RetryOf)
	}
	if j.ContinueOf != "" {
		add("lineage", "continues "+j.ContinueOf)
	}
	r.doings(rep, add, addText)
	addText("tier", rep.Tier)
	model := value(rep.Model)
	if rep.Requested != nil {
		model += " (asked for as " + *rep.Requested + ")"
	}
	add("model", model)
	add("cost", dollars(rep.CostUSD))
	session := value(rep.Session)
	if session != "" && rep.SessionDead != "" {
		session += " (cannot be continued: " + rep.SessionDead + ")"
	}
	add("session", session)
	addText("dir", rep.Dir)
	addText("caller", rep.Caller)
	add("created", clock(rep.CreatedAt))
	add("started", clock(rep.StartedAt))
	add("ended", clock(rep.EndedAt))
	addText("opencode", rep.Opencode)
	if rep.Supervisor != nil {
		add("supervisor", "process "+strconv.Itoa(*rep.Supervisor))
	}
	j.Work = rep.Work
	add("work", workOf(r.store, j))
	add("on finish", r.finish(j))
	add("record", rep.Record)
	return b.String()
}

// workOf is where the work of a job is, and what can be done with it.
func workOf(s *job.Store, j job.View) string {
	id := j.ID
	switch j.Work {
	case job.Unlanded:
		if !s.Approved(j) {
			return "isolated, unlanded and not approved: oc-job diff " + id + " shows it, oc-job apply --force " + id + " lands it all the same"
		}
		return "isolated, unlanded: oc-job diff " + id + " shows it, oc-job apply " + id + " lands it"
	case job.Conflict:
		return "applied, but for conflicts: oc-job diff " + id + " shows what was to come"
	case job.CutOff:
		return "a landing, an undo or a discard was cut off: the same call goes on with it"
	case job.InPlace:
		return "in place: oc-job undo " + id + " takes it back"
	}
	return strings.ReplaceAll(string(j.Work), "_", " ")
}

// finish is what became of the command of --on-finish, where it failed.
func (r *reporter) finish(j job.View) string {
	f, err := record.OpenFile(r.store.Record(j.ID).File(record.Finish))
	if err != nil {
		return ""
	}
	defer f.Close()
	tail := make([]byte, 512)
	fi, err := f.Stat()
	if err != nil {
		return ""
	}
	n, _ := f.ReadAt(tail, max(0, fi.Size()-int64(len(tail))))
	if _, why, ok := strings.Cut(string(tail[:n]), cli.FinishFailed); ok {
		return "failed: " + strings.TrimSpace(why) + "; what it said is in " + record.Finish
	}
	return ""
}

// since is what stands behind the state: how it ended and how long it took, or for how long it has been so.
func (r *reporter) since(j job.View, rep report) string {
	var parts []string
	if rep.Status != nil && j.State.State != job.Succeeded {
		parts = append(parts, plain.Line(string(*rep.Status), 40))
	}
	if rep.Exit != nil {
		parts = append(parts, "exit "+strconv.Itoa(*rep.Exit))
	}
	switch {
	case rep.Elapsed != nil && j.Live():
		parts = append(parts, "for "+exact(*rep.Elapsed))
	case rep.Elapsed != nil:
		parts = append(parts, "after "+exact(*rep.Elapsed))
	case j.Live() && !j.CreatedAt.IsZero():
		parts = append(parts, "for "+exact(r.app.Now().Sub(j.CreatedAt).Seconds()))
	}
	if rep.Ahead != nil {
		parts = append(parts, queued(*rep.Ahead))
	}
	if len(parts) == 0 {
		return ""
	}
	return "  " + strings.Join(parts, ", ")
}

// doings are the lines about what the worker does.
func (r *reporter) doings(rep report, add func(label, value string), addText func(string, *string)) {
	if rep.Retry != nil {
		add("waits", r.waits(rep.Retry))
	}
	if rep.Step != nil && *rep.Step > 0 {
		add("step", strconv.Itoa(*rep.Step))
	}
	if rep.Tool != nil {
		add("tool", *rep.Tool+" "+value(rep.Target))
	}
	addText("says", rep.Text)
	if rep.Todo != nil {
		add("todo", todo(*rep.Todo))
	}
	if rep.Tokens != nil && *rep.Tokens > 0 {
		add("tokens", strconv.FormatInt(*rep.Tokens, 10))
	}
}

// doing is what a job is doing, or why it did not succeed, in one line; empty when there is nothing to tell.
func (r *reporter) doing(j job.View) string {
	clean := func(s string) string { return plain.Line(r.app.Secrets.String(s), cellLimit) }
	switch j.State.State {
	case job.Queued:
		if n := r.ahead(j); n != nil {
			return queued(*n)
		}
	case job.Waiting:
		var ids []string
		for _, id := range j.After {
			ids = append(ids, r.other(id))
		}
		return clean("after " + strings.Join(ids, ", "))
	case job.Running:
		p, ok := r.store.ReadProgress(j.ID)
		if !ok {
			return ""
		}
		var parts []string
		if p.Retry != nil {
			parts = append(parts, "waits: "+r.waits(p.Retry))
		}
		if p.Step > 0 {
			parts = append(parts, "step "+strconv.Itoa(p.Step))
		}
		if p.Todo != nil {
			parts = append(parts, fmt.Sprintf("todo %d/%d", p.Todo.Done, p.Todo.Total))
		}
		if acted := p.Acted(); acted != "" {
			parts = append(parts, acted)
		} else if p.Text != "" {
			parts = append(parts, p.Text)
		}
		return clean(strings.Join(parts, ", "))
	case job.Succeeded:
	default:
		return clean(string(j.Status) + ": " + j.Reason)
	}
	return ""
}

// other is another job with its state.
func (r *reporter) other(id string) string {
	v, err := r.store.Look(r.ctx, id)
	if err != nil {
		return id + " (not there any more)"
	}
	return id + " (" + string(v.State.State) + ")"
}

func queued(ahead int) string {
	switch ahead {
	case 0:
		return "next in the queue"
	case 1:
		return "1 queued job goes first"
	}
	return strconv.Itoa(ahead) + " queued jobs go first"
}

func todo(t delegate.Todo) string {
	s := fmt.Sprintf("%d of %d", t.Done, t.Total)
	if t.Active != "" {
		s += ", now: " + t.Active
	}
	return s
}

func (r *reporter) waits(retry *delegate.Retry) string {
	s := plain.Line(retry.Reason, cli.ReasonLimit)
	if t := moment(retry.ResetAt); t != nil {
		s += " (until " + r.near(*t) + ")"
	} else if t := moment(&retry.Since); t != nil {
		s += " (since " + r.near(*t) + ")"
	}
	return s
}

// near is a time without its day, unless that is not clear.
func (r *reporter) near(t time.Time) string {
	if d := t.Sub(r.app.Now()); d > -12*time.Hour && d < 12*time.Hour {
		return t.Local().Format("15:04")
	}
	return t.Local().Format("2006-01-02 15:04")
}

// clock is a time where the reader is.
func clock(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04:05 -0700")
}

// exact is a duration as a person reads it who looks at one job.
func exact(seconds float64) string {
	d := time.Duration(min(max(seconds, 0), 9e9) * float64(time.Second)) // times of a forged record may be centuries apart
	if d < 10*time.Second {
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + "s"
	}
	s := d.Round(time.Second).String()
	for _, end := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(s, end) {
			s = s[:len(s)-2]
		}
	}
	return s
}

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
