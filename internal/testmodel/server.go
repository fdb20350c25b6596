// Package testmodel is a model that does what it is told: a server on loopback that speaks OpenAI's chat completions and
// answers every request from a script. With it the real opencode runs whole, without a network, an account or a cost; the tests and
// `make demo` use it.
//
// What it answers is chosen by a directive in the newest user message:
//
//	[[mock:write]]                                          a scenario by name
//	[[mock:{"tool":"bash","args":{"command":"ls"}}]]        one tool call, then a closing sentence
//	[[mock:[{"tool":"write","args":{…}},{"text":"Done"}]]]  several steps in order
//	[[mock:[{"text":"no block"},{"user":true},{"text":"…"}]]]  what follows "user" answers the next user message
//
// or, without one, by the model: each scenario is a model of its own name ("mock/err-401"), while [Neutral] models say nothing of
// what comes and, unless told otherwise, behave like a small worker that reads, or writes the file that it is asked for.
// opencode prints model ids in its log, so whatever tests the classification of errors must use a neutral one.
//
// The turn is the number of the model's own messages after the newest user message: apart from steps with a limit of Times,
// the server keeps no state. A request for a session title is answered apart.
package testmodel

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Provider is the name of the server's provider in [Server.Config].
const Provider = "mock"

// Neutral are the models whose names tell nothing: two of equal kind, and one that has no price.
var Neutral = []string{"worker", "other", "unpriced"}

// Options are what a server may be given. The zero value is right for a test.
type Options struct {
	Addr string    // loopback address; "" = 127.0.0.1 and a free port
	Log  io.Writer // receives each [Request] as a JSON line; nil = none
}

// A Server listens until Close.
type Server struct {
	// URL is the base of the API, without a slash at its end: http://127.0.0.1:PORT/v1.
	URL string

	http http.Server
	log  io.Writer

	mu       sync.Mutex
	requests []Request
	served   map[string]int // how often a limited step was served
}

// A Request is what the server saw of one request for a message.
type Request struct {
	At       time.Time `json:"at"`
	Scenario string    `json:"scenario"`
	Model    string    `json:"model"`
	Title    bool      `json:"title,omitempty"` // a request for a session title
	Turn     int       `json:"turn"`
	Bytes    int       `json:"bytes"`           // of the request's body
	Auth     bool      `json:"auth"`            // an Authorization header was there
	Tools    []string  `json:"tools,omitempty"` // the names that were offered to the model
	// The newest user message and the system prompt: the first 64 KiB, with the whole length and SHA-256 of the former.
	User       string `json:"user"`
	UserBytes  int    `json:"user_bytes"`
	UserSHA256 string `json:"user_sha256"`
	System     string `json:"system,omitempty"`
	Error      string `json:"error,omitempty"` // why the directive could not be followed
}

// Start listens and serves.
func Start(o Options) (*Server, error) {
	if o.Addr == "" {
		o.Addr = "127.0.0.1:0"
	}
	host, _, err := net.SplitHostPort(o.Addr)
	if err != nil {
		return nil, fmt.Errorf("testmodel: address %q: %w", o.Addr, err)
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return nil, fmt.Errorf("testmodel: address %q is not a loopback address", o.Addr)
	}
	listener, err := net.Listen("tcp", o.Addr)
	if err != nil {
		return nil, fmt.Errorf("testmodel: %w", err)
	}
	s := &Server{
		URL:    "http://" + listener.Addr().String() + "/v1",
		log:    o.Log,
		served: map[string]int{},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", s.chat)
	mux.HandleFunc("GET /v1/models", s.models)
	s.http.Handler = mux
	go s.http.Serve(listener) // ends with ErrServerClosed at Close
	return s, nil
}

// Close stops listening and breaks every connection, also those of scenarios that hang.
func (s *Server) Close() error { return s.http.Close() }

// Requests returns what was asked so far, in the order of arrival.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Config returns an opencode.json that knows this server as provider "mock" and nothing else. Prices are 1, 2 and 0.1 USD per
// million tokens of input, output and cache read, and none for the model "unpriced".
func (s *Server) Config() []byte {
	models := map[string]any{}
	for _, name := range slices.Concat(Neutral, Names()) {
		m := map[string]any{
			"name": name, "tool_call": true, "reasoning": name == "reasoning" || name == "reasoning-only",
			"limit": map[string]any{"context": 200000, "output": 8192},
		}
		if name != "unpriced" {
			m["cost"] = map[string]any{"input": 1, "output": 2, "cache_read": 0.1}
		}
		models[name] = m
	}
	config := map[string]any{
		"$schema": "https://opencode.ai/config.json", "model": Provider + "/" + Neutral[0], "autoupdate": false, "share": "disabled",
		"provider": map[string]any{Provider: map[string]any{
			"npm": "@ai-sdk/openai-compatible", "name": "Scripted model", "models": models,
			"options": map[string]any{"baseURL": s.URL, "apiKey": "mock-key"},
		}},
	}
	text, err := json.MarshalIndent(config, "", "  ")
	if err != nil {
		panic(err) // nothing in it can fail to encode
	}
	return append(text, '\n')
}

func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	data := []map[string]any{}
	for _, name := range slices.Concat(Neutral, Names()) {
		data = append(data, map[string]any{"id": name, "object": "model", "owned_by": Provider})
	}
	writeJSON(w, map[string]any{"object": "list", "data": data})
}

func (s *Server) record(r Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
	if s.log != nil {
		json.NewEncoder(s.log).Encode(r) // a log that cannot be written must not change what the model says
	}
}

// used returns how often a limited step was served; take counts one more.
func (s *Server) used(key string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.served[key]
}

func (s *Server) take(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.served[key]++
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(v) // the client has gone when this fails
}
