// Package testanthropic is an Anthropic model that does what it is told: a server on loopback that speaks the Messages API and answers every
// request from a script. With it the real Claude Code runs whole, headless and in a terminal, without a network, an account or a cost.
//
// What it answers is chosen by the first [Rule] that matches, else by the newest directive in the user's words:
//
//	[[claude:{"text":"Hello"}]]                                     words
//	[[claude:{"bash":"ls -l","timeout":5000}]]                      one call of the Bash tool, then a closing sentence that quotes its result
//	[[claude:[{"bash":"oc-job list"},{"text":"Got: {{result}}"}]]]  several turns in order
//	[[claude:{"agent":"opencode:opencode-delegate","prompt":"…"}]]  a subagent in the foreground; its prompt may hold a directive of its own
//	[[claude:{"skill":"opencode:opencode"}]]
//	[[claude:{"tool":"Read","input":{"file_path":"a.txt"}}]]        any tool
//	[[claude:[{"status":429,"times":1},{"text":"At last"}]]]        a refusal, once
//
// The turn is the number of the model's own messages after the one with the directive, so that apart from steps with a limit of Times the server
// keeps no state, and after the last step there are only words: a conversation always comes to an end. [Request] tells which conversation a request
// belongs to and holds all of it, so that a test can measure what a plugin puts into the model's context.
package testanthropic

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

const (
	maxBody     = 64 << 20
	maxRequests = 1000 // more than any test needs: a client that asks on and on is refused, and nothing grows without end
)

// Options are what a server may be given. The zero value is right for most tests.
type Options struct {
	Addr  string // loopback address; "" = 127.0.0.1 and a free port
	Rules []Rule
}

// A Server listens until Close.
type Server struct {
	// URL is for ANTHROPIC_BASE_URL: http://127.0.0.1:PORT.
	URL string

	http http.Server

	mu       sync.Mutex
	rules    []Rule
	requests []Request
	others   []string
	served   map[string]int // how often a limited step or rule was served
	calls    int            // tool calls so far, for their ids
}

// A Rule answers requests whatever their words are.
type Rule struct {
	Name  string // appears in [Request].Answer; a limit of Times counts by it
	Match func(Request) bool
	Step  Step
	Times int // how often the rule holds; 0 = no limit
}

// Start listens and serves.
func Start(o Options) (*Server, error) {
	if o.Addr == "" {
		o.Addr = "127.0.0.1:0"
	}
	host, _, err := net.SplitHostPort(o.Addr)
	if err != nil {
		return nil, fmt.Errorf("testanthropic: address %q: %w", o.Addr, err)
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return nil, fmt.Errorf("testanthropic: address %q is not a loopback address", o.Addr)
	}
	listener, err := net.Listen("tcp", o.Addr)
	if err != nil {
		return nil, fmt.Errorf("testanthropic: %w", err)
	}
	s := &Server{URL: "http://" + listener.Addr().String(), rules: slices.Clone(o.Rules), served: map[string]int{}}
	s.http.Handler = http.HandlerFunc(s.route)
	go s.http.Serve(listener) // ends with ErrServerClosed at Close
	return s, nil
}

// Close stops listening and breaks every connection.
func (s *Server) Close() error { return s.http.Close() }

// Rules replaces the rules.
func (s *Server) Rules(rules ...Rule) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = slices.Clone(rules)
}

// Requests returns what was asked so far, in the order of arrival.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Others returns the requests that were for no message, such as "HEAD /". A server that is the client's HTTPS_PROXY as well finds here each
// host that the client wanted to reach: "CONNECT example.org:443". It lets none through.
func (s *Server) Others() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.others)
}

// Wait returns the first request from the index on that matches, as soon as it is there. Its error says what came instead.
func (s *Server) Wait(ctx context.Context, from int, match func(Request) bool) (Request, error) {
	for {
		all := s.Requests()
		for _, r := range all[min(from, len(all)):] {
			if match(r) {
				return r, nil
			}
		}
		select {
		case <-ctx.Done():
			return Request{}, fmt.Errorf("testanthropic: no such request among %d after number %d: %w", len(all), from, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (s *Server) route(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost && r.URL.Path == "/v1/messages" {
		s.messages(w, r)
		return
	}
	s.mu.Lock()
	if len(s.others) < maxRequests {
		s.others = append(s.others, r.Method+" "+target(r))
	}
	s.mu.Unlock()
	switch {
	case r.Method == http.MethodPost && r.URL.Path == "/v1/messages/count_tokens":
		n, err := io.Copy(io.Discard, io.LimitReader(r.Body, maxBody))
		if err != nil {
			return // the client has gone
		}
		writeJSON(w, http.StatusOK, map[string]any{"input_tokens": max(1, n/4)})
	case r.Method == http.MethodHead:
		w.WriteHeader(http.StatusOK)
	case r.Method == http.MethodConnect:
		refuse(w, Step{Status: http.StatusForbidden, Body: "nothing leaves this machine"})
	default:
		refuse(w, Step{Status: http.StatusNotFound, Body: "testanthropic has no " + target(r)})
	}
}

func target(r *http.Request) string {
	if r.Method == http.MethodConnect {
		return r.Host
	}
	return r.URL.Path
}

func (s *Server) messages(w http.ResponseWriter, hr *http.Request) {
	body, err := io.ReadAll(io.LimitReader(hr.Body, maxBody))
	if err != nil {
		return // the client has gone
	}
	r, err := parse(hr.Header, body)
	if err != nil {
		refuse(w, Step{Status: http.StatusBadRequest, Body: err.Error()})
		return
	}
	r.At = time.Now()
	step := s.choose(&r)
	s.mu.Lock()
	number := len(s.requests) + 1
	if number > maxRequests {
		s.mu.Unlock()
		refuse(w, Step{Status: http.StatusBadRequest, Body: fmt.Sprintf("more than %d requests", maxRequests)})
		return
	}
	s.requests = append(s.requests, r)
	first := s.calls + 1
	s.calls += len(step.Calls)
	s.mu.Unlock()
	serve(w, hr, reply{model: r.Model, stream: r.Stream, number: number, call: first, step: step})
}

// choose returns what answers a request, and notes in it why.
func (s *Server) choose(r *Request) Step {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, rule := range s.rules {
		key := "rule " + rule.Name
		if rule.Times > 0 && s.served[key] >= rule.Times || !rule.Match(*r) {
			continue
		}
		s.served[key]++
		r.Answer = rule.Name
		return rule.Step.quoting(*r)
	}
	if r.Kind == Helper {
		r.Answer = "helper"
		return Step{Text: `{"title": "Scripted session"}`}
	}
	script, err := r.script()
	if err != nil {
		r.Answer, r.Error = "error", err.Error()
		return Step{Status: http.StatusBadRequest, Body: err.Error()} // Claude Code repeats what is answered with a 5xx
	}
	r.Turn = script.turn
	key := func(i int) string { return fmt.Sprintf("step %s %s %s %d", r.Session, r.Agent, script.id, i) }
	step, i := script.at(func(i int) int { return s.served[key(i)] })
	switch {
	case i < 0:
		r.Answer = "closing"
		return r.closing()
	case step.Times > 0:
		s.served[key(i)]++
	}
	r.Answer = fmt.Sprintf("directive %d", i+1)
	return step.quoting(*r)
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v) // the client has gone when this fails
}
