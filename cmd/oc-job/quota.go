package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"opencode-delegate/internal/call"
	"opencode-delegate/internal/cli"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/ledger"
	"opencode-delegate/internal/plain"
)

type quotaVerb struct {
	JSON bool `name:"json" help:"The same as a JSON array."`
}

func (v *quotaVerb) run(a *cli.App) int {
	limits, err := call.Limits(call.Environment{Getenv: a.Getenv, Home: a.Home, Cwd: a.Cwd})
	if err != nil {
		return refuse(a, fault.New(fault.Usage, "%w", err))
	}
	store, err := a.Store()
	if err != nil {
		return refuse(a, err)
	}
	quotas, err := store.Ledger().Quota(a.Now(), limits)
	if err != nil {
		return refuse(a, err)
	}
	for i := range quotas {
		q := &quotas[i]
		q.ResetAt, q.FullAt = moment(q.ResetAt), moment(q.FullAt)
	}
	if v.JSON {
		return printJSON(a, quotas)
	}
	if err := printQuotas(a.Stdout, screenOf(a), a, quotas); err != nil {
		return refuse(a, fault.New(fault.RunFailed, "stdout: %w", err))
	}
	return 0
}

// printQuotas prints a line for each window, and below them where the limits come from.
func printQuotas(out io.Writer, s screen, a *cli.App, quotas []ledger.Quota) error {
	clean := func(text string) string { return plain.Line(a.Secrets.String(text), cellLimit) }
	g := grid{screen: s, head: []string{"PROVIDER", "WINDOW", "USED", "", "LIMIT", "STATE"}, align: "llrlrl"}
	var foot []string
	for _, q := range quotas {
		row := []string{clean(strings.TrimSuffix(q.Provider+"/"+q.Model, "/")), string(q.Window), usd(q.Used, q.Unpriced), "", "unknown", standing(q, a.Now())}
		if q.Limit != nil {
			row[3], row[4] = bar(q.Used.Float(), q.Limit.Float(), 5), usd(*q.Limit, 0)
			if text := "limit: " + clean(q.Source); !slices.Contains(foot, text) {
				foot = append(foot, text)
			}
		}
		g.rows = append(g.rows, row)
	}
	if err := g.print(out); err != nil {
		return err
	}
	for _, text := range slices.Concat(left(quotas, clean), foot, []string{"Used is what runs of ours have spent; providers count more, and enforce other limits than they name."}) {
		if _, err := fmt.Fprintln(out, s.style(faint, fit(text, s.width))); err != nil {
			return err
		}
	}
	return nil
}

// usd is an amount; one that leaves something out is a lower bound.
func usd(amount ledger.USD, missing int64) string {
	f := amount.Float()
	if missing > 0 {
		return "≥" + dollars(&f)
	}
	return dollars(&f)
}

// standing is what comes next of a window: the end of a limit that was met, or the time at which it is reached at the present rate.
func standing(q ledger.Quota, now time.Time) string {
	switch {
	case q.Exhausted && q.ResetAt != nil:
		return "exhausted for " + span(q.ResetAt.Sub(now)+time.Second)
	case q.FullAt != nil && !q.FullAt.After(now):
		return "beyond the limit"
	case q.FullAt != nil:
		return "full in " + span(q.FullAt.Sub(now))
	}
	return "-"
}

// left says, of each provider or model with limits, for how many runs of each tier the tightest of its windows has room.
func left(quotas []ledger.Quota, clean func(string) string) (lines []string) {
	for i := 0; i < len(quotas); {
		q, least := quotas[i], map[string]int64{}
		for ; i < len(quotas) && quotas[i].Provider == q.Provider && quotas[i].Model == q.Model; i++ {
			for tier, n := range quotas[i].RunsLeft {
				if known, ok := least[tier]; !ok || n < known {
					least[tier] = n
				}
			}
		}
		var parts []string
		for _, tier := range slices.Sorted(maps.Keys(least)) {
			parts = append(parts, fmt.Sprint(tier, " ", least[tier]))
		}
		if len(parts) > 0 {
			lines = append(lines, clean(strings.TrimSuffix(q.Provider+"/"+q.Model, "/")+": runs left at their median cost: "+strings.Join(parts, ", ")))
		}
	}
	return lines
}
