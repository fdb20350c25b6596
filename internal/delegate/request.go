// Package delegate is the use case: it turns a [Request] into a [Result] through the real opencode.
//
// The order of the steps is the package's whole knowledge: look at the repository, build the cage, run the worker,
// look again, ask for a missing digest, judge, write down. The verdict comes from evidence; the worker's prose
// is only ever shown.
package delegate

import (
	"time"

	"opencode-delegate/internal/review"
)

// A Request is what is delegated: a plain value, written to request.json. The prompt travels beside it.
type Request struct {
	Schema int `json:"schema"` // 1

	Dir         string `json:"dir"` // absolute, symbolic links resolved
	Tier        string `json:"tier,omitempty"`
	Model       string `json:"model"` // provider/model
	ModelSource string `json:"model_source"`
	Variant     string `json:"variant,omitempty"`
	Agent       string `json:"agent,omitempty"`
	Opencode    string `json:"opencode,omitempty"` // the program that the caller named; empty = search
	// OpencodeSource is where that name came from.
	OpencodeSource string `json:"opencode_source,omitempty"`
	Title          string `json:"title,omitempty"`
	Profile        string `json:"profile"` // read-only, standard, trusted-test, full-trusted

	Session string   `json:"session,omitempty"` // continue this one
	Fork    bool     `json:"fork,omitempty"`    // … as a copy
	Files   []string `json:"files,omitempty"`   // attachments, absolute

	Digest      bool `json:"digest,omitempty"`
	DigestLimit int  `json:"digest_limit,omitempty"` // code points

	Timeout    Duration `json:"timeout"`      // of one attempt
	Idle       Duration `json:"idle_timeout"` // 0 = off
	Grace      Duration `json:"grace"`
	RetryLimit Duration `json:"retry_limit"`
	MaxCost    float64  `json:"max_cost,omitempty"`   // USD; 0 = off
	MaxTokens  int64    `json:"max_tokens,omitempty"` // 0 = off

	AllowRead      []string `json:"allow_read,omitempty"`
	AllowWrite     []string `json:"allow_write,omitempty"`
	NoSandbox      bool     `json:"no_sandbox,omitempty"`
	TrustProject   bool     `json:"trust_project,omitempty"`
	KeepEnv        []string `json:"keep_env,omitempty"`
	AllowNoChanges bool     `json:"allow_no_changes,omitempty"`
	AllowGitConfig bool     `json:"allow_git_config,omitempty"`

	IgnoreQuota bool `json:"ignore_quota,omitempty"` // start although the ledger knows the model to be exhausted

	// Isolate gives the worker a copy of the repository instead of Dir.
	Isolate   bool     `json:"isolate,omitempty"`
	WithDirty bool     `json:"with_dirty,omitempty"` // uncommitted and untracked files belong to the base
	Link      []string `json:"link,omitempty"`       // ignored directories that the copy has too, read-only; absolute
	Copy      []string `json:"copy,omitempty"`       // the same, as copies
	// Onward is the place of an earlier copy, absolute: the new one begins with the work in it, and Session, if there is one, goes on there.
	Onward string `json:"onward,omitempty"`
	// Resumes tells that the earlier work is this very task, cut off: it counts as done by this run.
	Resumes bool `json:"resumes,omitempty"`

	Checks
	Repair   int    `json:"repair,omitempty"`   // failures of a check that go back into the session
	Escalate []Rung `json:"escalate,omitempty"` // the models that take over, in their order
	BestOf   int    `json:"best_of,omitempty"`  // attempts beside each other, of which the checks choose one; 0 or 1 = one

	// MayRevert are files, from the top of the repository, whose uncommitted changes the task itself may take back: what a review has found fault with.
	MayRevert []string `json:"may_revert,omitempty"`

	// Review is set for a review: what its findings are checked by. The prompt is the questions of its parts then.
	Review *review.Scope `json:"review,omitempty"`

	Caller string `json:"caller"`
}

// Checks are what our own process says of the work.
type Checks struct {
	Verify           []string `json:"verify,omitempty"`         // each for sh -c
	VerifyTimeout    Duration `json:"verify_timeout,omitempty"` // of each execution
	NoPreflight      bool     `json:"no_preflight,omitempty"`
	Protect          []string `json:"protect,omitempty"` // globs; none = the built-in table
	AllowTestChanges bool     `json:"allow_test_changes,omitempty"`
	TrustDeps        bool     `json:"trust_deps,omitempty"` // check in place although dependencies have changed

	ExpectFile   []string `json:"expect_file,omitempty"`   // relative to Dir
	ExpectSchema string   `json:"expect_schema,omitempty"` // absolute path of a JSON Schema for the answer
	AllowPath    []string `json:"allow_path,omitempty"`    // globs
	ForbidPath   []string `json:"forbid_path,omitempty"`   // globs
	MaxDiff      int64    `json:"max_diff,omitempty"`      // lines; 0 = no limit
}

// A Rung is a model that an escalation goes on with.
type Rung struct {
	Tier    string `json:"tier,omitempty"`
	Model   string `json:"model"` // provider/model
	Variant string `json:"variant,omitempty"`
}

// A Duration is a time.Duration that JSON shows as text, such as "10m0s".
type Duration time.Duration

func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

func (d *Duration) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	*d = Duration(v)
	return err
}

// String is the duration as a person writes it.
func (d Duration) String() string { return time.Duration(d).String() }
