package testmodel

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

const opening = "[[mock:"

// A line is one element of a directive in JSON.
type line struct {
	Tool string         `json:"tool"` // one call; `calls` for several in one message
	Args map[string]any `json:"args"`
	Raw  string         `json:"raw"`

	Calls     []line            `json:"calls"`
	Text      string            `json:"text"`
	Reasoning string            `json:"reasoning"`
	Size      int64             `json:"size"`
	Digest    bool              `json:"digest"`
	Finish    string            `json:"finish"`
	Status    int               `json:"status"`
	Body      string            `json:"body"`
	Headers   map[string]string `json:"headers"`
	Fault     Fault             `json:"fault"`
	Times     int               `json:"times"`
	Repeat    int               `json:"repeat"`
	DelayMS   int64             `json:"delay_ms"`
	Tokens    int               `json:"tokens"`
	NoUsage   bool              `json:"no_usage"`

	Do   string `json:"do"`   // the steps of a named scenario
	User bool   `json:"user"` // what follows answers the next user message
}

// directive returns the scenario that text asks for, or nil when it holds no directive. An error is a directive that
// means nothing; it is reported to whoever wrote it rather than answered with something plausible.
//
//	[[mock:NAME]]                 a scenario
//	[[mock:NAME ARG]]             {{ARG}} in its steps becomes ARG; for big-text the number of bytes
//	[[mock:{"tool":…,"args":…}]]  one step
//	[[mock:[{…},{…},…]]]          steps in order
//
// The last directive of a text counts. JSON may hold brackets of any kind.
func directive(text string) (*Scenario, error) {
	at := strings.LastIndex(text, opening)
	// A directive can be nested in an argument of another (the prompt of a subagent): the outer one counts.
	for at >= 0 {
		before := strings.LastIndex(text[:at], opening)
		if before < 0 || !encloses(text[before:], at-before) {
			break
		}
		at = before
	}
	if at < 0 {
		return nil, nil
	}
	rest := text[at+len(opening):]
	if strings.HasPrefix(rest, "{") || strings.HasPrefix(rest, "[") {
		raw, _, err := value(rest)
		if err != nil {
			return nil, err
		}
		return parseLines(raw)
	}
	name, _, ok := strings.Cut(rest, "]]")
	if !ok {
		return nil, fmt.Errorf("directive %q has no end", head(rest))
	}
	name, arg, _ := strings.Cut(strings.TrimSpace(name), " ")
	return named(name, arg)
}

// encloses reports whether the directive at the start of text is JSON that reaches beyond the offset.
func encloses(text string, offset int) bool {
	rest := text[len(opening):]
	if !strings.HasPrefix(rest, "{") && !strings.HasPrefix(rest, "[") {
		return false
	}
	_, n, err := value(rest)
	return err == nil && len(opening)+n > offset
}

// value returns the JSON value that rest begins with and that "]]" must follow, and its length.
func value(rest string) (json.RawMessage, int, error) {
	d := json.NewDecoder(strings.NewReader(rest))
	var raw json.RawMessage
	if err := d.Decode(&raw); err != nil {
		return nil, 0, fmt.Errorf("directive %q: %w", head(rest), err)
	}
	n := int(d.InputOffset())
	if !strings.HasPrefix(strings.TrimSpace(rest[n:]), "]]") {
		return nil, 0, fmt.Errorf("directive %q: no ]] after the JSON", head(rest))
	}
	return raw, n, nil
}

func parseLines(raw json.RawMessage) (*Scenario, error) {
	if raw[0] == '{' {
		raw = append(append([]byte("["), raw...), ']')
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	var lines []line
	if err := d.Decode(&lines); err != nil {
		return nil, fmt.Errorf("directive %q: %w", head(string(raw)), err)
	}
	// The name keeps apart what each directive has counted.
	s := &Scenario{Name: fmt.Sprintf("adhoc-%x", sha256.Sum256(raw))[:14], Answers: [][]Step{nil}}
	for _, l := range lines {
		last := len(s.Answers) - 1
		switch {
		case l.User:
			s.Answers = append(s.Answers, nil)
		case l.Do != "":
			other, err := named(l.Do, "")
			if err != nil {
				return nil, err
			}
			s.Answers[last] = append(s.Answers[last], other.Answers[0]...)
		default:
			s.Answers[last] = append(s.Answers[last], l.step())
		}
	}
	for i, steps := range s.Answers {
		if len(steps) == 0 {
			return nil, fmt.Errorf("directive %q: answer %d has no step", head(string(raw)), i+1)
		}
	}
	return s, nil
}

func (l line) step() Step {
	s := Step{
		Status: l.Status, Body: l.Body, Headers: l.Headers, Fault: l.Fault,
		Reasoning: l.Reasoning, Text: l.Text, Size: l.Size, Digest: l.Digest, Finish: l.Finish,
		Times: l.Times, Repeat: l.Repeat, Delay: time.Duration(l.DelayMS) * time.Millisecond,
		Tokens: l.Tokens, NoUsage: l.NoUsage,
	}
	if l.Tool != "" {
		s.Calls = append(s.Calls, Call{Tool: l.Tool, Args: l.Args, Raw: l.Raw})
	}
	for _, c := range l.Calls {
		s.Calls = append(s.Calls, Call{Tool: c.Tool, Args: c.Args, Raw: c.Raw})
	}
	return s
}

func named(name, arg string) (*Scenario, error) {
	for _, s := range Scenarios() {
		if s.Name != name {
			continue
		}
		if arg == "" {
			return &s, nil
		}
		if name == "big-text" {
			n, err := strconv.ParseInt(arg, 10, 64)
			if err != nil || n < 1 {
				return nil, fmt.Errorf("big-text %q: not a number of bytes", arg)
			}
			s.Answers[0][0].Size = n
			return &s, nil
		}
		s.substitute(arg)
		return &s, nil
	}
	return nil, fmt.Errorf("no scenario is named %q", name)
}

func (s *Scenario) substitute(arg string) {
	for _, steps := range s.Answers {
		for i := range steps {
			steps[i].Text = strings.ReplaceAll(steps[i].Text, "{{ARG}}", arg)
			for _, c := range steps[i].Calls {
				for k, v := range c.Args {
					if text, ok := v.(string); ok {
						c.Args[k] = strings.ReplaceAll(text, "{{ARG}}", arg)
					}
				}
			}
		}
	}
}

// head is the beginning of a text, for an error message.
func head(s string) string {
	if len(s) > 60 {
		return s[:60] + "…"
	}
	return s
}
