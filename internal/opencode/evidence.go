package opencode

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"

	"opencode-delegate/internal/event"
)

// Evidence is one failure of a model call as opencode reported it: an error event, or a line of its log. It holds what a
// provider or opencode said, never what the worker wrote.
type Evidence struct {
	Name    string // error.name of an event, or the class before the colon of a log line
	Message string // the provider's own words
	Status  int    // HTTP status; 0 = not known
	Types   []string
	Body    string // response body; empty = not known
	Headers map[string]string
	At      time.Time // when it was said
	Model   string    // provider/model of the call; empty = not known
}

// FromEvent is the evidence of an error event. received is our own clock's time, used when the event has none.
func FromEvent(e event.Event, received time.Time) Evidence {
	ev := Evidence{Name: e.Err.Name, Message: e.Err.Message, Status: e.Err.Status, Body: e.Err.Body, Headers: e.Err.Headers, At: e.At}
	if ev.At.IsZero() {
		ev.At = received
	}
	ev.unfold()
	return ev
}

// FromLog is the evidence of a log line that reports an error. Such a line has the message only: no status, no header
// and no body.
func FromLog(l LogLine, received time.Time) Evidence {
	ev := Evidence{Message: l.Error, At: l.At}
	if ev.At.IsZero() {
		ev.At = received
	}
	if l.Provider != "" && l.Model != "" {
		ev.Model = l.Provider + "/" + l.Model
	}
	// "AI_APICallError: 5-hour usage limit reached. …"
	if name, rest, ok := strings.Cut(l.Error, ": "); ok && errorClass(name) {
		ev.Name, ev.Message = name, rest
	}
	ev.addType(l.ErrorType)
	ev.addType(l.ErrorCode)
	ev.unfold()
	return ev
}

// errorClass reports whether a word is the name of an error class, such as AI_APICallError.
func errorClass(s string) bool {
	if !strings.HasSuffix(s, "Error") && !strings.HasSuffix(s, "Exception") {
		return false
	}
	return !strings.ContainsAny(s, " \t\n/.{")
}

// unfold takes the error types and codes out of the body, and out of a message that is itself a JSON text, as those of
// errors inside a stream are.
func (ev *Evidence) unfold() {
	if text := strings.TrimSpace(ev.Message); strings.HasPrefix(text, "{") {
		if message := ev.addTypes(text); message != "" {
			ev.Message = message
		}
	}
	if ev.Body != "" {
		message := ev.addTypes(ev.Body)
		// For an answer that its provider package cannot read, opencode's message is only the status text.
		if message != "" && len(message) > len(ev.Message) {
			ev.Message = message
		}
	}
}

// providerError is the shape, or one of the shapes, of an error body: {"error":{…}}, {"type":"error","error":{…}},
// {"error":"text"}, [{"error":{…}}], or the members at the top.
type providerError struct {
	Type     text            `json:"type"`
	Code     text            `json:"code"`
	Status   text            `json:"status"`
	Reason   text            `json:"reason"`
	Message  text            `json:"message"`
	Msg      text            `json:"msg"`
	Detail   text            `json:"detail"`
	ResetsIn number          `json:"resets_in_seconds"`
	Retry    number          `json:"retry_after"`
	RetryIn  number          `json:"retry_after_seconds"`
	ResetsAt json.RawMessage `json:"resets_at"`
	ResetAt  json.RawMessage `json:"reset_at"`
	Reset    json.RawMessage `json:"reset_time"`
	Error    json.RawMessage `json:"error"`
	BaseResp struct {        // MiniMax, also with HTTP 200
		Code text `json:"status_code"`
		Msg  text `json:"status_msg"`
	} `json:"base_resp"`
	Metadata struct {
		Raw          text `json:"raw"` // OpenRouter: the upstream's own body
		ProviderName text `json:"provider_name"`
	} `json:"metadata"`
	Details []struct {
		Reason text `json:"reason"`
	} `json:"details"`
}

// text is a JSON string or number; another value reads as "".
type text string

func (t *text) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		*t = text(s)
		return nil
	}
	var n json.Number
	if json.Unmarshal(b, &n) == nil {
		*t = text(n.String())
	}
	return nil
}

// number is a JSON number, or a string that is one; another value reads as 0.
type number float64

func (n *number) UnmarshalJSON(b []byte) error {
	var t text
	_ = t.UnmarshalJSON(b) // never fails
	if f, err := strconv.ParseFloat(string(t), 64); err == nil && !math.IsNaN(f) && !math.IsInf(f, 0) {
		*n = number(f)
	}
	return nil
}

// addTypes collects types and codes of a body, nested ones too, and returns the innermost message.
func (ev *Evidence) addTypes(body string) string {
	message := ""
	// Three levels: the envelope, the error, and an upstream's error inside.
	for depth := 0; depth < 3 && body != ""; depth++ {
		var list []json.RawMessage
		if json.Unmarshal([]byte(body), &list) == nil && len(list) > 0 {
			body = string(list[0])
		}
		var p providerError
		if json.Unmarshal([]byte(body), &p) != nil {
			break
		}
		types := []text{p.Type, p.Code, p.Status, p.Reason}
		for _, d := range p.Details {
			types = append(types, d.Reason)
		}
		for _, t := range types {
			ev.addType(string(t))
		}
		if code := p.BaseResp.Code; code != "" && code != "0" {
			// Z.ai has the same numbers with other meanings.
			ev.addType("minimax-" + string(code))
		}
		for _, m := range []text{p.Message, p.Msg, p.Detail, p.BaseResp.Msg} {
			if m != "" {
				message = string(m)
				break
			}
		}
		ev.addReset(p)
		var plainError string
		if json.Unmarshal(p.Error, &plainError) == nil && plainError != "" {
			message = plainError
		}
		switch {
		case p.Metadata.Raw != "":
			body = string(p.Metadata.Raw)
			if !strings.HasPrefix(strings.TrimSpace(body), "{") {
				message = body
			}
		case len(p.Error) > 0:
			body = string(p.Error)
		default:
			body = ""
		}
	}
	return message
}

func (ev *Evidence) addType(t string) {
	t = strings.ToLower(strings.TrimSpace(t))
	if t == "" || t == "error" || len(t) > 128 {
		return
	}
	if n, err := strconv.Atoi(t); err == nil && n >= 400 && n < 600 {
		// {"error":{"code":429}}: the status, which errors inside a stream lack otherwise.
		if ev.Status == 0 {
			ev.Status = n
		}
		return
	}
	ev.Types = append(ev.Types, t)
}

// addReset keeps machine-readable resets as if they had come in a header.
func (ev *Evidence) addReset(p providerError) {
	var after float64
	for _, stamp := range []json.RawMessage{p.ResetsAt, p.ResetAt, p.Reset} {
		if t := stampTime(stamp); after == 0 && !t.IsZero() && !ev.At.IsZero() {
			after = t.Sub(ev.At).Seconds()
		}
	}
	for _, wait := range []number{p.ResetsIn, p.RetryIn, p.Retry} {
		if after <= 0 {
			after = float64(wait)
		}
	}
	if after <= 0 || ev.Headers["retry-after"] != "" {
		return
	}
	headers := map[string]string{"retry-after": strconv.FormatFloat(after, 'f', 0, 64)}
	for k, v := range ev.Headers {
		headers[k] = v
	}
	ev.Headers = headers
}

// stampTime is a time by RFC 3339 or since 1970, as a number or a string; zero for anything else.
func stampTime(raw json.RawMessage) time.Time {
	var s text
	if len(raw) == 0 || s.UnmarshalJSON(raw) != nil {
		return time.Time{}
	}
	if n, err := strconv.ParseFloat(string(s), 64); err == nil {
		return unixTime(n)
	}
	t, err := time.Parse(time.RFC3339, string(s))
	if err != nil {
		return dateIn(string(s))
	}
	return t
}
