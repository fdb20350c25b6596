// Package fault names why a run did not succeed, and what a caller can do about it.
//
// A [Kind] is the status word of the OC_SIGNAL line and of result.json; it fixes the exit code. The table in this
// package is the contract: codes are never reused or renumbered, new ones may be added, and a caller must treat a
// code that it does not know as a failure.
package fault

import (
	"errors"
	"fmt"
	"time"
)

// A Kind is the status of a run or of a call, as it stands in the OC_SIGNAL line.
type Kind string

// The kinds, in the order of their exit codes.
const (
	OK               Kind = "OK"
	Usage            Kind = "USAGE"
	RunFailed        Kind = "RUN_FAILED"
	EmptyOutput      Kind = "EMPTY_OUTPUT"
	NotFound         Kind = "NOT_FOUND"
	Incomplete       Kind = "INCOMPLETE"
	Cancelled        Kind = "CANCELLED"
	NoChanges        Kind = "NO_CHANGES"
	BudgetExceeded   Kind = "BUDGET_EXCEEDED"
	VerifyFailed     Kind = "VERIFY_FAILED"
	QuotaExhausted   Kind = "QUOTA_EXHAUSTED"
	AuthRequired     Kind = "AUTH_REQUIRED"
	Timeout          Kind = "TIMEOUT"
	OpencodeMissing  Kind = "OPENCODE_MISSING"
	ModelUnavailable Kind = "MODEL_UNAVAILABLE"
	PermissionDenied Kind = "PERMISSION_DENIED"
	WriteViolation   Kind = "WRITE_VIOLATION"
	JobRunning       Kind = "JOB_RUNNING"
	JobLost          Kind = "JOB_LOST"
	Conflict         Kind = "CONFLICT"
	Skipped          Kind = "SKIPPED"
	Interrupted      Kind = "INTERRUPTED"
)

// codes is the contract between kinds and exit codes.
var codes = map[Kind]int{
	OK: 0, Usage: 1, RunFailed: 2, EmptyOutput: 3, NotFound: 4, Incomplete: 5, Cancelled: 6, NoChanges: 7,
	BudgetExceeded: 8, VerifyFailed: 9, QuotaExhausted: 10, AuthRequired: 11, Timeout: 12, OpencodeMissing: 13,
	ModelUnavailable: 14, PermissionDenied: 15, WriteViolation: 16, JobRunning: 17, JobLost: 18, Conflict: 19,
	Skipped: 20, Interrupted: 130,
}

// Exit is the process exit code of the kind. An unknown kind is a failure: 2.
func (k Kind) Exit() int {
	if c, ok := codes[k]; ok {
		return c
	}
	return codes[RunFailed]
}

// ByExit is the kind of an exit code; one that is none of ours is a RUN_FAILED.
func ByExit(code int) Kind {
	for k, c := range codes {
		if c == code {
			return k
		}
	}
	return RunFailed
}

// Retryable reports whether the same call may succeed later, for the kinds that decide it alone. A RUN_FAILED is
// retryable only when its [Error] is transient.
func (k Kind) Retryable() bool {
	switch k {
	case EmptyOutput, Incomplete, QuotaExhausted, Timeout, JobLost:
		return true
	}
	return false
}

// An Error is one fault, with everything that a caller may act on.
type Error struct {
	Kind   Kind
	Reason string // one line for a person: what happened, with the input that it happened to

	Transient      bool          // a RUN_FAILED that time may heal: rate limit, overload, network
	RetryAfter     time.Duration // 0 = not known
	ResetAt        time.Time     // zero = not known; UTC
	ProviderStatus int           // HTTP status of the provider's answer; 0 = not known
	Hints          []string      // what would be right, a line each; may be empty
	Err            error         // the cause, or nil
}

// New returns a fault of a kind with a formatted reason. %w names a cause.
func New(k Kind, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Kind: k, Reason: err.Error(), Err: errors.Unwrap(err)}
}

// With returns a copy of e that carries further hints.
func (e *Error) With(hints ...string) *Error {
	c := *e
	c.Hints = append(append([]string(nil), e.Hints...), hints...)
	return &c
}

func (e *Error) Error() string { return e.Reason }

func (e *Error) Unwrap() error { return e.Err }

// Retryable reports whether the same call may succeed later.
func (e *Error) Retryable() bool {
	return e.Kind.Retryable() || e.Kind == RunFailed && e.Transient
}

// Of returns the fault in err's chain; another error becomes a RUN_FAILED. Of(nil) is nil.
func Of(err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Kind: RunFailed, Reason: err.Error(), Err: err}
}
