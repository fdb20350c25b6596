package job

import (
	"runtime"

	"opencode-delegate/internal/call"
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
