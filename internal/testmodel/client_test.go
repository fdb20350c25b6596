package testmodel

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// A turn is what the client of a test got for one request.
type turn struct {
	status int
	text   string
	calls  []string // "tool arguments"
	finish string
	usage  bool
	done   bool
	err    error
}

type msg map[string]any

func user(text string) msg { return msg{"role": "user", "content": text} }

func ask(t *testing.T, s *Server, model string, tools []string, messages ...msg) turn {
	t.Helper()
	var offered []any
	for _, name := range tools {
		offered = append(offered, msg{"type": "function", "function": msg{"name": name}})
	}
	body, err := json.Marshal(msg{"model": model, "stream": true, "messages": messages, "tools": offered})
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Timeout: 10 * time.Second}
	defer client.CloseIdleConnections()
	resp, err := client.Post(s.URL+"/chat/completions", "application/json", bytes.NewReader(body))
	if err != nil {
		return turn{err: err}
	}
	defer resp.Body.Close()
	got := turn{status: resp.StatusCode}
	if resp.Header.Get("Content-Type") != "text/event-stream" {
		all, err := io.ReadAll(resp.Body)
		got.text, got.err = string(all), err
		return got
	}
	lines := bufio.NewReader(resp.Body)
	args := map[int]*strings.Builder{}
	names := map[int]string{}
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			if !errors.Is(err, io.EOF) {
				got.err = err
			}
			break
		}
		data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: ")
		if !ok {
			continue
		}
		if data == "[DONE]" {
			got.done = true
			continue
		}
		var chunk struct {
			Choices []struct {
				Delta struct {
					Content   string `json:"content"`
					ToolCalls []struct {
						Index    int `json:"index"`
						Function struct{ Name, Arguments string }
					} `json:"tool_calls"`
				}
				FinishReason string `json:"finish_reason"`
			}
			Usage *struct{}
		}
		if err := json.Unmarshal([]byte(data), &chunk); err != nil {
			got.err = err
			continue
		}
		got.usage = got.usage || chunk.Usage != nil
		for _, c := range chunk.Choices {
			got.text += c.Delta.Content
			if c.FinishReason != "" {
				got.finish = c.FinishReason
			}
			for _, tc := range c.Delta.ToolCalls {
				if args[tc.Index] == nil {
					args[tc.Index] = &strings.Builder{}
				}
				names[tc.Index] += tc.Function.Name
				args[tc.Index].WriteString(tc.Function.Arguments)
			}
		}
	}
	for i := range len(names) {
		got.calls = append(got.calls, names[i]+" "+args[i].String())
	}
	return got
}

func start(t *testing.T, o Options) *Server {
	t.Helper()
	s, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// play asks again and again, as opencode does, until the model has its last word.
func play(t *testing.T, s *Server, model, prompt string, tools []string, results ...string) []turn {
	t.Helper()
	messages := []msg{user(prompt)}
	var turns []turn
	for range 50 {
		got := ask(t, s, model, tools, messages...)
		turns = append(turns, got)
		if len(got.calls) == 0 {
			return turns
		}
		result := "ok"
		if n := len(turns); n <= len(results) {
			result = results[n-1]
		}
		messages = append(messages, msg{"role": "assistant", "content": ""}, msg{"role": "tool", "content": result})
	}
	t.Fatalf("%q never came to an end", prompt)
	return nil
}
