package delegate

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"opencode-delegate/internal/event"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/review"
	"opencode-delegate/internal/tree"
)

// A Result is what came back: result.json and the answer of --output json. Its members are a contract.
// A number that is not known is null; times are UTC.
type Result struct {
	Schema    int        `json:"schema"` // 1
	ID        string     `json:"id"`
	Status    fault.Kind `json:"status"`
	Exit      int        `json:"exit"`
	Reason    string     `json:"reason"` // one line, at most 300 code points
	Retryable bool       `json:"retryable"`

	Tier        *string  `json:"tier"`
	Model       string   `json:"model"` // as resolved
	ModelSource string   `json:"model_source"`
	Session     *string  `json:"session"`
	Dir         string   `json:"dir"`
	Profile     string   `json:"profile"`
	Sandbox     string   `json:"sandbox"` // landlock, unavailable, off
	Opencode    Opencode `json:"opencode"`

	StartedAt time.Time `json:"started_at"`
	EndedAt   time.Time `json:"ended_at"`
	Duration  Seconds   `json:"duration_s"`

	RetryAfter     *int       `json:"retry_after_s"`
	ResetAt        *time.Time `json:"reset_at"`
	ProviderStatus *int       `json:"provider_status"`

	Attempts []Attempt `json:"attempts"`
	Try      int       `json:"try"` // the one among them that the result is of; 0 = nothing was tried

	Text          string `json:"text"` // cut at TextLimit; empty together with a digest
	TextTruncated bool   `json:"text_truncated"`
	TextBytes     int64  `json:"text_bytes"` // of the whole text, in result.md
	Digest        string `json:"digest"`
	DigestSource  string `json:"digest_source"` // worker, repaired, extracted, none

	Changes      tree.Changes `json:"changes"`
	Commands     Commands     `json:"commands"`
	Verification Verification `json:"verification"`
	Isolation    *Isolation   `json:"isolation"`

	Review *review.Review `json:"review"` // null for everything else

	Usage      *Usage      `json:"usage"`
	Violations []Violation `json:"violations"`
	Survivors  []string    `json:"survivors"` // processes that outlived the worker and were ended
	Notes      []string    `json:"notes"`
	Hints      []string    `json:"hints"`
	Record     string      `json:"record"`

	// SessionDead says why the session cannot be continued; empty = it can.
	SessionDead string `json:"-"`
}

// TextLimit is the number of bytes of text that a result holds; the whole is in the record.
const TextLimit = 256 << 10

// Opencode is the program that did the work.
type Opencode struct {
	Path    string `json:"path"`
	Version string `json:"version"`
}

// An Attempt is one run of the worker.
type Attempt struct {
	Role     string     `json:"role"` // work, repair, digest, review
	Try      int        `json:"try"`  // from 1: attempts of one try build on each other, each try begins anew
	Tier     *string    `json:"tier"`
	Model    string     `json:"model"`
	Status   fault.Kind `json:"status"`
	Reason   string     `json:"reason"`
	Verdict  string     `json:"verdict"` // of the checks behind it: none, pass, fail, could_not_run
	Session  *string    `json:"session"`
	Usage    *Usage     `json:"usage"`
	Duration Seconds    `json:"duration_s"`
}

// Commands counts the worker's shell commands.
type Commands struct {
	Run    int `json:"run"`
	Failed int `json:"failed"`
}

// Verification is what our own checks said of the work.
type Verification struct {
	Verdict   string  `json:"verdict"`    // none, pass, fail, could_not_run
	RedBefore *bool   `json:"red_before"` // null: the checks were not run before the work
	Checks    []Check `json:"checks"`     // of the last round
	Before    []Check `json:"before,omitempty"`
	// Protected are the protected files that the worker changed, at most 100 of them.
	Protected []string `json:"protected,omitempty"`
}

// A Check is one execution of one command of the caller's, or one of his other expectations.
type Check struct {
	Cmd      string  `json:"cmd"`
	Verdict  string  `json:"verdict"`
	Exit     *int    `json:"exit"`
	Duration Seconds `json:"duration_s"`
	Log      string  `json:"log"`
	Reason   string  `json:"reason"`
	Excerpt  string  `json:"excerpt,omitempty"` // of what a check that did not pass has printed, failing lines first
	Guarded  bool    `json:"guarded,omitempty"` // with the protected files as they were before the work
}

// Isolation names the copy that the worker had instead of the caller's tree.
type Isolation struct {
	Path   string `json:"path"`
	Branch string `json:"branch"`
	Base   string `json:"base"`
	Ref    string `json:"ref"`
}

// A Violation is a change that was not granted.
type Violation struct {
	What string `json:"what"`
	Kept string `json:"kept,omitempty"` // where the worker's version lies, when it was put back
}

// Usage is what a run spent, as the main session's events say.
type Usage struct {
	Input      int64    `json:"input"`
	Output     int64    `json:"output"`
	Reasoning  int64    `json:"reasoning"`
	CacheRead  int64    `json:"cache_read"`
	CacheWrite int64    `json:"cache_write"`
	CostUSD    *float64 `json:"cost_usd"` // null where opencode knows no price
	Partial    bool     `json:"partial,omitempty"`
}

// usage turns counts into what a result says of them. Nothing counted is not known; a cost of 0 for tokens that
// were used means that opencode has no price for the model.
func usage(t event.Tokens, cost float64, partial bool) *Usage {
	if t.Sum() == 0 {
		return nil
	}
	u := &Usage{Input: t.Input, Output: t.Output, Reasoning: t.Reasoning, CacheRead: t.CacheRead, CacheWrite: t.CacheWrite, Partial: partial}
	if cost > 0 {
		c := math.Round(cost*1e9) / 1e9 // sums of binary fractions: 0.000262, not 0.00026199999
		u.CostUSD = &c
	}
	return u
}

// Seconds is a duration that JSON shows in seconds, to the millisecond.
type Seconds time.Duration

func (s Seconds) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, "%.3f", time.Duration(s).Seconds()), nil
}

func (s *Seconds) UnmarshalJSON(b []byte) error {
	f, err := strconv.ParseFloat(string(b), 64)
	*s = Seconds(f * float64(time.Second))
	return err
}

// plus is the sum of two spendings, either of which may be unknown. A cost that is unknown in one is unknown in the sum.
func (u *Usage) plus(v *Usage) *Usage {
	if u == nil || v == nil {
		if u == nil {
			return v
		}
		return u
	}
	sum := Usage{
		u.Input + v.Input, u.Output + v.Output, u.Reasoning + v.Reasoning, u.CacheRead + v.CacheRead, u.CacheWrite + v.CacheWrite,
		nil, u.Partial || v.Partial,
	}
	if u.CostUSD != nil && v.CostUSD != nil {
		c := math.Round((*u.CostUSD+*v.CostUSD)*1e9) / 1e9
		sum.CostUSD = &c
	}
	return &sum
}

// optional is nil for the empty string.
func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
