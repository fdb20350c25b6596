package job

import (
	"encoding/json"
	"fmt"
	"time"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/record"
)

// A Phase is where a job is in its life. Terminal phases are final.
type Phase string

const (
	Queued      Phase = "queued"
	Running     Phase = "running"
	Succeeded   Phase = "succeeded"
	Failed      Phase = "failed"
	TimedOut    Phase = "timeout"
	Cancelled   Phase = "cancelled"
	Interrupted Phase = "interrupted"
	Lost        Phase = "lost"
)

// Terminal reports whether the phase is final.
func (p Phase) Terminal() bool { return p != Queued && p != Running }

// Ended is the phase of a job whose run ended with a status.
func Ended(status fault.Kind) Phase {
	switch status {
	case fault.OK:
		return Succeeded
	case fault.Timeout:
		return TimedOut
	case fault.Cancelled:
		return Cancelled
	case fault.Interrupted:
		return Interrupted
	case fault.JobLost:
		return Lost
	}
	return Failed
}

// Schema is the version of state.json and request.json that this build writes.
const Schema = 1

// A State is state.json: what a reader must know of a job without opening anything else.
type State struct {
	Schema  int        `json:"schema"`
	ID      string     `json:"id"`
	State   Phase      `json:"state"`
	Status  fault.Kind `json:"status,omitempty"` // terminal phases
	Exit    *int       `json:"exit"`             // null until terminal
	Caller  string     `json:"caller"`
	Dir     string     `json:"dir"`
	Session string     `json:"session,omitempty"` // as soon as opencode names it
	Dead    string     `json:"dead,omitempty"`    // why the session cannot be continued; empty = it can
	Tier    string     `json:"tier,omitempty"`
	Model   string     `json:"model"`
	Task    string     `json:"task"` // the first words of the prompt, one line
	CostUSD *float64   `json:"cost_usd"`

	CreatedAt time.Time  `json:"created_at"`
	StartedAt *time.Time `json:"started_at"`
	EndedAt   *time.Time `json:"ended_at"`
}

// stateLimit bounds what is read of a state.json: a record is untrusted input.
const stateLimit = 64 << 10

// readState reads the state.json of a record directory and checks that it is one of ours.
func readState(dir, id string) (State, error) {
	path := record.Open(dir, nil).File(record.State)
	data, err := record.Read(path, stateLimit)
	if err != nil {
		return State{}, err
	}
	var s State
	if err := json.Unmarshal(data, &s); err != nil {
		return State{}, fmt.Errorf("read %s: %w", path, err)
	}
	switch {
	case s.Schema < 1 || s.Schema > Schema:
		return State{}, fmt.Errorf("read %s: schema %d; this version knows %d", path, s.Schema, Schema)
	case s.ID != id:
		return State{}, fmt.Errorf("read %s: it is the state of another job", path)
	}
	return s, nil
}
