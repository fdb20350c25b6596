package delegate

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"opencode-delegate/internal/event"
	"opencode-delegate/internal/opencode"
)

func textEvent(s string) event.Event {
	return event.Event{Type: event.TextBlock, Text: event.Text{Head: s, Size: int64(len(s))}}
}

func toolEvent(t event.Tool) event.Event { return event.Event{Type: event.ToolUse, Tool: t} }

func TestProgressOfARun(t *testing.T) {
	since := time.Date(2026, 11, 30, 12, 0, 0, 123456789, time.FixedZone("", 3600))
	var p Progress
	said := []string{}
	learn := func(f opencode.Facts) { p.learn(f); said = append(said, p.Said) }
	take := func(e event.Event) { p.take(e); said = append(said, p.Said) }

	if text, err := json.Marshal(p); err != nil || string(text) != `{"step":0,"tool":"","target":"","text":"","todo":null,"tokens":0,"cost_usd":null,"retry":null,"session":"","model":""}` {
		t.Errorf("of a run that knows nothing: %s, %v", text, err)
	}
	learn(opencode.Facts{Session: "ses_1"})
	learn(opencode.Facts{Session: "ses_1", Model: "mock/worker"})
	limit := opencode.Retry{Reason: "usage\x1b[31m limit", Since: since, ResetAt: since.Add(time.Hour)}
	learn(opencode.Facts{Session: "ses_1", Model: "mock/worker", Retry: limit})
	if text, err := json.Marshal(p.Retry); err != nil || string(text) != `{"reason":"usage limit","since":"2026-11-30T11:00:00.123Z","reset_at":"2026-11-30T12:00:00.123Z"}` {
		t.Errorf("retry %s, %v", text, err)
	}
	limit.ResetAt = time.Time{}
	learn(opencode.Facts{Session: "ses_1", Model: "mock/worker", Retry: limit})
	if text, _ := json.Marshal(p.Retry); strings.Contains(string(text), "reset_at") {
		t.Errorf("retry %s", text)
	}
	learn(opencode.Facts{Session: "ses_1", Model: "mock/worker"})
	if p.Retry != nil {
		t.Errorf("retry %+v", p.Retry)
	}
	take(event.Event{Type: event.StepStart})
	take(toolEvent(event.Tool{Name: "bash", Status: "completed", Target: "go test ./..."}))
	take(toolEvent(event.Tool{Name: "todowrite", Status: "completed", Todo: &event.Todo{Done: 1, Total: 3, Active: "two"}}))
	before := p.Todo
	take(toolEvent(event.Tool{Name: "read", Status: "error", Error: "no such file", Target: "a.txt"}))
	take(event.Event{Type: event.StepFinish, Finish: event.Finish{Tokens: event.Tokens{Input: 90, Output: 15, Reasoning: 5, CacheRead: 10}, Cost: 0.1}})
	cost := p.CostUSD
	take(event.Event{Type: event.StepFinish, Finish: event.Finish{Tokens: event.Tokens{Input: 1}, Cost: 0.2}})
	take(event.Event{Type: event.StepFinish})
	take(textEvent("first\nlast line\n\n"))
	take(textEvent(" \n\u200d\n"))
	if text, err := json.Marshal(p); err != nil || string(text) != `{"step":3,"tool":"read","target":"a.txt","text":"last line","todo":{"done":1,"total":3,"active":"two"},"tokens":121,"cost_usd":0.3,"retry":null,"session":"","model":"mock/worker"}` {
		t.Errorf("%s, %v", text, err)
	}
	take(toolEvent(event.Tool{Name: "todowrite", Todo: &event.Todo{Done: 2, Total: 3}}))
	if *before != (Todo{1, 3, "two"}) || *cost != 0.1 {
		t.Errorf("what was told has changed: %+v, %v", before, *cost)
	}
	take(toolEvent(event.Tool{Name: "todowrite", Todo: &event.Todo{}}))
	if p.Todo != nil {
		t.Errorf("an empty list is %+v", p.Todo)
	}
	want := []string{"", "session ses_1, model mock/worker", "waits: usage limit", "", "", "the model answers", "bash go test ./...", "todowrite", "failed: read: no such file",
		"", "", "", "says: first last line", "says: \u200d", "todowrite", "todowrite"}
	if !reflect.DeepEqual(said, want) {
		t.Errorf("said %q\nwant %q", said, want)
	}
}

func TestProgressIsBoundedAndClean(t *testing.T) {
	nasty := "\x1b]0;t\a" + strings.Repeat("日\u202e\u009b1m\r", 1<<16)
	var p Progress
	p.learn(opencode.Facts{Model: nasty, Retry: opencode.Retry{Reason: nasty, Since: time.Unix(1, 0)}})
	for range 3 {
		p.take(event.Event{Type: event.StepFinish, Finish: event.Finish{Tokens: event.Tokens{Input: 1 << 62}}})
	}
	p.take(toolEvent(event.Tool{Name: nasty, Target: nasty, Todo: &event.Todo{Total: 1, Active: nasty}}))
	p.take(textEvent("x" + strings.ReplaceAll(nasty, "\r", "")))
	if p.Tokens != 1<<63-1 {
		t.Errorf("%d tokens", p.Tokens)
	}
	for _, c := range []struct {
		s     string
		limit int
	}{{p.Tool, 40}, {p.Target, 80}, {p.Text, 160}, {p.Todo.Active, 80}, {p.Retry.Reason, 300}, {p.Model, 160}, {p.Acted(), 80}} {
		if n := utf8.RuneCountInString(c.s); n > c.limit || n < c.limit-1 || strings.ContainsAny(c.s, "\x1b\n\r\u202e\u009b") {
			t.Errorf("%d code points of %d: %.100q", n, c.limit, c.s)
		}
	}
}

func TestLastLine(t *testing.T) {
	for in, want := range map[string]string{
		"": "", " \n\t": "", "a": "a", "a\nb": "b", "a\nb\n \n\u200d\n": "b", "a\r50%\r100%\r\n": "100%", "\n a  b ": "a b", "a\n\x1b[0m\n": "a", "\u200d": "",
		"a\n" + strings.Repeat("x", 200): strings.Repeat("x", 159) + "…",
	} {
		if got := lastLine(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	long := "seen" + strings.Repeat("\n\u200d", 1<<16)
	start := time.Now()
	if got := lastLine(long); got != "seen" || time.Since(start) > 5*time.Second {
		t.Errorf("%q after %s", got, time.Since(start))
	}
}
