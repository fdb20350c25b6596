package job

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/proc"
	"opencode-delegate/internal/record"
)

// Schema is the version of state.json, request.json and launch.json that this build writes. A later build reads every earlier one.
const Schema = 1

// A State is state.json: what a reader must know of a job without opening anything else.
type State struct {
	Schema int        `json:"schema"`
	ID     string     `json:"id"`
	Name   string     `json:"name,omitempty"`
	State  Phase      `json:"state"`
	Status fault.Kind `json:"status,omitempty"` // terminal phases
	Exit   *int       `json:"exit"`             // null until terminal
	Reason string     `json:"reason,omitempty"` // why it ended so; one line

	Caller     string `json:"caller"`
	Background bool   `json:"background,omitempty"`
	Dir        string `json:"dir"`
	Repo       string `json:"repo,omitempty"`    // the git common directory of dir, else dir
	Session    string `json:"session,omitempty"` // as soon as opencode names it
	Dead       string `json:"dead,omitempty"`    // why the session cannot be continued; empty = it can

	Tier      string `json:"tier,omitempty"`
	Model     string `json:"model"`               // as asked for; after the run, as opencode resolved it
	Requested string `json:"requested,omitempty"` // the model as asked for, where opencode resolved another
	Version   string `json:"version,omitempty"`   // of opencode
	Profile   string `json:"profile,omitempty"`
	Isolated  bool   `json:"isolated,omitempty"` // the worker had a copy; what it made is in the record until somebody lands it
	Task      string `json:"task"`               // the first words of the prompt, one line
	Prompt    string `json:"prompt,omitempty"`   // SHA-256 of the prompt, hexadecimal

	After      []string `json:"after,omitempty"`       // ids of the jobs that have to succeed first
	RetryOf    string   `json:"retry_of,omitempty"`    // the job that this one repeats
	ContinueOf string   `json:"continue_of,omitempty"` // the job whose session this one goes on in

	MaxJobs     int `json:"max_jobs,omitempty"` // see Launch
	MaxPerModel int `json:"max_jobs_per_model,omitempty"`

	CostUSD *float64 `json:"cost_usd"`

	CreatedAt time.Time  `json:"created_at"`
	QueuedAt  *time.Time `json:"queued_at,omitempty"` // its place in the queue
	StartedAt *time.Time `json:"started_at"`
	EndedAt   *time.Time `json:"ended_at"`

	// Supervisor is the process that holds the lease. It decides nothing: it is whom cancel ends when it does not react.
	Supervisor *proc.ID `json:"supervisor,omitempty"`
}

// Live reports whether the state is one of a job that has not ended.
func (s State) Live() bool { return !s.State.Terminal() }

// stateLimit bounds what is read of a state.json: a record is untrusted input.
const stateLimit = 64 << 10

// readState reads the state.json of a record directory and checks that it is one of ours.
func readState(dir, id string) (State, error) {
	path := record.Open(dir, nil).File(record.State)
	data, err := record.Read(path, stateLimit)
	if errors.Is(err, fs.ErrNotExist) {
		return State{}, err
	}
	if err != nil {
		return State{}, fmt.Errorf("state.json cannot be read: %w", bare(err))
	}
	var s State
	// This decoder takes a seventh of the time of encoding/json, and a list has ten thousand of them to read.
	if err = json.Unmarshal(data, &s); err != nil { // a newer schema may have another shape
		var v struct {
			Schema int `json:"schema"`
		}
		_ = json.Unmarshal(data, &v)
		s.Schema = v.Schema
	}
	switch {
	case len(data) == 0:
		return State{}, errors.New("state.json is empty")
	case s.Schema > Schema:
		return State{}, fmt.Errorf("state.json has schema %d, and this version knows %d; use the newer version that wrote it", s.Schema, Schema)
	case err != nil:
		return State{}, fmt.Errorf("state.json is damaged: %s", strings.TrimPrefix(err.Error(), "jsontext: "))
	}
	switch {
	case s.Schema < 1:
		return State{}, errors.New("state.json is not one of ours: it has no schema")
	case s.ID != id:
		return State{}, errors.New("state.json is that of another job")
	case s.State == Unreadable || !slices.Contains(Phases(), s.State):
		return State{}, fmt.Errorf("state.json names a state that does not exist, %.40q", s.State)
	case !s.Live() && (s.Exit == nil || s.EndedAt == nil):
		return State{}, errors.New("state.json is damaged: an end without exit code or time")
	}
	return s, nil
}

// bare is an error without the path, which whoever shows it names anyway.
func bare(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// CheckName reports whether a name can be a job's: it begins with a letter, so that no id begins like it.
func CheckName(name string) error {
	ok := name != "" && len(name) <= 64
	for i, c := range name {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || !strings.ContainsRune("0123456789._-", c)) {
			ok = false
		}
	}
	if !ok {
		return fmt.Errorf("%.80q cannot be a job's name; a letter, then letters, digits, dots, - and _, at most 64", name)
	}
	return nil
}
