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
// main session is the first that an event names.
//
// Events of other sessions are counted and decide nothing. A transcript takes a few MiB at most, whatever the run.
type Transcript struct {
	session     string
	first, last time.Time
	events      int
	foreign     int
	noise       int
	noiseHead   string
	unknown     []string

	steps      int
	open       bool // a step began after the last one that finished
	reason     string
	unfinished int
	tokens     Tokens
	cost       float64

	tools          int
	lastTool       Tool
	read, written  int64
	commands       int
	failedCommands int
	subagents      int
	rejected       []string
	refused        []string

	errors []Err
	healed []Err
	idle   bool

	texts    []Text
	answer   int // index of the first text after the last tool use
	heads    int // bytes
	headless int // texts whose head was given up
}

// NewTranscript returns the transcript of a run whose main session is known beforehand.
func NewTranscript(session string) *Transcript { return &Transcript{session: session} }

// Add takes the next event.
func (t *Transcript) Add(e Event) {
	if e.Type == Noise {
		if t.noise++; t.noise == 1 {
			t.noiseHead = e.Text.Head
		}
		return
	}
	if !e.Type.known() {
		t.unknown = addName(t.unknown, string(e.Type))
		return
	}
	if t.session == "" {
		t.session = e.Session
	}
	if e.Session != "" && e.Session != t.session {
		t.foreign++
		return
	}
	t.events++
	if t.first.IsZero() {
		t.first = e.At
	}
	if !e.At.IsZero() {
		t.last = e.At
	}
	switch e.Type {
	case StepStart:
		t.open = true
	case Reasoning:
		t.written = plus(t.written, e.Text.Chars)
	case TextBlock:
		t.written = plus(t.written, e.Text.Chars)
		t.addText(e.Text)
	case ToolUse:
		t.addTool(e.Tool)
	case StepFinish:
		t.addFinish(e.Finish)
	case Failure:
		t.errors = addErr(t.errors, e.Err)
	case Done:
		t.idle = true
		for _, name := range e.Rejected {
			t.rejected = addName(t.rejected, name)
		}
	}
}

// AddNoise counts lines that are no event and whose text is not of interest: those after the first.
func (t *Transcript) AddNoise(lines int) { t.noise += lines }

func (t *Transcript) addFinish(f Finish) {
	t.steps++
	t.open = false
	t.reason = f.Reason
	t.tokens = t.tokens.Add(f.Tokens)
	t.cost += f.Cost
	switch f.Reason {
	case "unknown":
		t.unfinished++
	case "stop", "tool-calls", "length", "content-filter":
		for _, e := range t.errors {
			t.healed = addErr(t.healed, e)
		}
		t.errors = nil
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
	t.tools++
	t.lastTool = tool
	t.read, t.written = plus(t.read, tool.Got), plus(t.written, tool.Sent)
	t.answer = len(t.texts)
	if tool.Name == "bash" && tool.Exit != nil {
		t.commands++
		if *tool.Exit != 0 {
			t.failedCommands++
		}
	}
	asked, failed := tool.Name, tool.Status == "error"
	if tool.Name == "invalid" {
		asked, failed = tool.Target, true
	}
	switch {
	case failed && strings.HasPrefix(tool.Error, rejectedByNobody):
		t.rejected = addName(t.rejected, asked)
	case failed && strings.HasPrefix(tool.Error, refusedByRule),
		failed && strings.HasPrefix(tool.Error, takenAway) && slices.Contains(builtin, asked):
		t.refused = addName(t.refused, asked)
	case tool.Name == "task":
		t.subagents++
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
		t.answer = max(0, t.answer-drop)
		t.headless = max(0, t.headless-drop)
		t.heads = 0
		for _, kept := range t.texts {
			t.heads += len(kept.Head)
		}
	}
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
