package testmodel

import (
	"slices"
	"time"
)

// A Scenario is what the model does, from the user message that names it on.
type Scenario struct {
	Name, Help string
	// Answers holds the steps that answer the user message with the directive, then those for each later user message
	// that has none; the last answer serves all that follow. A scenario with one answer covers one message: the next
	// one is answered by the rules for its model id.
	Answers [][]Step
	// Title answers the extra request for a session title; nil means a plain title.
	Title *Step
}

// A Step answers one request: a refusal (Status), a broken connection (Fault), or a message of the model.
type Step struct {
	Status  int // HTTP status; 0 = a message of the model. 200 with a Body is an answer that is no message
	Body    string
	Headers map[string]string

	Fault Fault

	Reasoning string
	Text      string
	Size      int64  // bytes of filler, all in one line, after Text
	Digest    bool   // append a digest block
	Calls     []Call // in one message, so that they run side by side
	Finish    string // finish_reason; "" = tool_calls when there are Calls, else stop
	NoUsage   bool
	Tokens    int           // prompt_tokens; 0 = 100, negative = none of any kind
	Delay     time.Duration // before each word

	Repeat int  // serve this many turns; 0 = 1
	Vary   bool // add the turn to a command, so that repeated calls differ
	Times  int  // serve only this many requests and take no turn: what is retried meets the next step. 0 = no limit
}

// A Call is one tool call.
type Call struct {
	Tool string
	Args map[string]any
	Raw  string // argument text in place of Args; may be malformed
}

// A Fault is a way in which a connection or a stream breaks. The text of the step is sent before it where the
// stream has begun.
type Fault string

// The faults.
const (
	Hang        Fault = "hang"         // nothing is ever sent
	HangHeaders Fault = "hang-headers" // headers, then nothing
	Stall       Fault = "stall"        // some text, then nothing
	Reset       Fault = "reset"        // some text, then TCP RST
	ResetAtOnce Fault = "reset0"       // TCP RST before any byte
	EOF         Fault = "eof"          // some text, then a clean end without finish_reason
	Garbage     Fault = "garbage"      // a stream of bad JSON
	StreamError Fault = "sse-error"    // some text, then Body as an object of the stream
	StreamBody  Fault = "sse-body"     // Body is the whole stream
)

// Names lists the scenarios in order of their names.
func Names() []string {
	var names []string
	for _, s := range Scenarios() {
		names = append(names, s.Name)
	}
	slices.Sort(names)
	return names
}

// Scenarios returns every scenario. The caller may change what it gets.
func Scenarios() []Scenario {
	return slices.Concat(answers(), tools(), digests(), refusals(), faults())
}

// Refusals returns the scenarios in which the provider refuses in words of its own, or answers 200 with something that is no
// message: one for each wording that a classifier must know.
func Refusals() []Scenario { return refusals() }

// at returns the step for a turn: the number of the model's own messages since the user message. used tells how
// often the step of an index was served, and is asked only for steps with a limit. The index is len(steps) when the
// answer ended in tool calls and is to be closed with a word on their result.
func at(steps []Step, turn int, used func(index int) int) (step Step, index int) {
	for i, s := range steps {
		if s.Times > 0 {
			if used(i) < s.Times {
				return s, i
			}
			continue
		}
		n := max(s.Repeat, 1)
		if turn < n {
			return s, i
		}
		turn -= n
	}
	// What ended in words or in a refusal stays so: opencode asks again when it saw no end.
	last := steps[len(steps)-1]
	if len(last.Calls) > 0 {
		return Step{}, len(steps)
	}
	return last, len(steps) - 1
}

func say(name, help, text string) Scenario {
	return Scenario{Name: name, Help: help, Answers: [][]Step{{{Text: text}}}}
}

func do(name, help string, steps ...Step) Scenario {
	return Scenario{Name: name, Help: help, Answers: [][]Step{steps}}
}

func call(tool string, args map[string]any) Step {
	return Step{Calls: []Call{{Tool: tool, Args: args}}}
}

func bash(command string) Step {
	return call("bash", map[string]any{"command": command, "description": "run a command"})
}
