package event

import (
	"slices"
	"time"
)

// Session is the main session; empty while no event named one.
func (t *Transcript) Session() string { return t.session }

// Events counts the events of the main session that this package knows.
func (t *Transcript) Events() int { return t.events }

// Span is the time of the first and of the last of them, by opencode's clock; zero while there is none.
func (t *Transcript) Span() (first, last time.Time) { return t.first, t.last }

// Foreign counts the events of other sessions.
func (t *Transcript) Foreign() int { return t.foreign }

// Noise counts the lines that are no event, and returns the beginning of the first: usage of another version, a crash,
// a plugin that prints.
func (t *Transcript) Noise() (lines int, head string) { return t.noise, t.noiseHead }

// UnknownTypes names the types of events that this package does not know, at most 16.
func (t *Transcript) UnknownTypes() []string { return t.unknown }

// Steps counts the finished model calls.
func (t *Transcript) Steps() int { return t.steps }

// Open reports whether a step began after the last one that finished.
func (t *Transcript) Open() bool { return t.open }

// Reason is why the last step finished; empty while none did.
func (t *Transcript) Reason() string { return t.reason }

// UnfinishedSteps counts the steps that finished with reason "unknown": the provider broke its stream, and opencode asks
// it again without end.
func (t *Transcript) UnfinishedSteps() int { return t.unfinished }

// Tokens is the sum over all steps of the main session.
func (t *Transcript) Tokens() Tokens { return t.tokens }

// Cost is their sum in USD.
func (t *Transcript) Cost() float64 { return t.cost }

// Read is how much the worker's tools have given it to read, and Written how much it wrote itself: texts, reasoning, the inputs of its
// tools. Both are in code points, see [Tool].
func (t *Transcript) Read() int64 { return t.read }

// Written is what the worker has written: see [Transcript.Read].
func (t *Transcript) Written() int64 { return t.written }

// Tools counts the tool calls that finished.
func (t *Transcript) Tools() int { return t.tools }

// LastTool is the last of them; its Name is empty while there is none.
func (t *Transcript) LastTool() Tool { return t.lastTool }

// Commands counts the runs of the tool "bash" that ended with an exit code.
func (t *Transcript) Commands() int { return t.commands }

// FailedCommands counts those whose code was not 0.
func (t *Transcript) FailedCommands() int { return t.failedCommands }

// Subagents counts the calls of the tool "task" that ran: their tokens and cost are in no event.
func (t *Transcript) Subagents() int { return t.subagents }

// Rejected names the tools or permissions that were rejected because there was nobody to ask, at most 16.
func (t *Transcript) Rejected() []string { return t.rejected }

// Refused names the tools that a deny rule refused or took from the worker, at most 16.
func (t *Transcript) Refused() []string { return t.refused }

// Errors are the error events after the last good step, at most the last 16: they stand.
func (t *Transcript) Errors() []Err { return t.errors }

// Healed are those that a good step followed, at most the last 16.
func (t *Transcript) Healed() []Err { return t.healed }

// Idle reports whether opencode itself said that the run is over (after 1.18).
func (t *Transcript) Idle() bool { return t.idle }

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
	case len(t.rejected) > 0:
		return Denied
	case t.events == 0 && t.foreign == 0 && (t.noise > 0 || len(t.unknown) > 0):
		return Alien
	case t.events == 0 && t.foreign == 0:
		return Silent
	case len(t.errors) > 0:
		return Failed
	case t.unfinished > 1 && t.reason == "unknown":
		return Broken
	case t.open || t.steps == 0:
		return Partial
	}
	switch t.reason {
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
