package main

import (
	"context"
	"fmt"
	"time"

	"opencode-delegate/internal/cli"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/job"
	"opencode-delegate/internal/plain"
)

type notifyVerb struct {
	JSON bool `name:"json" help:"The same as a JSON array."`
}

// notices is how many jobs one answer tells of; the rest waits for the next.
const notices = 20

// A notice is what a caller hears of a job that has ended.
type notice struct {
	ID      string     `json:"id"`
	Name    string     `json:"name,omitempty"`
	State   job.Phase  `json:"state"`
	Status  fault.Kind `json:"status"`
	Exit    int        `json:"exit"`
	Reason  string     `json:"reason"`
	Task    string     `json:"task"`
	EndedAt *time.Time `json:"ended_at"`
	CostUSD *float64   `json:"cost_usd"`
	Record  string     `json:"record"`
}

func (v *notifyVerb) run(a *cli.App) int {
	store, err := a.Store()
	if err != nil {
		return refuse(a, err)
	}
	err = store.News(context.Background(), caller(a), notices, func(ended []job.View, more int) error {
		list := []notice{}
		for _, j := range ended {
			status, exit := statusOf(j)
			list = append(list, notice{
				j.ID, j.Name, j.State.State, status, exit, plain.Line(j.Reason, cli.ReasonLimit), plain.Line(j.Task, 200), j.EndedAt, j.CostUSD,
				store.Record(j.ID).Path(),
			})
		}
		if v.JSON {
			return a.PrintJSON(list)
		}
		for _, n := range list {
			line := fmt.Sprintf("%s %s %s  %s", n.ID, n.State, n.Status, plain.Line(n.Task, 60))
			if _, err := fmt.Fprintln(a.Stdout, a.Secrets.String(line)); err != nil {
				return err
			}
		}
		if more > 0 {
			a.Say("%d more have ended; ask again", more)
		}
		return nil
	})
	if err != nil {
		return refuse(a, err)
	}
	return 0
}
