package job

import (
	"context"
	"errors"

	"opencode-delegate/internal/delegate"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/plain"
)

// taskLimit is the number of code points of a prompt that state.json shows.
const taskLimit = 200

// Run carries out a prepared delegation under a record of its own and holds its lease meanwhile.
//
// The result stands whatever happens to the record; an error tells that the record is missing or not complete. A
// fault USAGE among it means that nothing was started. A result that is USAGE, NOT_FOUND or OPENCODE_MISSING has no record.
func (s *Store) Run(ctx context.Context, plan *delegate.Plan, prompt string, watch func(delegate.Progress)) (delegate.Result, error) {
	req := plan.Request
	now := plan.Now()
	j, err := s.Create(State{
		Caller: req.Caller, Dir: req.Dir, Session: req.Session, Tier: req.Tier, Model: req.Model, Task: plain.Line(prompt, taskLimit),
	}, req, []byte(prompt), now)
	if err != nil {
		return delegate.Result{}, err
	}
	if uerr := j.Update(func(st *State) { st.State, st.StartedAt = Running, &now }); j.lost == nil {
		j.lost = uerr
	}
	res, eerr := plan.Run(ctx, prompt, delegate.Job{
		ID:     j.state.ID,
		Record: j.Record,
		// The session is written down as soon as it has a name: whoever finds the record of a killed run can go on in it.
		Session: func(id string) {
			if id != j.state.Session {
				if uerr := j.Update(func(st *State) { st.Session = id }); j.lost == nil {
					j.lost = uerr
				}
			}
		},
		Watch: watch,
	})
	switch res.Status {
	case fault.Usage, fault.NotFound, fault.OpencodeMissing:
		// Only opencode itself could tell: a session that it has lost, a program that has gone meanwhile. Nothing was delegated.
		j.discard()
		res.ID, res.Record = "", ""
		return res, nil
	}
	ferr := j.Finish(res, res.Status, res.EndedAt, func(st *State) {
		if res.Session != nil {
			st.Session = *res.Session
		}
		st.Model, st.Dead = res.Model, res.SessionDead
		if res.Usage != nil {
			st.CostUSD = res.Usage.CostUSD
		}
	})
	return res, errors.Join(eerr, ferr)
}
