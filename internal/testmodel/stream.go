package testmodel

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// A stream writes one message of the model as server-sent events.
type stream struct {
	w     io.Writer
	flush func()
	gone  <-chan struct{}
	model string
}

// serve carries out a step.
func serve(w http.ResponseWriter, hr *http.Request, c completion, step Step, d dialogue) {
	gone := hr.Context().Done()
	switch {
	case step.Status != 0:
		for k, v := range step.Headers {
			w.Header().Set(k, v)
		}
		w.WriteHeader(step.Status)
		io.WriteString(w, step.Body)
		return
	case step.Fault == Hang:
		<-gone
		return
	case step.Fault == ResetAtOnce:
		reset(w)
		return
	case !c.Stream:
		writeJSON(w, map[string]any{"id": "chatcmpl-mock", "object": "chat.completion", "created": time.Now().Unix(), "model": c.Model,
			"choices": []any{map[string]any{"index": 0, "message": map[string]any{"role": "assistant", "content": step.Text}, "finish_reason": step.finish()}},
			"usage":   step.usage()})
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
	out := stream{w: w, flush: w.(http.Flusher).Flush, gone: gone, model: c.Model}
	out.flush()
	switch step.Fault {
	case HangHeaders:
		<-gone
		return
	case Garbage:
		out.raw("{\"id\": \"x\", \"choices\": [{\n\ndata: not json at all\n\ndata: [DONE]")
		return
	case StreamBody:
		out.raw(step.Body)
		return
	}
	out.message(step)
	switch step.Fault {
	case Stall:
		<-gone
		return
	case Reset:
		time.Sleep(100 * time.Millisecond) // the reset would overtake the text
		reset(w)
		return
	case EOF:
		return
	case StreamError:
		out.raw(step.Body)
		out.raw("[DONE]")
		return
	}
	out.calls(step, d.turn)
	out.delta(map[string]any{}, step.finish())
	if !step.NoUsage {
		out.send(map[string]any{"id": "chatcmpl-mock", "object": "chat.completion.chunk", "created": time.Now().Unix(), "model": c.Model,
			"choices": []any{}, "usage": step.usage()})
	}
	out.raw("[DONE]")
}

func (o stream) raw(data string) {
	fmt.Fprintf(o.w, "data: %s\n\n", data)
	o.flush()
}

func (o stream) send(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // only strings and numbers go in
	}
	o.raw(string(b))
}

func (o stream) delta(delta map[string]any, finish any) {
	o.send(map[string]any{"id": "chatcmpl-mock", "object": "chat.completion.chunk", "created": time.Now().Unix(), "model": o.model,
		"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}})
}

// message sends the words of a step, in small pieces as a model does, or in large ones when there is much.
func (o stream) message(step Step) {
	o.delta(map[string]any{"role": "assistant", "content": ""}, nil)
	if step.Reasoning != "" {
		o.delta(map[string]any{"reasoning_content": step.Reasoning}, nil)
	}
	text := step.Text
	if step.Digest {
		text += "\n\n" + digestBlock(nil, "The answer is complete and nothing is left open.")
	}
	if step.Delay > 0 {
		for _, word := range strings.Fields(text) {
			o.delta(map[string]any{"content": word + " "}, nil)
			select {
			case <-o.gone:
				return
			case <-time.After(step.Delay):
			}
		}
		return
	}
	runes := []rune(text)
	size := max(12, len(runes)/100)
	for i := 0; i < len(runes); i += size {
		o.delta(map[string]any{"content": string(runes[i:min(i+size, len(runes))])}, nil)
	}
	// opencode copies all it has at every piece, so the pieces of a large text must be few.
	piece := strings.Repeat("x", int(min(step.Size, max(step.Size/50, 16<<10))))
	for left := step.Size; left > 0; left -= int64(len(piece)) {
		o.delta(map[string]any{"content": piece[:min(left, int64(len(piece)))]}, nil)
	}
}

func (o stream) calls(step Step, turn int) {
	for i, c := range step.Calls {
		args := c.Raw
		if args == "" {
			args = c.arguments(step.Vary, turn)
		}
		id := fmt.Sprintf("call_mock_%d_%d", turn, i)
		o.delta(map[string]any{"tool_calls": []any{map[string]any{"index": i, "id": id, "type": "function",
			"function": map[string]any{"name": c.Tool, "arguments": ""}}}}, nil)
		half := len(args) / 2
		for _, part := range []string{args[:half], args[half:]} {
			o.delta(map[string]any{"tool_calls": []any{map[string]any{"index": i, "function": map[string]any{"arguments": part}}}}, nil)
		}
	}
}

func (c Call) arguments(vary bool, turn int) string {
	args := map[string]any{}
	for k, v := range c.Args {
		args[k] = v
	}
	if command, ok := args["command"].(string); ok {
		if vary {
			args["command"] = command + " " + strconv.Itoa(turn)
		}
		if _, ok := args["description"]; !ok && c.Tool == "bash" {
			args["description"] = "run a command" // opencode's bash tool refuses a call without one
		}
	}
	b, err := json.Marshal(args)
	if err != nil {
		panic(err) // it came from JSON or from a table
	}
	return string(b)
}

func (s Step) finish() string {
	switch {
	case s.Finish != "":
		return s.Finish
	case len(s.Calls) > 0:
		return "tool_calls"
	}
	return "stop"
}

func (s Step) usage() map[string]any {
	in, out := 100, 20
	switch {
	case s.Tokens > 0:
		in = s.Tokens
	case s.Tokens < 0:
		in, out = 0, 0
	}
	return map[string]any{"prompt_tokens": in, "completion_tokens": out, "total_tokens": in + out,
		"prompt_tokens_details": map[string]any{"cached_tokens": in / 10}, "completion_tokens_details": map[string]any{"reasoning_tokens": out / 4}}
}

// reset closes the connection with an RST in place of a FIN.
func reset(w http.ResponseWriter) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return // gone already
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	conn.Close()
}
