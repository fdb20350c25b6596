package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"runtime/debug"
	"strings"
	"time"

	"opencode-delegate/internal/call"
	"opencode-delegate/internal/cli"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/job"
	"opencode-delegate/internal/plain"
)

type listVerb struct {
	All   bool      `help:"The jobs of every repository, not of this one only."`
	Mine  bool      `help:"Only your own jobs."`
	State []string  `sep:"none" placeholder:"STATE" help:"Only jobs in one of these states (by commas, or repeated)."`
	Since call.Once `placeholder:"TIME" help:"Only jobs that were made since then: 30m, 2h, 7d ago, or a time such as 2026-11-29T19:30:00Z."`
	Limit call.Once `short:"n" placeholder:"N" help:"At most N jobs, the newest."`
	JSON  bool      `name:"json" help:"The same as a JSON array."`
}

func (v *listVerb) run(a *cli.App) int {
	sel, problems := v.selection(a)
	if len(problems) > 0 {
		return refuseAll(a, problems)
	}
	store, err := a.Store()
	if err != nil {
		return refuse(a, err)
	}
	ctx, stop := cli.Interruptible()
	defer stop()
	collectLate()
	jobs, err := sel.list(ctx, store)
	if err != nil {
		return refuse(a, err)
	}
	if v.JSON {
		err = printArray(a, jobs, func(j job.View) any { return listed(a, j, spent(store, j)) })
	} else if len(jobs) == 0 {
		a.Say("%s", sel.none())
	} else {
		lines := make([]line, len(jobs))
		for i, j := range jobs {
			lines[i] = line{Row: rowOf(a, j, spent(store, j)), work: workWord(j.Work), lineage: lineage(j)}
		}
		err = newTable(screenOf(a), lines).print(a.Stdout, lines)
	}
	if err != nil {
		return refuse(a, fault.New(fault.RunFailed, "stdout: %w", err))
	}
	return 0
}

// collectLate lets garbage lie, within the limit that main sets: whoever reads ten thousand records and then ends would
// collect it a dozen times.
func collectLate() { debug.SetGCPercent(400) }

// workWord is where work is that is not where it was made, in a table.
func workWord(f job.Fate) string {
	if f == job.InPlace {
		return ""
	}
	return strings.ReplaceAll(string(f), "_", " ")
}

// lineage says in a few words which job this one goes back to; the end of an id tells jobs of one day apart.
func lineage(j job.View) string {
	end := func(id string) string { return id[len(id)-6:] }
	switch {
	case job.CheckID(j.RetryOf) == nil:
		return "(retry of …" + end(j.RetryOf) + ")"
	case job.CheckID(j.ContinueOf) == nil:
		return "(continues …" + end(j.ContinueOf) + ")"
	}
	return ""
}

// spent is what a job has cost so far; nil = not known.
func spent(store *job.Store, j job.View) *float64 {
	if j.CostUSD == nil && j.State.State == job.Running {
		if p, ok := store.ReadProgress(j.ID); ok {
			return p.CostUSD
		}
	}
	return j.CostUSD
}

// An entry is a job as the list shows it. What is not known is null.
type entry struct {
	ID        string      `json:"id"`
	Name      *string     `json:"name"`
	State     job.Phase   `json:"state"`
	Status    *fault.Kind `json:"status"` // null until it has ended
	Exit      *int        `json:"exit"`   // the same
	Tier      *string     `json:"tier"`
	Model     *string     `json:"model"`
	Dir       *string     `json:"dir"`
	Caller    *string     `json:"caller"`
	CreatedAt *time.Time  `json:"created_at"`
	StartedAt *time.Time  `json:"started_at"`
	EndedAt   *time.Time  `json:"ended_at"`
	CostUSD   *float64    `json:"cost_usd"` // of a job that runs: so far
	Task      *string     `json:"task"`     // its first words, one line

	RetryOf    string `json:"retry_of,omitempty"`
	ContinueOf string `json:"continue_of,omitempty"`
	Problem    string `json:"problem,omitempty"` // why the record cannot be read

	Work job.Fate `json:"work,omitempty"` // where its work is
}

// taskLimit is the number of code points of a task or of a problem.
const taskLimit = 200

func listed(a *cli.App, j job.View, cost *float64) entry {
	return entry{
		ID: j.ID, Name: optional(j.Name), State: j.State.State, Status: optional(j.Status), Exit: j.Exit,
		Tier: optional(j.Tier), Model: optional(j.Model), Dir: optional(j.Dir), Caller: optional(j.Caller),
		CreatedAt: moment(&j.CreatedAt), StartedAt: moment(j.StartedAt), EndedAt: moment(j.EndedAt),
		CostUSD: cost, Task: optional(plain.Line(a.Secrets.String(j.Task), taskLimit)),
		RetryOf: j.RetryOf, ContinueOf: j.ContinueOf, Problem: plain.Line(j.Problem, taskLimit), Work: j.Work,
	}
}

// optional is nil for the empty string.
func optional[S ~string](s S) *S {
	if s == "" {
		return nil
	}
	return &s
}

// moment is a time in UTC; nil where it is not known, or cannot be written as RFC 3339, which would spoil the whole answer.
func moment(t *time.Time) *time.Time {
	if t == nil || t.IsZero() {
		return nil
	}
	u := t.UTC().Truncate(time.Millisecond)
	if u.Year() < 0 || u.Year() > 9999 {
		return nil
	}
	return &u
}

// printArray prints jobs for a program: a line that is a JSON array. It goes one by one, since there may be ten thousand.
func printArray(a *cli.App, jobs []job.View, element func(job.View) any) error {
	w := bufio.NewWriterSize(a.Stdout, 32<<10)
	open := "["
	for _, j := range jobs {
		data, err := json.Marshal(element(j))
		if err != nil {
			return err
		}
		w.WriteString(open)
		w.Write(plain.JSON(a.Secrets.JSON().Bytes(data)))
		open = ","
	}
	if len(jobs) == 0 {
		w.WriteString(open)
	}
	io.WriteString(w, "]\n")
	return w.Flush()
}

func (s selection) list(ctx context.Context, store *job.Store) ([]job.View, error) {
	jobs, err := store.List(ctx, func(v job.View) bool { return s.matches(store, v) })
	if s.limit > 0 && len(jobs) > s.limit {
		jobs = jobs[:s.limit]
	}
	return jobs, err
}
