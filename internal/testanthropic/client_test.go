package testanthropic

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

func start(t *testing.T, rules ...Rule) *Server {
	t.Helper()
	s, err := Start(Options{Rules: rules})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

type msg map[string]any

func user(text string) msg { return msg{"role": "user", "content": text} }

func result(text string) msg {
	return msg{"role": "user", "content": []msg{{"type": "tool_result", "tool_use_id": "toolu_000001", "content": []msg{{"type": "text", "text": text}}}}}
}

func model() msg {
	return msg{"role": "assistant", "content": []msg{{"type": "tool_use", "id": "toolu_000001", "name": "Bash", "input": msg{}}}}
}

// A said is what a client makes of one answer.
type said struct {
	status int
	header http.Header
	text   string
	think  string
	calls  []string // "tool {input}"
	ids    []string
	stop   string
	events []string
	fault  string // type and message of an error
}

func ask(t *testing.T, s *Server, agent string, stream bool, messages ...msg) said {
	t.Helper()
	body := msg{"model": "claude-x", "max_tokens": 100, "stream": stream, "messages": messages, "tools": []msg{{"name": "Bash", "input_schema": msg{}}}}
	return post(t, s, agent, body)
}

func post(t *testing.T, s *Server, agent string, body msg) said {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequest(http.MethodPost, s.URL+"/v1/messages?beta=true", bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Claude-Code-Session-Id", "session")
	req.Header.Set("X-Claude-Code-Agent-Id", agent)
	client := http.Client{Timeout: 10 * time.Second}
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got := said{status: resp.StatusCode, header: resp.Header}
	if resp.Header.Get("Content-Type") != "text/event-stream" {
		got.whole(t, resp.Body)
		return got
	}
	got.stream(t, resp.Body)
	return got
}

func (s *said) whole(t *testing.T, body io.Reader) {
	t.Helper()
	var m struct {
		Content []struct {
			Type, Text, Thinking, ID, Name string
			Input                          json.RawMessage
		}
		StopReason string `json:"stop_reason"`
		Error      struct{ Type, Message string }
	}
	if err := json.NewDecoder(body).Decode(&m); err != nil {
		t.Fatal(err)
	}
	s.stop = m.StopReason
	if m.Error.Type != "" {
		s.fault = m.Error.Type + ": " + m.Error.Message
	}
	for _, b := range m.Content {
		s.text += b.Text
		s.think += b.Thinking
		if b.Type == "tool_use" {
			s.calls, s.ids = append(s.calls, b.Name+" "+string(b.Input)), append(s.ids, b.ID)
		}
	}
}

func (s *said) stream(t *testing.T, body io.Reader) {
	t.Helper()
	lines := bufio.NewReader(body)
	for {
		line, err := lines.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		var e struct {
			Type         string
			Index        int
			ContentBlock struct{ Type, ID, Name string } `json:"content_block"`
			Delta        struct {
				Text, Thinking string
				PartialJSON    string `json:"partial_json"`
				StopReason     string `json:"stop_reason"`
			}
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Fatalf("%q: %v", data, err)
		}
		if n := len(s.events); n == 0 || s.events[n-1] != e.Type {
			s.events = append(s.events, e.Type)
		}
		if e.ContentBlock.Type == "tool_use" {
			s.calls, s.ids = append(s.calls, e.ContentBlock.Name+" "), append(s.ids, e.ContentBlock.ID)
		}
		if e.Delta.PartialJSON != "" {
			s.calls[len(s.calls)-1] += e.Delta.PartialJSON
		}
		s.text += e.Delta.Text
		s.think += e.Delta.Thinking
		if e.Delta.StopReason != "" {
			s.stop = e.Delta.StopReason
		}
	}
}
