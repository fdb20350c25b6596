package testanthropic

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

const opening = "[[claude:"

// A line is one element of a directive in JSON: a step, with its first call written beside it.
type line struct {
	call
	Text       string `json:"text"`
	Think      string `json:"think"`
	Calls      []call `json:"calls"`
	Status     int    `json:"status"`
	Body       string `json:"body"`
	RetryAfter int    `json:"retry_after"`
	Times      int    `json:"times"`
	DelayMS    int    `json:"delay_ms"`
}

// A call names a tool in one of four ways.
type call struct {
	Bash  string         `json:"bash"`
	Agent string         `json:"agent"`
	Skill string         `json:"skill"`
	Tool  string         `json:"tool"`
	Input map[string]any `json:"input"` // of Tool; for the others it is added to what follows

	Description string `json:"description"` // of Bash and Agent
	Timeout     int    `json:"timeout"`     // of Bash, in milliseconds
	Background  bool   `json:"background"`  // of Bash and Agent
	Prompt      string `json:"prompt"`      // of Agent
	Args        string `json:"args"`        // of Skill
}

// A script is what a directive says, and how far the conversation has followed it.
type script struct {
	id    string // tells directives apart
	steps []Step
	turn  int
}

// at returns the step for the turn and its index, which is -1 when the script is at its end. used tells how often a limited step was served.
func (s script) at(used func(i int) int) (Step, int) {
	turn := s.turn
	for i, step := range s.steps {
		if step.Times > 0 {
			if used(i) < step.Times {
				return step, i
			}
			continue
		}
		if turn == 0 {
			return step, i
		}
		turn--
	}
	return Step{}, -1
}

// script finds the newest directive in the words of the user. What a tool returns is never looked at: it may quote a directive.
func (r Request) script() (script, error) {
	turn := 0
	for i := len(r.Messages) - 1; i >= 0; i-- {
		m := r.Messages[i]
		if m.Role == "assistant" {
			turn++
		}
		if m.Role != "user" {
			continue
		}
		for j := len(m.Blocks) - 1; j >= 0; j-- {
			if m.Blocks[j].Type != "text" {
				continue
			}
			s, err := directive(m.Blocks[j].Text)
			if err != nil || s.steps != nil {
				s.turn = turn
				return s, err
			}
		}
	}
	return script{}, nil
}

// directive reads the first directive of a text: a later one may stand in the prompt of a subagent. Without one the script has no steps.
func directive(text string) (script, error) {
	at := strings.Index(text, opening)
	if at < 0 {
		return script{}, nil
	}
	rest := text[at+len(opening):]
	d := json.NewDecoder(strings.NewReader(rest))
	var raw json.RawMessage
	if err := d.Decode(&raw); err != nil {
		return script{}, fmt.Errorf("directive %q: %w", head(rest), err)
	}
	if !strings.HasPrefix(rest[d.InputOffset():], "]]") {
		return script{}, fmt.Errorf("directive %q: no ]] after the JSON", head(rest))
	}
	if raw[0] == '{' {
		raw = append(append([]byte("["), raw...), ']')
	}
	d = json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	var lines []line
	if err := d.Decode(&lines); err != nil {
		return script{}, fmt.Errorf("directive %q: %w", head(rest), err)
	}
	if len(lines) == 0 {
		return script{}, fmt.Errorf("directive %q has no step", head(rest))
	}
	s := script{id: fmt.Sprintf("%x", sha256.Sum256(raw))[:12]}
	for _, l := range lines {
		s.steps = append(s.steps, l.step())
	}
	return s, nil
}

func (l line) step() Step {
	s := Step{
		Text: l.Text, Think: l.Think, Status: l.Status, Body: l.Body, RetryAfter: l.RetryAfter,
		Times: l.Times, Delay: time.Duration(l.DelayMS) * time.Millisecond,
	}
	for _, c := range append([]call{l.call}, l.Calls...) {
		if made, ok := c.made(); ok {
			s.Calls = append(s.Calls, made)
		}
	}
	return s
}

func (c call) made() (Call, bool) {
	input := map[string]any{}
	name := c.Tool
	switch {
	case c.Bash != "":
		name = "Bash"
		input["command"] = c.Bash
		input["description"] = or(c.Description, "Run a command")
		if c.Timeout > 0 {
			input["timeout"] = c.Timeout
		}
		if c.Background {
			input["run_in_background"] = true
		}
	case c.Agent != "":
		name = "Agent"
		input["subagent_type"] = c.Agent
		input["description"] = or(c.Description, "One unit of work")
		input["prompt"] = c.Prompt
		input["run_in_background"] = c.Background // when it is left out, Claude Code's versions differ
	case c.Skill != "":
		name = "Skill"
		input["skill"] = c.Skill
		if c.Args != "" {
			input["args"] = c.Args
		}
	}
	for k, v := range c.Input {
		input[k] = v
	}
	return Call{Tool: name, Input: input}, name != ""
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// head is the beginning of a text, for an error message and for a closing word.
func head(s string) string {
	const most = 120
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
