package testmodel

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

const (
	maxBody = 128 << 20
	maxKept = 64 << 10
)

type completion struct {
	Model    string    `json:"model"`
	Stream   bool      `json:"stream"`
	Messages []message `json:"messages"`
	Tools    []struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	} `json:"tools"`
}

type message struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

// text is the message's content: a string, or the concatenation of its text parts.
func (m message) text() string {
	var s string
	if json.Unmarshal(m.Content, &s) == nil {
		return s
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(m.Content, &parts) != nil {
		return ""
	}
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

// A dialogue is what a request says of its session.
type dialogue struct {
	system  string
	users   []string // user messages, oldest first
	turn    int      // the model's own messages after the newest user message
	results []string // tool results after the newest user message
	title   bool
	tools   []string
}

func (c completion) dialogue() dialogue {
	var d dialogue
	for _, m := range c.Messages {
		switch m.Role {
		case "system":
			d.system += m.text()
		case "user":
			d.users = append(d.users, m.text())
			d.turn, d.results = 0, nil
		case "assistant":
			d.turn++
		case "tool":
			d.results = append(d.results, m.text())
		}
	}
	for _, t := range c.Tools {
		d.tools = append(d.tools, t.Function.Name)
	}
	// opencode has no other mark for it: a request without tools whose system prompt or first message speaks of titles.
	all := d.system + strings.Join(d.users, "\n")
	d.title = len(d.tools) == 0 && (strings.Contains(all, "title generator") || strings.Contains(all, "Generate a title"))
	return d
}

func (d dialogue) user() string {
	if len(d.users) == 0 {
		return ""
	}
	return d.users[len(d.users)-1]
}

// choose returns the scenario and which of its answers serves the newest user message.
func (d dialogue) choose(model string) (*Scenario, int, error) {
	for back := 0; back < len(d.users); back++ {
		s, err := directive(d.users[len(d.users)-1-back])
		if err != nil {
			return nil, 0, err
		}
		if s == nil {
			continue
		}
		if back > 0 && len(s.Answers) == 1 {
			break // it covered the message that held it
		}
		return s, min(back, len(s.Answers)-1), nil
	}
	for _, n := range Neutral {
		if model == n {
			return d.believable(), 0, nil
		}
	}
	s, err := named(model, "")
	return s, 0, err
}

func (s *Server) chat(w http.ResponseWriter, hr *http.Request) {
	body, err := io.ReadAll(io.LimitReader(hr.Body, maxBody))
	if err != nil {
		return // the client has gone
	}
	var c completion
	if err := json.Unmarshal(body, &c); err != nil {
		http.Error(w, "testmodel: "+err.Error(), http.StatusBadRequest)
		return
	}
	d := c.dialogue()
	scenario, answer, err := d.choose(c.Model)
	r := Request{
		At: time.Now(), Model: c.Model, Title: d.title, Turn: d.turn, Bytes: len(body),
		Auth: hr.Header.Get("Authorization") != "", Tools: d.tools,
		User: cut(d.user()), UserBytes: len(d.user()), UserSHA256: fmt.Sprintf("%x", sha256.Sum256([]byte(d.user()))),
		System: cut(d.system),
	}
	if err != nil {
		r.Error = err.Error()
		s.record(r)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest) // opencode retries a 5xx for a minute
		json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": "testmodel: " + err.Error(), "type": "bad_directive"}})
		return
	}
	r.Scenario = scenario.Name
	s.record(r)
	if d.title {
		step := Step{Text: "Mock session title"}
		if scenario.Title != nil {
			step = *scenario.Title
		}
		serve(w, hr, c, step, d)
		return
	}
	key := func(index int) string { return fmt.Sprintf("%s/%d/%d", scenario.Name, answer, index) }
	step, index := at(scenario.Answers[answer], d.turn, func(i int) int { return s.used(key(i)) })
	switch {
	case index == len(scenario.Answers[answer]):
		step = d.closing()
	case step.Times > 0:
		s.take(key(index))
	}
	serve(w, hr, c, step, d)
}

// closing is what the model says after its last tool call.
func (d dialogue) closing() Step {
	last := ""
	if len(d.results) > 0 {
		last = d.results[len(d.results)-1]
	}
	if len(last) > 160 {
		last = strings.ToValidUTF8(last[:160], "")
	}
	return Step{Text: fmt.Sprintf("FINAL after %d tool turn(s). Last result: %s", d.turn, last)}
}

func cut(s string) string {
	if len(s) > maxKept {
		return s[:maxKept]
	}
	return s
}
