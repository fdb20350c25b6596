package testanthropic

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// A Step answers one request: a message of the model, or a refusal when there is a Status.
type Step struct {
	Text  string // {{result}} in it becomes what the newest tool returned
	Think string
	Calls []Call // in one message, so that they may run side by side

	Status     int    // HTTP status of a refusal: 429, 529, …
	Body       string // its message; "" = one in the words of the API
	RetryAfter int    // seconds; 0 = no such header

	Times int           // serve only this many requests and take no turn: what is retried meets the next step. 0 = no limit
	Delay time.Duration // before anything is sent
}

// A Call is one call of a tool.
type Call struct {
	Tool  string
	Input map[string]any
}

// quoting puts the newest result of a tool into the words.
func (s Step) quoting(r Request) Step {
	if strings.Contains(s.Text, "{{result}}") {
		s.Text = strings.ReplaceAll(s.Text, "{{result}}", r.newest())
	}
	return s
}

func (r Request) newest() string {
	results := r.Results()
	if len(results) == 0 {
		return ""
	}
	return strings.TrimSpace(results[len(results)-1].Text)
}

// closing is what the model says when its script is at an end or when there was none.
func (r Request) closing() Step {
	if r.Turn == 0 {
		return Step{Text: "There is nothing for me to do."}
	}
	return Step{Text: fmt.Sprintf("That is all, after %d turn(s). Last result: %s", r.Turn, head(r.newest()))}
}

// A reply is a step on its way to the client.
type reply struct {
	model  string
	stream bool
	number int // of the request
	call   int // number of the first tool call
	step   Step
}

func serve(w http.ResponseWriter, hr *http.Request, p reply) {
	if p.step.Delay > 0 {
		select {
		case <-hr.Context().Done():
			return
		case <-time.After(p.step.Delay):
		}
	}
	w.Header().Set("Request-Id", fmt.Sprintf("req_%06d", p.number))
	if p.step.Status != 0 {
		refuse(w, p.step)
		return
	}
	content := p.content()
	if !p.stream {
		m := p.message(content, p.stop())
		writeJSON(w, http.StatusOK, m)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
	out := events{w: w, flush: w.(http.Flusher).Flush}
	out.send("message_start", map[string]any{"message": p.message([]any{}, nil)})
	out.send("ping", map[string]any{})
	for i, c := range content {
		out.block(i, c.(map[string]any))
	}
	out.send("message_delta", map[string]any{"delta": map[string]any{"stop_reason": p.stop(), "stop_sequence": nil}, "usage": usage()})
	out.send("message_stop", map[string]any{})
}

func (p reply) stop() string {
	if len(p.step.Calls) > 0 {
		return "tool_use"
	}
	return "end_turn"
}

func (p reply) message(content []any, stop any) map[string]any {
	return map[string]any{
		"id": fmt.Sprintf("msg_%06d", p.number), "type": "message", "role": "assistant", "model": p.model,
		"content": content, "stop_reason": stop, "stop_sequence": nil, "usage": usage(),
	}
}

func (p reply) content() []any {
	content := []any{}
	if p.step.Think != "" {
		content = append(content, map[string]any{"type": "thinking", "thinking": p.step.Think, "signature": "c2NyaXB0ZWQ="})
	}
	if p.step.Text != "" {
		content = append(content, map[string]any{"type": "text", "text": p.step.Text})
	}
	for i, c := range p.step.Calls {
		input := c.Input
		if input == nil {
			input = map[string]any{}
		}
		content = append(content, map[string]any{"type": "tool_use", "id": fmt.Sprintf("toolu_%06d", p.call+i), "name": c.Tool, "input": input})
	}
	return content
}

func usage() map[string]any {
	return map[string]any{"input_tokens": 100, "output_tokens": 20, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
}

// events writes server-sent events.
type events struct {
	w     io.Writer
	flush func()
}

func (e events) send(name string, data map[string]any) {
	data["type"] = name
	b, err := json.Marshal(data)
	if err != nil {
		panic(err) // it came from JSON or from a test's own maps
	}
	fmt.Fprintf(e.w, "event: %s\ndata: %s\n\n", name, b)
	e.flush()
}

// block sends a block as the API does: an empty one, its content in pieces, its end.
func (e events) block(i int, c map[string]any) {
	delta := func(d map[string]any) { e.send("content_block_delta", map[string]any{"index": i, "delta": d}) }
	start := func(b map[string]any) { e.send("content_block_start", map[string]any{"index": i, "content_block": b}) }
	switch c["type"] {
	case "text":
		start(map[string]any{"type": "text", "text": ""})
		for _, piece := range pieces(c["text"].(string), 20) {
			delta(map[string]any{"type": "text_delta", "text": piece})
		}
	case "thinking":
		start(map[string]any{"type": "thinking", "thinking": "", "signature": ""})
		delta(map[string]any{"type": "thinking_delta", "thinking": c["thinking"]})
		delta(map[string]any{"type": "signature_delta", "signature": c["signature"]})
	case "tool_use":
		start(map[string]any{"type": "tool_use", "id": c["id"], "name": c["name"], "input": map[string]any{}})
		input, err := json.Marshal(c["input"])
		if err != nil {
			panic(err) // as in send
		}
		for _, piece := range pieces(string(input), 2) {
			delta(map[string]any{"type": "input_json_delta", "partial_json": piece})
		}
	}
	e.send("content_block_stop", map[string]any{"index": i})
}

// pieces cuts a text into at most n pieces, never within a character.
func pieces(s string, n int) []string {
	runes := []rune(s)
	size := max(8, (len(runes)+n-1)/n)
	var all []string
	for i := 0; i < len(runes); i += size {
		all = append(all, string(runes[i:min(i+size, len(runes))]))
	}
	return all
}

// refuse answers with an error in the API's form.
func refuse(w http.ResponseWriter, s Step) {
	kind, words := refusal(s.Status)
	if s.Body != "" {
		words = s.Body
	}
	if s.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(s.RetryAfter))
	}
	writeJSON(w, s.Status, map[string]any{"type": "error", "error": map[string]any{"type": kind, "message": words}})
}

// refusal is the API's name and wording for a status.
func refusal(status int) (kind, words string) {
	switch status {
	case http.StatusUnauthorized:
		return "authentication_error", "invalid x-api-key"
	case http.StatusForbidden:
		return "permission_error", "Your API key does not have permission to use the specified resource."
	case http.StatusNotFound:
		return "not_found_error", "Not found"
	case http.StatusRequestEntityTooLarge:
		return "request_too_large", "Request exceeds the maximum size"
	case http.StatusTooManyRequests:
		return "rate_limit_error", "This request would exceed your organization's rate limit."
	case 529:
		return "overloaded_error", "Overloaded"
	}
	if status >= 500 {
		return "api_error", "Internal server error"
	}
	return "invalid_request_error", "The request is not valid."
}
