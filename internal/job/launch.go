package job

import (
	"encoding/json"
	"fmt"
	"runtime"

	"opencode-delegate/internal/call"
	"opencode-delegate/internal/record"
)

// A Launch is launch.json: what the supervisor of a background job must know beside the request.
type Launch struct {
	Schema       int    `json:"schema"`
	Cwd          string `json:"cwd"`                     // the caller's directory
	SessionKnown bool   `json:"session_known,omitempty"` // our records have the request's session

	MaxJobs     int `json:"max_jobs"`           // jobs that may run at once, this one among them
	MaxPerModel int `json:"max_jobs_per_model"` // the same for its model; 0 = no limit

	Reply    call.Reply `json:"reply"`               // how the caller wants the result
	OnFinish string     `json:"on_finish,omitempty"` // the caller's own command, for a shell
}

// DefaultMaxJobs is how many jobs run at once unless the caller says otherwise: a worker waits for its model most of the time.
func DefaultMaxJobs() int { return 2 * runtime.NumCPU() }

// ReadLaunch is how a background job was started.
func (s *Store) ReadLaunch(id string) (Launch, error) {
	data, err := record.Read(s.Record(id).File(record.Launch), requestLimit)
	if err != nil {
		return Launch{}, err
	}
	var l Launch
	if err := json.Unmarshal(data, &l); err != nil {
		return l, fmt.Errorf("launch.json is damaged: %w", err)
	}
	if l.Schema < 1 || l.Schema > Schema {
		return l, fmt.Errorf("launch.json has schema %d, and this version knows %d", l.Schema, Schema)
	}
	return l, nil
}
