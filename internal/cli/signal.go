// Package cli holds the rules that every command of the suite follows towards its caller.
//
//   - stdout is data: the answer that was asked for, and nothing else.
//   - stderr is speech: the program's name and a colon, lower case, no full stop; hints and notes on lines of their own.
//   - The last line on stderr is the signal line: OC_SIGNAL and one JSON object, for a program to read.
//   - The exit code is that of the signal's status.
package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"time"

	"opencode-delegate/internal/delegate"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/plain"
	"opencode-delegate/internal/redact"
)

// ReasonLimit is the number of code points of a reason.
const ReasonLimit = 300

// A Signal is the OC_SIGNAL object. What is not known is absent.
type Signal struct {
	Status    fault.Kind `json:"status"`
	Exit      int        `json:"exit"`
	Reason    string     `json:"reason"`
	Retryable bool       `json:"retryable"`
	Retry     string     `json:"retry"` // options for a next call, such as "--session ses_x"; empty = none

	Tier           string            `json:"tier,omitempty"`
	Model          string            `json:"model,omitempty"`
	Session        string            `json:"session,omitempty"`
	Job            string            `json:"job,omitempty"`
	Record         string            `json:"record,omitempty"`
	RetryAfter     *int              `json:"retry_after_s,omitempty"`
	ResetAt        *time.Time        `json:"reset_at,omitempty"`
	ProviderStatus *int              `json:"provider_status,omitempty"`
	Usage          *Spend            `json:"usage,omitempty"`
	Duration       *delegate.Seconds `json:"duration_s,omitempty"`
	ChangedFiles   *int              `json:"changed_files,omitempty"`
	FailedCommands int               `json:"failed_commands,omitempty"` // of the worker's own, whatever it claims
	Verdict        string            `json:"verdict,omitempty"`
}

// Spend is the usage as the signal shows it: an unknown cost is absent.
type Spend struct {
	Input      int64    `json:"input"`
	Output     int64    `json:"output"`
	Reasoning  int64    `json:"reasoning"`
	CacheRead  int64    `json:"cache_read"`
	CacheWrite int64    `json:"cache_write"`
	CostUSD    *float64 `json:"cost_usd,omitempty"`
	Partial    bool     `json:"partial,omitempty"`
}

// Of is the signal of a result.
func Of(r delegate.Result) Signal {
	s := Signal{
		Status: r.Status, Exit: r.Exit, Reason: r.Reason, Retryable: r.Retryable,
		Tier: text(r.Tier), Model: r.Model, Session: text(r.Session), Job: r.ID, Record: r.Record,
		RetryAfter: r.RetryAfter, ResetAt: r.ResetAt, ProviderStatus: r.ProviderStatus,
		Duration: &r.Duration, Verdict: r.Verification.Verdict, FailedCommands: r.Commands.Failed,
	}
	resumable := s.Retryable || s.Status == fault.Interrupted || s.Status == fault.Cancelled || s.Status == fault.BudgetExceeded
	if resumable && s.Session != "" && r.SessionDead == "" && r.Isolation == nil { // in a copy a job goes on, no call
		s.Retry = "--session " + s.Session
	}
	if u := r.Usage; u != nil {
		s.Usage = &Spend{u.Input, u.Output, u.Reasoning, u.CacheRead, u.CacheWrite, u.CostUSD, u.Partial}
	}
	if r.Changes.Known {
		n := len(r.Changes.Files)
		s.ChangedFiles = &n
	}
	return s
}

// OfFault is the signal of a call that ended before there was a result.
func OfFault(f *fault.Error) Signal {
	s := Signal{Status: f.Kind, Exit: f.Kind.Exit(), Reason: f.Reason, Retryable: f.Retryable()}
	if f.RetryAfter > 0 {
		n := int(math.Ceil(f.RetryAfter.Seconds()))
		s.RetryAfter = &n
	}
	if !f.ResetAt.IsZero() {
		s.ResetAt = &f.ResetAt
	}
	return s
}

// WriteSignal writes the line. It is valid JSON whatever the reason held, and holds no secret of the set.
func WriteSignal(w io.Writer, s Signal, set *redact.Set) error {
	s.Reason = plain.Line(set.String(s.Reason), ReasonLimit)
	data, err := json.Marshal(s)
	if err != nil { // a number that JSON does not have; the verdict is said all the same
		s.Usage, s.Duration = nil, nil
		if data, err = json.Marshal(s); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(w, "OC_SIGNAL %s\n", plain.JSON(set.JSON().Bytes(data)))
	return err
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// AppendSignal adds the line to a log file of the caller's.
func AppendSignal(path string, s Signal, set *redact.Set) error {
	if fi, err := os.Stat(path); err == nil && !fi.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", path) // a pipe would be waited for
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := WriteSignal(f, s, set); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
