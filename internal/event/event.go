// Package event is opencode's own account of a run: the JSON lines of `opencode run --format json`.
//
// A [Stream] frames and decodes lines of any length in bounded memory and copies each line, with its secrets
// redacted, to a log as it arrives. A [Transcript] folds events into the facts that a verdict needs. Both are pure:
// they know no process, no clock and no file but the reader and writer that they are given.
package event

import (
	"math"
	"strings"
	"time"
)

// A Type is the "type" member of an event line. Types that this package does not know keep their name.
type Type string

// The types that opencode 1.x prints; Done comes from versions after 1.18.
const (
	StepStart  Type = "step_start"
	TextBlock  Type = "text"
	Reasoning  Type = "reasoning"
	ToolUse    Type = "tool_use"
	StepFinish Type = "step_finish"
	Failure    Type = "error"
	Done       Type = "done"
	// Noise is a line that is no event: not JSON, or JSON without a type.
	Noise Type = ""
)

// ValidSession is id when it can be one of a session, else "". It is wider than what opencode 1.18 makes (ses_ and 26
// letters and digits) and lets nothing through that a shell, a flag parser or a path would notice: an id ends in commands
// that people copy.
func ValidSession(id string) string {
	name, ok := strings.CutPrefix(id, "ses_")
	if !ok || name == "" || len(name) > 64 {
		return ""
	}
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-':
		default:
			return ""
		}
	}
	return id
}

// known reports whether this package knows what such an event holds.
func (t Type) known() bool {
	switch t {
	case StepStart, TextBlock, Reasoning, ToolUse, StepFinish, Failure, Done:
		return true
	}
	return false
}

// An Event is one line. Only the members of its own type are set.
type Event struct {
	Type    Type
	At      time.Time // opencode's clock; zero when the line has none
	Session string

	Text   Text   // TextBlock, Reasoning; for Noise the line, of which Head has at most 4 KiB
	Tool   Tool   // ToolUse
	Finish Finish // StepFinish
	Err    Err    // Failure

	Rejected []string // Done: permissions that were rejected
}

// A Text is a block of the worker's prose. It is held whole up to [HeadLimit]; beyond that Head is its beginning and
// the rest is in the log, where [CopyText] finds it.
type Text struct {
	Head  string
	Size  int64 // bytes of the whole text, as UTF-8
	Chars int64 // its code points
	Line  Span  // the object in the log that holds the text

	blank bool // nothing in the whole text can be seen
}

// Whole reports whether Head is the whole text.
func (t Text) Whole() bool { return int64(len(t.Head)) == t.Size }

// Blank reports whether a reader would see nothing: white space, control and zero-width characters only. It is about
// the whole text, also where Head is not.
func (t Text) Blank() bool {
	return t.blank || t.Whole() && !strings.ContainsFunc(t.Head, visible)
}

// A Span is a range of bytes in the log, without the newline. N is 0 when the line could not be logged.
type Span struct{ Off, N int64 }

// HeadLimit is the number of bytes up to which one string of an event is held in memory.
const HeadLimit = 256 << 10

// A Tool is one finished tool call. opencode says nothing of a call while it runs.
type Tool struct {
	Name   string
	CallID string
	Status string // "completed" or "error"; a failed command is "completed" with an Exit
	Error  string // for "error", at most 4 KiB; for the tool "invalid" what was wrong with the call
	Exit   *int   // of a command (tool "bash"), nil when the event has none
	Target string // what it acted on, a line for a person: command, path, pattern or description; at most 1 KiB
	Title  string
	Sent   int64 // code points of all strings in its input
	Got    int64 // code points of its output, or of its error
	Todo   *Todo // of the tool "todowrite", once opencode has taken the list; nil for every other call
}

// A Todo is the list that a worker keeps of what it has to do.
type Todo struct {
	Done, Total int    // what was cancelled counts for neither
	Active      string // the first that is in progress, a line of at most 1 KiB; may be empty
}

// Finish is the end of one model call (step).
type Finish struct {
	Reason string // "stop", "tool-calls", "length", "content-filter", "unknown", …
	Tokens Tokens
	Cost   float64 // USD, as opencode computes it, at most a million; 0 also where it knows no price
}

// Tokens of one or more steps, none negative; of one step at most 10¹² of each kind. Input excludes cache reads; output excludes reasoning (opencode 1.18).
type Tokens struct {
	Input, Output, Reasoning, CacheRead, CacheWrite int64
}

// Sum is what a token cap counts: all five. It stops at the largest number.
func (t Tokens) Sum() int64 {
	return plus(plus(plus(plus(t.Input, t.Output), t.Reasoning), t.CacheRead), t.CacheWrite)
}

// Add returns the sum of both. Each stops at the largest number.
func (t Tokens) Add(u Tokens) Tokens {
	return Tokens{plus(t.Input, u.Input), plus(t.Output, u.Output), plus(t.Reasoning, u.Reasoning), plus(t.CacheRead, u.CacheRead), plus(t.CacheWrite, u.CacheWrite)}
}

// plus is a+b for counts, which are not negative.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// Err is an error event: error.name and error.data.
type Err struct {
	Name      string            // "APIError", "ContextOverflowError", "UnknownError", …
	Message   string            // at most 16 KiB
	Status    int               // HTTP status of the provider; 0 when absent
	Retryable *bool             // opencode's own opinion; nil when absent
	Headers   map[string]string // response headers, lower case; at most 64 of 1 KiB
	Body      string            // response body, at most 64 KiB
	Ref       string            // opencode's reference into its log
}
