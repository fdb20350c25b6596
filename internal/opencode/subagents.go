package opencode

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"opencode-delegate/internal/event"
	"opencode-delegate/internal/fault"
)

// A Part is what the subagents of a session have spent with one model.
type Part struct {
	Model  string // provider/model
	Tokens event.Tokens
	Cost   float64 // USD, as opencode computes it; 0 also where it knows no price
}

// partsLimit is how many models the subagents of one run can have.
const partsLimit = 64

// Subagents asks opencode's database what the subagents of a session, and theirs, have spent since a time: no event of a run tells it. An
// older opencode that has no such question is an error.
func Subagents(ctx context.Context, run Runner, b Binary, session string, since time.Time) ([]Part, error) {
	if !sessionID().MatchString(session) {
		return nil, fault.New(fault.NotFound, "%q is no session id of opencode", oneLine(session, 80))
	}
	// The id is checked above: nothing in it can end the literal.
	query := `with recursive t(id) as (select id from session where parent_id = '` + session + `' union select s.id from session s join t on s.parent_id = t.id) ` +
		`select json_extract(m.data, '$.providerID') as provider, json_extract(m.data, '$.modelID') as model, ` +
		`sum(json_extract(m.data, '$.tokens.input')) as input, sum(json_extract(m.data, '$.tokens.output')) as output, sum(json_extract(m.data, '$.tokens.reasoning')) as reasoning, ` +
		`sum(json_extract(m.data, '$.tokens.cache.read')) as cache_read, sum(json_extract(m.data, '$.tokens.cache.write')) as cache_write, sum(json_extract(m.data, '$.cost')) as cost ` +
		`from message m join t on m.session_id = t.id where json_extract(m.data, '$.role') = 'assistant' and m.time_created >= ` + strconv.FormatInt(since.UnixMilli(), 10) +
		` group by 1, 2 limit ` + strconv.Itoa(partsLimit)
	reply, err := run(ctx, Query{Argv: []string{b.Path, "db", query, "--format", "json"}})
	if err != nil {
		return nil, fmt.Errorf("subagents of session %s: %w", session, err)
	}
	var rows []struct {
		Provider   string  `json:"provider"`
		Model      string  `json:"model"`
		Input      float64 `json:"input"`
		Output     float64 `json:"output"`
		Reasoning  float64 `json:"reasoning"`
		CacheRead  float64 `json:"cache_read"`
		CacheWrite float64 `json:"cache_write"`
		Cost       float64 `json:"cost"`
	}
	if reply.Code != 0 || json.Unmarshal(reply.Stdout, &rows) != nil {
		return nil, fmt.Errorf("subagents of session %s: opencode db exits %d: %s", session, reply.Code, firstLine(reply.Stderr, 200))
	}
	var parts []Part
	for _, r := range rows {
		if r.Provider == "" || r.Model == "" {
			continue
		}
		p := Part{Model: oneLine(r.Provider+"/"+r.Model, 200)}
		for n, to := range map[*float64]*int64{
			&r.Input: &p.Tokens.Input, &r.Output: &p.Tokens.Output, &r.Reasoning: &p.Tokens.Reasoning, &r.CacheRead: &p.Tokens.CacheRead, &r.CacheWrite: &p.Tokens.CacheWrite,
		} {
			if *n < 0 || *n > 1e12 { // a broken number says nothing
				return nil, fmt.Errorf("subagents of session %s: %g tokens", session, *n)
			}
			*to = int64(*n)
		}
		if r.Cost > 0 && r.Cost <= 1e6 {
			p.Cost = r.Cost
		}
		parts = append(parts, p)
	}
	return parts, nil
}
