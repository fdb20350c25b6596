package delegate

import (
	"time"

	"opencode-delegate/internal/lazyregexp"
	"opencode-delegate/internal/proc"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/ledger"
	"opencode-delegate/internal/record"
	"opencode-delegate/internal/redact"
)

// A Host is what a delegation finds around it. Everything that a run takes from the machine goes through here.
type Host struct {
	Self    string   // absolute path of this binary, which is also guardian and cage
	Environ []string // the caller's
	Home    string
	Cwd     string // the caller's directory
	Secrets *redact.Set
	Now     func() time.Time

	StateRoot string // our records: never writable for a worker
	CacheDir  string // facts about programs; empty = none kept
	// Ledger knows which models are exhausted; nil = nobody knows.
	Ledger *ledger.Ledger

	SessionKnown bool // our records have the request's session in this very directory
}

// Own is this program as a guardian starts it, which has to work after an update too.
func (h Host) Own() string {
	if proc.OwnBinary != "" {
		return proc.OwnBinary
	}
	return h.Self
}

// A Job is the record that a run writes into, and who wants to hear of it.
type Job struct {
	ID      string
	Record  record.Dir
	Session func(id string) // as soon as the session has a name; never nil
	Watch   func(Progress)  // never nil
	// Spent is told of each attempt when it has ended, of several at once if they end at once; never nil.
	Spent func(Spend)
}

var sessionForm = lazyregexp.New(`^ses_[A-Za-z0-9_-]{1,64}$`)

// CheckSession reports whether an id can be one of opencode's sessions. Another one is a fault NOT_FOUND: no such
// session can exist.
func CheckSession(id string) error {
	if !sessionForm().MatchString(id) {
		return fault.New(fault.NotFound, "no session %.80q; an id looks like ses_dd7fb1c98ffeoCOy6oYOvStGCp", id)
	}
	return nil
}
