package event

import (
	"slices"
	"strings"
	"time"
)

// What a transcript keeps in memory, whatever the number of events.
const (
	headsLimit  = 1 << 20 // bytes of all Text.Head together; the oldest lose theirs
	textsLimit  = 1 << 14 // texts; the oldest are forgotten
	errorsLimit = 16      // errors of each kind; the oldest are forgotten
	namesLimit  = 16      // tools, types: the first that were seen
)

// A Transcript folds the events of one run into the facts that a verdict needs. Its zero value is an empty run, whose
// main session is the first that an event names. Only [Transcript.Add] changes it; the fields are for reading.
//
// Events of other sessions are counted and decide nothing. A transcript takes a few MiB at most.
type Transcript struct {
	Session string // the main session; set it before the first event when it is known

	Events  int       // that this package knows, of the main session
	First   time.Time // of the first and of the last of them; opencode's clock
	Last    time.Time
	Foreign int // events of other sessions
	Noise   int // lines that are no event
	// NoiseHead is the beginning of the first such line: usage of another version, a crash, a plugin that prints.
	NoiseHead string
	Unknown   []string // types that this package does not know

	Steps  int  // finished model calls
	Open   bool // a step began after the last one that finished
	Reason string
	// Unfinished counts steps that finished with reason "unknown": the provider broke its stream, and opencode asks
	// it again without end.
	Unfinished int
	Tokens     Tokens
	Cost       float64 // USD

	Tools     int // finished calls
	LastTool  Tool
	Commands  Commands
	Subagents int      // calls of the tool "task" that ran: their tokens and cost are in no event
	Rejected  []string // tools or permissions that were rejected because nobody could be asked
	Refused   []string // tools that a deny rule refused, or that it took from the worker

	// Errors came after the last good step and stand; Healed were followed by one.
	Errors []Err
	Healed []Err
	Idle   bool // opencode itself said that the run is over (after 1.18)

	texts     []Text
	answer    int // index of the first text after the last tool use
	forgotten int
	heads     int // bytes
	headless  int // texts whose head was given up
}

// Commands counts the runs of the tool "bash" that ended with an exit code.
type Commands struct{ Run, Failed int }

// Add takes the next event.
func (t *Transcript) Add(e Event) {
	if e.Type == Noise {
		if t.Noise++; t.Noise == 1 {
			t.NoiseHead = e.Text.Head
		}
		return
	}
	if !e.Type.known() {
		t.Unknown = addName(t.Unknown, string(e.Type))
		return
	}
	if t.Session == "" {
		t.Session = e.Session
	}
	if e.Session != "" && e.Session != t.Session {
		t.Foreign++
		return
	}
	t.Events++
	if t.First.IsZero() {
		t.First = e.At
	}
	if !e.At.IsZero() {
		t.Last = e.At
	}
	switch e.Type {
	case StepStart:
		t.Open = true
	case TextBlock:
		t.addText(e.Text)
	case ToolUse:
		t.addTool(e.Tool)
	case StepFinish:
		t.addFinish(e.Finish)
	case Failure:
		t.Errors = addErr(t.Errors, e.Err)
	case Done:
		t.Idle = true
		for _, name := range e.Rejected {
			t.Rejected = addName(t.Rejected, name)
		}
	}
}

func (t *Transcript) addFinish(f Finish) {
	t.Steps++
	t.Open = false
	t.Reason = f.Reason
	t.Tokens = t.Tokens.Add(f.Tokens)
	t.Cost += f.Cost
	switch f.Reason {
	case "unknown":
		t.Unfinished++
	case "stop", "tool-calls", "length", "content-filter":
		for _, e := range t.Errors {
			t.Healed = addErr(t.Healed, e)
		}
		t.Errors = nil
	}
}

// What opencode 1.18 says of a call that it did not make (recordings perm-ask-*, readonly-*, perm-deny-*).
const (
	rejectedByNobody = "The user rejected permission to use this specific tool call"
	refusedByRule    = "The user has specified a rule which prevents you from using this specific tool call"
	takenAway        = "Model tried to call unavailable tool "
)

// builtin are opencode's own tools: one of them is unavailable only where a rule took it away. Another name is the
// model's invention.
var builtin = []string{
	"bash", "edit", "write", "patch", "apply_patch", "multiedit", "read", "glob", "grep", "list", "task", "todowrite",
	"todoread", "webfetch", "websearch", "codesearch", "skill", "lsp",
}

func (t *Transcript) addTool(tool Tool) {
	t.Tools++
	t.LastTool = tool
	t.answer = len(t.texts)
	if tool.Name == "bash" && tool.Exit != nil {
		t.Commands.Run++
		if *tool.Exit != 0 {
			t.Commands.Failed++
		}
	}
	asked, failed := tool.Name, tool.Status == "error"
	if tool.Name == "invalid" {
		asked, failed = tool.Target, true
	}
	switch {
	case failed && strings.HasPrefix(tool.Error, rejectedByNobody):
		t.Rejected = addName(t.Rejected, asked)
	case failed && strings.HasPrefix(tool.Error, refusedByRule),
		failed && strings.HasPrefix(tool.Error, takenAway) && slices.Contains(builtin, asked):
		t.Refused = addName(t.Refused, asked)
	case tool.Name == "task":
		t.Subagents++
	}
}

func (t *Transcript) addText(text Text) {
	t.texts = append(t.texts, text)
	t.heads += len(text.Head)
	for t.heads > headsLimit {
		old := &t.texts[t.headless]
		t.heads -= len(old.Head)
		old.blank = old.Blank()
		old.Head = ""
		t.headless++
	}
	if len(t.texts) > textsLimit {
		const drop = textsLimit / 2
		t.texts = slices.Delete(t.texts, 0, drop)
		t.forgotten += drop
		t.answer = max(0, t.answer-drop)
		t.headless = max(0, t.headless-drop)
		t.heads = 0
		for _, kept := range t.texts {
			t.heads += len(kept.Head)
		}
	}
}

// Texts returns every text of the main session, oldest first. Of a run with very many the oldest are missing; those
// that are not whole are in the log.
func (t *Transcript) Texts() []Text { return t.texts }

// Answer returns the texts after the last tool use: what the worker has to say in the end.
func (t *Transcript) Answer() []Text { return t.texts[t.answer:] }

// Answered reports whether anything can be seen in the answer.
func (t *Transcript) Answered() bool {
	return slices.ContainsFunc(t.Answer(), func(text Text) bool { return !text.Blank() })
}

// Complete reports whether the stream shows a success: see [Success].
func (t *Transcript) Complete() bool { return t.Ending() == Success }

// An Ending says how far a stream came.
type Ending string

const (
	// Success: the last step finished with "stop", there is an answer that can be seen, no error stands and no
	// permission was rejected.
	Success Ending = "success"
	// Denied: a permission was rejected, whatever came after it.
	Denied Ending = "denied"
	// Failed: an error event stands.
	Failed Ending = "failed"
	// Empty: the last step finished with "stop" and said nothing that can be seen.
	Empty Ending = "empty"
	// Cut: the last step finished with "length" or "content-filter": the provider cut the answer.
	Cut Ending = "cut"
	// Broken: the provider never says how a step ended (reason "unknown").
	Broken Ending = "broken"
	// Partial: the stream ended before the run did: within a step, or after one that called tools.
	Partial Ending = "partial"
	// Silent: not one line.
	Silent Ending = "silent"
	// Alien: there were lines, but none that this package knows: opencode of another version, or another program.
	Alien Ending = "alien"
)

// Ending judges what was added so far.
func (t *Transcript) Ending() Ending {
	switch {
	case len(t.Rejected) > 0:
		return Denied
	case t.Events == 0 && t.Foreign == 0 && (t.Noise > 0 || len(t.Unknown) > 0):
		return Alien
	case t.Events == 0 && t.Foreign == 0:
		return Silent
	case len(t.Errors) > 0:
		return Failed
	case t.Unfinished > 1 && t.Reason == "unknown":
		return Broken
	case t.Open || t.Steps == 0:
		return Partial
	}
	switch t.Reason {
	case "stop":
		if t.Answered() {
			return Success
		}
		return Empty
	case "length", "content-filter":
		return Cut
	case "unknown":
		return Broken
	}
	return Partial
}

// addName adds a name that is not there yet.
func addName(names []string, name string) []string {
	if len(names) == namesLimit || slices.Contains(names, name) {
		return names
	}
	return append(names, name)
}

func addErr(errs []Err, e Err) []Err {
	if len(errs) == errorsLimit {
		errs = slices.Delete(errs, 0, 1)
	}
	return append(errs, e)
}
