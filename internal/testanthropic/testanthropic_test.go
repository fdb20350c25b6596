package testanthropic

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestAnswers: both forms of an answer say the same, and the stream is in the API's order.
func TestAnswers(t *testing.T) {
	const long = "Grüße, 世界: a text that is longer than one piece of the stream, and whose characters have one to four bytes: 🙂."
	for prompt, want := range map[string]said{
		`[[claude:{"text":"` + long + `"}]]`:                                            {text: long, stop: "end_turn"},
		`[[claude:{"think":"Hm.","text":"Ah."}]]`:                                       {think: "Hm.", text: "Ah.", stop: "end_turn"},
		`[[claude:{"bash":"ls"}]]`:                                                      {calls: []string{`Bash {"command":"ls","description":"Run a command"}`}, stop: "tool_use"},
		`[[claude:{"bash":"ls","description":"List","timeout":5,"background":true}]]`:   {calls: []string{`Bash {"command":"ls","description":"List","run_in_background":true,"timeout":5}`}, stop: "tool_use"},
		`[[claude:{"agent":"a:b","prompt":"Go"}]]`:                                      {calls: []string{`Agent {"description":"One unit of work","prompt":"Go","run_in_background":false,"subagent_type":"a:b"}`}, stop: "tool_use"},
		`[[claude:{"skill":"a:b","args":"c"}]]`:                                         {calls: []string{`Skill {"args":"c","skill":"a:b"}`}, stop: "tool_use"},
		`[[claude:{"tool":"Read","input":{"file_path":"x"},"text":"Reading."}]]`:        {text: "Reading.", calls: []string{`Read {"file_path":"x"}`}, stop: "tool_use"},
		`[[claude:{"calls":[{"tool":"A"},{"tool":"B","input":{"x":[1,{"y":"]]"}]}}]}]]`: {calls: []string{`A {}`, `B {"x":[1,{"y":"]]"}]}`}, stop: "tool_use"},
		"no directive": {text: "There is nothing for me to do.", stop: "end_turn"},
	} {
		s := start(t)
		for _, stream := range []bool{true, false} {
			got := ask(t, s, "", stream, user(prompt))
			if got.status != http.StatusOK || got.text != want.text || got.think != want.think || got.stop != want.stop || !reflect.DeepEqual(got.calls, want.calls) {
				t.Errorf("%s (stream %v):\ngot  %+v\nwant %+v", prompt, stream, got, want)
			}
			if isStream := got.header.Get("Content-Type") == "text/event-stream"; isStream != stream {
				t.Errorf("%s: asked for a stream: %v, got one: %v", prompt, stream, isStream)
			}
			if !stream {
				continue
			}
			events := strings.Join(got.events, " ")
			if !strings.HasPrefix(events, "message_start ping content_block_start content_block_delta content_block_stop") || !strings.HasSuffix(events, "content_block_stop message_delta message_stop") {
				t.Errorf("%s: the stream is %s", prompt, events)
			}
		}
	}
}

func TestIDsDiffer(t *testing.T) {
	s := start(t)
	var ids []string
	for range 2 {
		ids = append(ids, ask(t, s, "", true, user(`[[claude:{"calls":[{"bash":"a"},{"bash":"b"}]}]]`)).ids...)
	}
	if want := []string{"toolu_000001", "toolu_000002", "toolu_000003", "toolu_000004"}; !reflect.DeepEqual(ids, want) {
		t.Errorf("ids %v, want %v", ids, want)
	}
}

// TestTurns: a conversation follows its script, quotes results, and comes to an end.
func TestTurns(t *testing.T) {
	s := start(t)
	talk := []msg{user(`Please [[claude:[{"bash":"one"},{"text":"Then","bash":"two"},{"text":"Got: {{result}}"}]]]`)}
	for i, want := range []string{`Bash one`, `Bash two`, "Got: second", "That is all, after 3 turn(s). Last result: second"} {
		got := ask(t, s, "", true, talk...)
		text := got.text
		if len(got.calls) > 0 {
			text = "Bash " + map[bool]string{true: "one", false: "two"}[strings.Contains(got.calls[0], `"one"`)]
		}
		if text != want {
			t.Errorf("turn %d: %q, want %q", i, text, want)
		}
		if last := s.Requests()[i]; last.Turn != i || last.Kind != Main || last.Session != "session" {
			t.Errorf("turn %d was taken for %d of %s %q", i, last.Turn, last.Kind, last.Session)
		}
		talk = append(talk, model(), result([]string{"first", "second", "second", ""}[i]))
	}
}

// TestNewestDirective: the newest of the user's words count; of two in one text the first, since the second may be the prompt of a subagent; what a tool returned never.
func TestNewestDirective(t *testing.T) {
	s := start(t)
	inner := `[[claude:{\"text\":\"inner\"}]]`
	for _, c := range []struct {
		want string
		talk []msg
	}{
		{"new", []msg{user(`[[claude:{"text":"old"}]]`), model(), user(`[[claude:{"text":"new"}]]`)}},
		{"Agent", []msg{user(`[[claude:{"agent":"a","prompt":"` + inner + `"}]]`)}},
		{"first", []msg{user(`[[claude:{"text":"first"}]] and [[claude:{"text":"second"}]]`)}},
		{"last block", []msg{{"role": "user", "content": []msg{{"type": "text", "text": `[[claude:{"text":"first block"}]]`}, {"type": "text", "text": `[[claude:{"text":"last block"}]]`}}}}},
		{"That is all, after 1 turn(s). Last result: " + `[[claude:{"text":"a tool's"}]]`, []msg{user(`[[claude:{"bash":"x"}]]`), model(), result(`[[claude:{"text":"a tool's"}]]`)}},
		{"mine", []msg{user(`[[claude:{"text":"mine"}]]`), {"role": "system", "content": `[[claude:{"text":"the system's"}]]`}}},
	} {
		got := ask(t, s, "", true, c.talk...)
		if text := got.text; text != c.want && !(len(got.calls) == 1 && strings.HasPrefix(got.calls[0], c.want)) {
			t.Errorf("%q %v, want %q", text, got.calls, c.want)
		}
	}
}

func TestBadDirectives(t *testing.T) {
	s := start(t)
	for prompt, want := range map[string]string{
		`[[claude:{"text":}]]`:        "invalid character",
		`[[claude:{"text":"x"}`:       "no ]]",
		`[[claude:{"txet":"x"}]]`:     "txet",
		`[[claude:[]]]`:               "no step",
		`[[claude:{"text":"x"} ]]`:    "no ]]",
		`[[claude:{"status":"429"}]]`: "status",
	} {
		got := ask(t, s, "", true, user(prompt))
		if got.status != http.StatusBadRequest || !strings.Contains(got.fault, want) {
			t.Errorf("%s: %d %q, want 400 and %q", prompt, got.status, got.fault, want)
		}
		if all := s.Requests(); !strings.Contains(all[len(all)-1].Error, want) || all[len(all)-1].Answer != "error" {
			t.Errorf("%s: recorded %+v", prompt, all[len(all)-1].Error)
		}
	}
}

// TestRefusals: what is limited is served so often, takes no turn, and is counted for each conversation apart.
func TestRefusals(t *testing.T) {
	s := start(t)
	talk := user(`[[claude:[{"status":429,"retry_after":7,"times":2},{"status":529,"body":"Too much","times":1},{"text":"At last"}]]]`)
	for _, agent := range []string{"", "agent"} {
		for i, want := range []string{"rate_limit_error: This", "rate_limit_error: This", "overloaded_error: Too much", "", ""} {
			got := ask(t, s, agent, true, talk)
			if !strings.HasPrefix(got.fault, want) || want == "" && got.text != "At last" {
				t.Errorf("request %d of %q: %d %q %q, want %q", i, agent, got.status, got.fault, got.text, want)
			}
			if retry := got.header.Get("Retry-After"); (retry == "7") != (got.status == 429) {
				t.Errorf("request %d: Retry-After %q with %d", i, retry, got.status)
			}
		}
	}
	for status, want := range map[int]string{400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error", 413: "request_too_large", 429: "rate_limit_error", 500: "api_error", 529: "overloaded_error"} {
		if kind, words := refusal(status); kind != want || words == "" {
			t.Errorf("refusal(%d) = %q, %q; want %q", status, kind, words, want)
		}
	}
}

func TestRules(t *testing.T) {
	s := start(t,
		Rule{Name: "once", Times: 1, Match: func(r Request) bool { return r.Kind == Subagent }, Step: Step{Status: 500}},
		Rule{Name: "tool", Match: func(r Request) bool { return len(r.Results()) > 0 }, Step: Step{Text: "By rule: {{result}}"}})
	if got := ask(t, s, "", true, user(`[[claude:{"text":"by directive"}]]`)); got.text != "by directive" {
		t.Errorf("no rule holds: %+v", got)
	}
	if got := ask(t, s, "a", true, user(`[[claude:{"text":"by directive"}]]`)); got.fault != "api_error: Internal server error" {
		t.Errorf("the first rule: %+v", got)
	}
	if got := ask(t, s, "a", true, user(`[[claude:{"text":"by directive"}]]`)); got.text != "by directive" {
		t.Errorf("the first rule held twice: %+v", got)
	}
	if got := ask(t, s, "", true, user("x"), model(), result("42")); got.text != "By rule: 42" {
		t.Errorf("the second rule: %+v", got)
	}
	s.Rules(Rule{Name: "all", Match: func(Request) bool { return true }, Step: Step{Text: "New"}})
	if got := ask(t, s, "", true, user("x"), model(), result("42")); got.text != "New" {
		t.Errorf("the new rule: %+v", got)
	}
	var answers []string
	for _, r := range s.Requests() {
		answers = append(answers, r.Answer)
	}
	if got, want := strings.Join(answers, ", "), "directive 1, once, directive 1, tool, all"; got != want {
		t.Errorf("answers %s, want %s", got, want)
	}
}

// TestHelpers: a question of Claude Code's own repeats the prompt, and must not use up what is meant for the conversation.
func TestHelpers(t *testing.T) {
	s := start(t)
	prompt := user(`[[claude:[{"status":429,"times":1},{"text":"x"}]]]`)
	if got := post(t, s, "", msg{"model": "m", "messages": []msg{prompt}}); got.text != `{"title": "Scripted session"}` {
		t.Errorf("the title is %+v", got)
	}
	if got := ask(t, s, "", true, prompt); got.status != 429 {
		t.Errorf("the conversation got %+v", got)
	}
	if all := s.Requests(); all[0].Kind != Helper || all[0].Stream || all[1].Kind != Main || !all[1].Stream {
		t.Errorf("kinds %s and %s", all[0].Kind, all[1].Kind)
	}
}

func TestRequests(t *testing.T) {
	s := start(t)
	body := func(system string, more ...msg) msg {
		return msg{
			"model": "m", "max_tokens": 7, "system": []msg{{"type": "text", "text": system}, {"type": "text", "text": "Ende"}},
			"messages": append([]msg{user("Grüße"), {"role": "assistant", "content": []msg{{"type": "tool_use", "id": "t", "name": "Bash", "input": msg{"command": "ls"}}}},
				{"role": "user", "content": []msg{{"type": "tool_result", "tool_use_id": "t", "is_error": true, "content": "broken"}, {"type": "text", "text": "Note"}}}}, more...),
			"tools": []msg{{"name": "Bash", "description": "Runs", "input_schema": msg{"a": 1}}},
		}
	}
	post(t, s, "", body("Be kind.\nBe brief."))
	post(t, s, "", body("Be kind.\nBe loud.\nBe kind.", msg{"role": "system", "content": "- a: new"}))
	all := s.Requests()
	r := all[0]
	if r.System != "Be kind.\nBe brief.\nEnde" || r.MaxTokens != 7 || r.Said("user") != "Grüße\nNote" || !r.Offers("Bash") || r.Offers("Agent") || !json.Valid(r.Raw) {
		t.Errorf("recorded %+v", r)
	}
	if got := r.Results(); len(got) != 1 || got[0].Text != "broken" || !got[0].Error || got[0].ID != "t" {
		t.Errorf("results %+v", got)
	}
	if got, want := r.Characters(), len("Be kind. Be brief. Ende ")+len("Grusse")-1+len(` Bash {"command":"ls"} broken Note `)+len(`Bash Runs {"a":1} `)+len(" "); got != want {
		t.Errorf("%d characters, want %d", got, want)
	}
	if got, want := all[1].Added(r), []string{"Be loud.", "Be kind.", "- a: new"}; !reflect.DeepEqual(got, want) {
		t.Errorf("added %q, want %q", got, want)
	}
	if got := r.Added(r); got != nil {
		t.Errorf("a request differs from itself in %q", got)
	}
}

func TestOthers(t *testing.T) {
	s := start(t)
	client := http.Client{Timeout: 10 * time.Second}
	defer client.CloseIdleConnections()
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"HEAD", "/", "", 200, ""},
		{"POST", "/v1/messages/count_tokens", strings.Repeat("x", 400), 200, `{"input_tokens":100}`},
		{"GET", "/api/unknown", "", 404, "not_found_error"},
		{"POST", "/v1/messages", "{", 400, "invalid_request_error"},
	} {
		req, err := http.NewRequest(c.method, s.URL+c.path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != c.status || !strings.Contains(string(text), c.want) {
			t.Errorf("%s %s: %d %q %v", c.method, c.path, resp.StatusCode, text, err)
		}
	}
	base, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	through := http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{Proxy: http.ProxyURL(base)}}
	if _, err := through.Get("https://example.org/x"); err == nil || !strings.Contains(err.Error(), "Forbidden") {
		t.Errorf("as a proxy it says %v", err)
	}
	if got, want := strings.Join(s.Others(), ", "), "HEAD /, POST /v1/messages/count_tokens, GET /api/unknown, CONNECT example.org:443"; got != want {
		t.Errorf("others %s, want %s", got, want)
	}
	if n := len(s.Requests()); n != 0 {
		t.Errorf("%d requests for a message", n)
	}
}

func TestWait(t *testing.T) {
	s := start(t)
	ask(t, s, "", true, user("first"))
	late := func(r Request) bool { return r.Said("user") != "" }
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if _, err := s.Wait(ctx, 1, late); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a request before the index: %v", err)
	}
	go func() {
		time.Sleep(50 * time.Millisecond)
		http.Post(s.URL+"/v1/messages", "application/json", strings.NewReader(`{"messages":[{"role":"user","content":"second"}]}`)) // the test sees when it fails
	}()
	ctx, cancel = context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if r, err := s.Wait(ctx, 1, late); err != nil || r.Said("user") != "second" {
		t.Errorf("%q, %v", r.Said("user"), err)
	}
}

// TestDelay: a client that goes away is not waited for, and so is none at Close.
func TestDelay(t *testing.T) {
	s := start(t)
	started := time.Now()
	if got := ask(t, s, "", true, user(`[[claude:{"text":"late","delay_ms":150}]]`)); got.text != "late" || time.Since(started) < 150*time.Millisecond {
		t.Errorf("%q after %v", got.text, time.Since(started))
	}
	client := http.Client{Timeout: 100 * time.Millisecond}
	if _, err := client.Post(s.URL+"/v1/messages", "application/json", strings.NewReader(`{"tools":[{"name":"x"}],"messages":[{"role":"user","content":"[[claude:{\"delay_ms\":600000}]]"}]}`)); err == nil {
		t.Error("an answer came at once")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil { // waits for whoever is being answered
		t.Errorf("an answer to nobody goes on: %v", err)
	}
}

func TestOnlyLoopback(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:0", "192.0.2.1:0", "nonsense"} {
		if s, err := Start(Options{Addr: addr}); err == nil {
			s.Close()
			t.Errorf("it listens on %s", addr)
		}
	}
}

// TestBounded: a client that asks on and on is refused.
func TestBounded(t *testing.T) {
	s := start(t)
	s.requests, s.others = make([]Request, maxRequests), make([]string, maxRequests)
	if got := ask(t, s, "", true, user("x")); got.status != http.StatusBadRequest || len(s.Requests()) != maxRequests {
		t.Errorf("request %d: %d %q", maxRequests+1, got.status, got.fault)
	}
	resp, err := http.Head(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if n := len(s.Others()); n != maxRequests {
		t.Errorf("%d other requests are kept", n)
	}
}
