package testanthropic

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"
)

// A Kind says which conversation a request belongs to.
type Kind string

// The kinds.
const (
	Main     Kind = "main"     // the user's conversation
	Subagent Kind = "subagent" // one of a subagent; [Request].Agent tells them apart
	Helper   Kind = "helper"   // Claude Code's own questions, such as the one for a session title: they offer no tool
)

// A Request is one request for a message.
type Request struct {
	At        time.Time
	Kind      Kind
	Session   string // Claude Code's session id
	Agent     string // id of the subagent, "" in the main conversation
	Model     string
	Stream    bool
	MaxTokens int

	System   string
	Messages []Message
	Tools    []Tool
	Raw      json.RawMessage // the whole body

	Turn   int    // the model's own messages since the directive
	Answer string // what chose the answer: a rule's name, "directive N", "closing", "helper" or "error"
	Error  string // why the directive could not be followed
}

// A Message is one message of a request. Claude Code puts messages with the role "system" among the others.
type Message struct {
	Role   string
	Blocks []Block
}

// A Block is a part of a message.
type Block struct {
	Type  string // text, tool_use, tool_result, thinking, image, …
	Text  string // of a text; the text of a tool's result
	ID    string // of a tool's call and its result
	Name  string // the tool that is called
	Input json.RawMessage
	Error bool // the tool failed
}

// A Tool is one that the model is offered.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage
}

type block struct {
	Type        string          `json:"type"`
	Text        string          `json:"text"`
	Thinking    string          `json:"thinking"`
	ID          string          `json:"id"`
	ToolUseID   string          `json:"tool_use_id"`
	Name        string          `json:"name"`
	Input       json.RawMessage `json:"input"`
	Content     json.RawMessage `json:"content"`
	IsError     bool            `json:"is_error"`
	Description string          `json:"description"`
}

func parse(h http.Header, body []byte) (Request, error) {
	var wire struct {
		Model     string          `json:"model"`
		Stream    bool            `json:"stream"`
		MaxTokens int             `json:"max_tokens"`
		System    json.RawMessage `json:"system"`
		Messages  []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		Tools []struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Schema      json.RawMessage `json:"input_schema"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &wire); err != nil {
		return Request{}, fmt.Errorf("the request's body: %w", err)
	}
	r := Request{
		Kind: Main, Session: h.Get("X-Claude-Code-Session-Id"), Agent: h.Get("X-Claude-Code-Agent-Id"),
		Model: wire.Model, Stream: wire.Stream, MaxTokens: wire.MaxTokens, Raw: body,
	}
	system, err := blocks(wire.System)
	if err != nil {
		return Request{}, fmt.Errorf("the system prompt: %w", err)
	}
	r.System = text(system, "\n")
	for i, m := range wire.Messages {
		b, err := blocks(m.Content)
		if err != nil {
			return Request{}, fmt.Errorf("message %d: %w", i+1, err)
		}
		r.Messages = append(r.Messages, Message{Role: m.Role, Blocks: b})
	}
	for _, t := range wire.Tools {
		r.Tools = append(r.Tools, Tool{Name: t.Name, Description: t.Description, Schema: t.Schema})
	}
	switch {
	case r.Agent != "":
		r.Kind = Subagent
	case len(r.Tools) == 0:
		r.Kind = Helper
	}
	return r, nil
}

// blocks reads a content: a string, or a list of parts.
func blocks(raw json.RawMessage) ([]Block, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return []Block{{Type: "text", Text: s}}, nil
	}
	var parts []block
	if err := json.Unmarshal(raw, &parts); err != nil {
		return nil, err
	}
	var list []Block
	for _, p := range parts {
		b := Block{Type: p.Type, Text: p.Text + p.Thinking, ID: p.ID + p.ToolUseID, Name: p.Name, Input: p.Input, Error: p.IsError}
		if p.Type == "tool_result" {
			inner, err := blocks(p.Content)
			if err != nil {
				return nil, err
			}
			b.Text = text(inner, "\n")
		}
		list = append(list, b)
	}
	return list, nil
}

func text(list []Block, between string) string {
	var all []string
	for _, b := range list {
		if b.Text != "" {
			all = append(all, b.Text)
		}
	}
	return strings.Join(all, between)
}

// Offers reports whether the model is offered the tool.
func (r Request) Offers(tool string) bool {
	for _, t := range r.Tools {
		if t.Name == tool {
			return true
		}
	}
	return false
}

// Said is what the messages of a role hold in words, one block after the other; without what tools returned.
func (r Request) Said(role string) string {
	var all []Block
	for _, m := range r.Messages {
		for _, b := range m.Blocks {
			if m.Role == role && b.Type == "text" {
				all = append(all, b)
			}
		}
	}
	return text(all, "\n")
}

// Results are the results of tools, oldest first.
func (r Request) Results() []Block {
	var all []Block
	for _, m := range r.Messages {
		for _, b := range m.Blocks {
			if b.Type == "tool_result" {
				all = append(all, b)
			}
		}
	}
	return all
}

// lines are everything in the request that the model reads.
func (r Request) lines() []string {
	all := strings.Split(r.System, "\n")
	for _, m := range r.Messages {
		for _, b := range m.Blocks {
			all = append(all, strings.Split(b.Text, "\n")...)
			if b.Type == "tool_use" {
				all = append(all, b.Name+" "+string(b.Input))
			}
		}
	}
	for _, t := range r.Tools {
		all = append(all, t.Name)
		all = append(all, strings.Split(t.Description, "\n")...)
		all = append(all, string(t.Schema))
	}
	return all
}

// Characters is the size of what the model reads: system prompt, messages, and the names, descriptions and schemas of tools, in characters.
func (r Request) Characters() int {
	n := 0
	for _, l := range r.lines() {
		n += utf8.RuneCountInString(l) + 1
	}
	return n
}

// Added are the lines of this request that the other one lacks, in order. A line that differs counts whole, so the characters of what is returned are never
// fewer than those that were really added.
func (r Request) Added(other Request) []string {
	have := map[string]int{}
	for _, l := range other.lines() {
		have[l]++
	}
	var added []string
	for _, l := range r.lines() {
		if have[l] > 0 {
			have[l]--
			continue
		}
		added = append(added, l)
	}
	return added
}
