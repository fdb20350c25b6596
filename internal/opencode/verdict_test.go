package opencode

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"opencode-delegate/internal/event"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/proc"
)

// A scene feeds a watch, one second after the other.
type scene struct {
	*watch
	now time.Time
}

func newScene(l Limits) *scene {
	return &scene{watch: newWatch(Attempt{Limits: l}, noon), now: noon}
}

func (s *scene) later(d time.Duration) *scene {
	for end := s.now.Add(d); ; {
		next := s.next()
		if next.IsZero() || next.After(end) || s.halted != nil {
			s.now = end
			return s
		}
		s.now = next
		s.tick(next)
	}
}

func (s *scene) events(all ...event.Event) *scene {
	for _, e := range all {
		s.later(time.Second)
		e.At, e.Session = s.now, "ses_1"
		s.event(e, s.now)
	}
	return s
}

func (s *scene) log(lines ...string) *scene {
	for _, l := range lines {
		s.later(time.Second)
		if !strings.HasPrefix(l, "!") && !strings.HasPrefix(l, "Error") {
			l = "timestamp=" + s.now.Format("2006-01-02T15:04:05.000Z") + " level=" + l
		}
		s.line(ParseLogLine([]byte(l)), s.now)
	}
	return s
}

func begin() event.Event { return event.Event{Type: event.StepStart} }
func end(reason string) event.Event {
	return event.Event{Type: event.StepFinish, Finish: event.Finish{Reason: reason}}
}
func prose(text string) event.Event {
	return event.Event{Type: event.TextBlock, Text: event.Text{Head: text, Size: int64(len(text))}}
}
func fails(name, message string, status int) event.Event {
	return event.Event{Type: event.Failure, Err: event.Err{Name: name, Message: message, Status: status}}
}
func tool(name, status, problem string) event.Event {
	return event.Event{Type: event.ToolUse, Tool: event.Tool{Name: name, Status: status, Error: problem, Target: name}}
}

const (
	nobody    = "The user rejected permission to use this specific tool call."
	byRule    = "The user has specified a rule which prevents you from using this specific tool call. Here are …"
	streamBad = `ERROR message="stream error" providerID=mock modelID=worker session.id=ses_1 small=false error.error="AI_APICallError: %s"`
	callBegan = `INFO message=stream providerID=mock modelID=worker session.id=ses_1 small=false agent=build mode=primary`
	stepBegan = `INFO message=loop session.id=ses_1 step=%d`
)

func TestVerdicts(t *testing.T) {
	limits := Limits{Timeout: 10 * time.Minute, Retry: 90 * time.Second}
	killed := proc.Exit{Code: -1, Signal: "SIGSEGV"}
	ours := proc.Exit{Code: -1, Signal: "SIGTERM", ByUs: true}
	for name, c := range map[string]struct {
		play func(*scene)
		exit proc.Exit
		kind fault.Kind
		part string
		note string
	}{
		"answer":                 {func(s *scene) { s.events(begin(), prose("hi"), end("stop")) }, proc.Exit{}, "", "", ""},
		"signal after an answer": {func(s *scene) { s.events(begin(), prose("hi"), end("stop")) }, killed, fault.Incomplete, "SIGSEGV", ""},
		"invisible answer":       {func(s *scene) { s.events(begin(), prose(" \n\u200b"), end("stop")) }, proc.Exit{}, fault.EmptyOutput, "without an answer", ""},
		"answer before the tool": {func(s *scene) {
			s.events(begin(), prose("I will"), tool("bash", "completed", ""), end("tool-calls"), begin(), end("stop"))
		}, proc.Exit{}, fault.EmptyOutput, "", ""},
		"denied, no answer": {func(s *scene) {
			s.events(begin(), tool("write", "error", byRule), end("tool-calls"), begin(), end("stop"))
		}, proc.Exit{}, fault.PermissionDenied, "write", ""},
		"denied, cut": {func(s *scene) { s.events(begin(), tool("write", "error", byRule), end("tool-calls")) }, proc.Exit{}, fault.PermissionDenied, "write", ""},
		"denied, answered": {func(s *scene) {
			s.events(begin(), tool("write", "error", byRule), end("tool-calls"), begin(), prose("no"), end("stop"))
		}, proc.Exit{}, "", "", "a rule denied what the worker tried: write"},
		"rejected, went on": {func(s *scene) {
			s.events(begin(), tool("write", "error", nobody), end("tool-calls"), begin(), prose("no"), end("stop"))
		}, proc.Exit{}, fault.PermissionDenied, "write", ""},
		"rejected in a subagent": {func(s *scene) {
			s.log("! permission requested: edit (a.txt); auto-rejecting").events(begin(), prose("hi"), end("stop"))
		}, proc.Exit{}, fault.PermissionDenied, "edit a.txt", ""},
		"rejected, said at the end": {func(s *scene) {
			s.events(begin(), prose("hi"), end("stop"), event.Event{Type: event.Done, Rejected: []string{"bash"}})
		}, proc.Exit{}, fault.PermissionDenied, "bash", ""},
		"error beats rejection": {func(s *scene) {
			s.events(begin(), tool("write", "error", nobody), end("tool-calls"), fails("APIError", "Invalid API key", 401))
		}, proc.Exit{Code: 1}, fault.AuthRequired, "", ""},
		"healed error": {func(s *scene) {
			s.events(fails("ContextOverflowError", "too long", 0), begin(), prose("hi"), end("stop"))
		}, proc.Exit{Code: 1}, "", "", "went on"},
		"error after the answer": {func(s *scene) {
			s.events(begin(), prose("hi"), end("stop"), fails("APIError", "Insufficient credits", 402))
		}, proc.Exit{}, fault.QuotaExhausted, "", ""},
		"cut by length":  {func(s *scene) { s.events(begin(), prose("h"), end("length")) }, proc.Exit{}, fault.Incomplete, "cut off", ""},
		"content filter": {func(s *scene) { s.events(begin(), end("content-filter")) }, proc.Exit{}, fault.RunFailed, "content filter", ""},
		"one unknown":    {func(s *scene) { s.events(begin(), prose("hi"), end("unknown")) }, proc.Exit{}, fault.RunFailed, "unknown", ""},
		"two unknown":    {func(s *scene) { s.events(begin(), prose("hi"), end("unknown"), begin(), prose("hi"), end("unknown")) }, ours, fault.RunFailed, "never finish", ""},
		"unknown, but it works": {func(s *scene) {
			s.events(begin(), tool("bash", "completed", ""), end("unknown"), begin(), tool("bash", "completed", ""), end("unknown"), begin(), prose("hi"), end("stop"))
		}, proc.Exit{}, "", "", ""},
		"cut in a step":     {func(s *scene) { s.events(begin(), prose("hi"), end("tool-calls"), begin()) }, proc.Exit{Code: 137}, fault.Incomplete, "as after SIGKILL", ""},
		"cut after tools":   {func(s *scene) { s.events(begin(), tool("bash", "completed", ""), end("tool-calls")) }, proc.Exit{}, fault.Incomplete, "tool-calls", ""},
		"nothing":           {func(*scene) {}, proc.Exit{}, fault.EmptyOutput, "printed nothing", ""},
		"nothing, exit 3":   {func(*scene) {}, proc.Exit{Code: 3}, fault.RunFailed, "exited with 3", ""},
		"nothing, exit 139": {func(*scene) {}, proc.Exit{Code: 139}, fault.Incomplete, "SIGSEGV", ""},
		"a crash says why":  {func(s *scene) { s.log("Error: File not found: x") }, proc.Exit{Code: 1}, fault.RunFailed, "File not found: x", ""},
		"silent hang":       {func(s *scene) { s.later(time.Hour) }, ours, fault.Timeout, "10m", ""},
		"rate limit":        {func(s *scene) { s.log(fmt.Sprintf(streamBad, "Rate limit reached")).later(time.Hour) }, ours, fault.RunFailed, "within 1m30s", ""},
		"usage limit":       {func(s *scene) { s.log(fmt.Sprintf(streamBad, "usage limit reached")).later(time.Hour) }, ours, fault.QuotaExhausted, "", ""},
		"usage limit that healed": {func(s *scene) {
			s.log(fmt.Sprintf(streamBad, "usage limit reached")).events(prose("hi"), end("stop"))
		}, proc.Exit{}, "", "", "1 failed model calls"},
		"usage limit of the title": {func(s *scene) {
			s.log(strings.Replace(fmt.Sprintf(streamBad, "usage limit reached"), "small=false", "small=true", 1)).events(begin(), prose("hi"), end("stop"))
		}, proc.Exit{}, "", "", ""},
		"calls that break": {func(s *scene) { s.log(fmt.Sprintf(stepBegan, 0), callBegan, callBegan, callBegan).later(time.Hour) }, ours, fault.RunFailed, "2 model calls failed", ""},
		"calls of several steps": {func(s *scene) {
			s.log(fmt.Sprintf(stepBegan, 0), callBegan, fmt.Sprintf(stepBegan, 1), callBegan).later(time.Hour)
		}, ours, fault.Timeout, "", ""},
		"calls, steps are not told": {func(s *scene) { s.log(callBegan, callBegan).later(time.Hour) }, ours, fault.Timeout, "the model has sent nothing", ""},
		"model, in the log only": {func(s *scene) {
			s.log(`ERROR message=failed ref=err_1 error="ProviderModelNotFoundError: Model not found: a/b."`).events(fails("UnknownError", "Unexpected server error. Check server logs for details.", 0))
		}, proc.Exit{Code: 1}, fault.ModelUnavailable, "a/b", ""},
		"model, of an older wording": {func(s *scene) { s.events(fails("ProviderModelNotFoundError", "", 0)) }, proc.Exit{Code: 1}, fault.ModelUnavailable, "", ""},
		"agent": {func(s *scene) {
			s.log(`! agent "x" not found. Falling back to default agent`).events(begin(), prose("hi"), end("stop"))
		}, ours, fault.RunFailed, `no agent "x"`, ""},
		"stays": {func(s *scene) { s.events(begin(), prose("hi"), end("stop")).later(linger) }, ours, "", "", "did not exit"},
		"goes on after an answer": {func(s *scene) {
			s.events(begin(), prose("hi"), end("stop")).log(callBegan).later(time.Minute).events(begin(), prose("more"), end("stop"))
		}, proc.Exit{}, "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(limits)
			c.play(s)
			o := s.outcome(Attempt{}, c.exit)
			if c.kind == "" {
				if o.Fault != nil {
					t.Errorf("%s: %s", o.Fault.Kind, o.Fault.Reason)
				}
			} else {
				wantFault(t, o, c.kind, c.part)
			}
			if all := strings.Join(o.Notes, "\n"); c.note == "" && c.kind == "" && c.exit.Code == 0 && all != "" || !strings.Contains(all, c.note) {
				t.Errorf("notes %q, want %q", all, c.note)
			}
		})
	}
}

func TestOutputsArriveInAnyOrder(t *testing.T) {
	// The failure of a later call is read before the text of an earlier step. It has not healed.
	s := newScene(Limits{Retry: 90 * time.Second})
	s.log(fmt.Sprintf(streamBad, "Rate limit reached"))
	early := prose("hi")
	early.At = s.now.Add(-time.Second)
	s.event(early, s.now)
	s.later(time.Hour)
	wantFault(t, s.outcome(Attempt{}, proc.Exit{}), fault.RunFailed, "Rate limit")

	// The line of a call that led to the answer is read after the answer.
	s = newScene(Limits{})
	call := ParseLogLine([]byte("timestamp=" + s.now.Format(time.RFC3339) + " level=" + callBegan))
	s.events(begin(), prose("hi"), end("stop"))
	s.line(call, s.now)
	if s.next().IsZero() {
		t.Error("the process may stay for ever")
	}
}

func TestEndOfTheContext(t *testing.T) {
	for name, c := range map[string]struct {
		cause error
		kind  fault.Kind
	}{
		"fault":    {fmt.Errorf("signal: %w", fault.New(fault.Interrupted, "SIGTERM")), fault.Interrupted},
		"plain":    {context.Canceled, fault.Cancelled},
		"deadline": {context.DeadlineExceeded, fault.Timeout},
		"other":    {errors.New("why not"), fault.Cancelled},
	} {
		s := newScene(Limits{})
		s.events(begin(), prose("hi"), end("stop"))
		s.over(c.cause)
		if o := s.outcome(Attempt{}, proc.Exit{ByUs: true}); o.Fault == nil || o.Fault.Kind != c.kind {
			t.Errorf("%s: %v", name, o.Fault)
		}
	}
}

func TestTheTitlesModelIsNotTheRuns(t *testing.T) {
	s := newScene(Limits{Idle: time.Minute})
	s.log(callBegan, `INFO message=stream providerID=mock modelID=tiny session.id=ses_1 small=true agent=title mode=primary`)
	if o := s.outcome(Attempt{}, proc.Exit{}); o.Model != "mock/worker" || o.Agent != "build" {
		t.Errorf("model %q, agent %q", o.Model, o.Agent)
	}
}

func TestStartupIsProgress(t *testing.T) {
	s := newScene(Limits{Idle: 3 * time.Second})
	for range 5 {
		s.later(time.Second).log("INFO message=loading path=/x")
	}
	if s.halted != nil {
		t.Fatalf("stopped: %v", s.halted.fault)
	}
	s.log(callBegan)
	for range 5 {
		s.later(time.Second).log("INFO message=loading path=/x")
	}
	if s.halted == nil {
		t.Error("housekeeping counted as progress of a call")
	}
}

func TestTheEndOfATurnPromisesItsEvent(t *testing.T) {
	s := newScene(Limits{})
	s.log(fmt.Sprintf(streamBad, "Insufficient credits"), `ERROR message=process session.id=ses_1 error="Insufficient credits"`)
	s.later(3 * time.Second).events(fails("APIError", "Insufficient credits", 402))
	if o := s.outcome(Attempt{}, proc.Exit{Code: 1}); o.Fault == nil || o.Fault.ProviderStatus != 402 {
		t.Errorf("fault %+v", o.Fault)
	}
}

func TestAProcessThatObeyedBeforeTheLoopDid(t *testing.T) {
	s := newScene(Limits{Timeout: time.Minute})
	s.obeyed(context.Background(), proc.Exit{ByUs: true}, noon.Add(time.Minute))
	wantFault(t, s.outcome(Attempt{}, proc.Exit{ByUs: true, Signal: "SIGTERM"}), fault.Timeout, "1m")

	s = newScene(Limits{})
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(fault.New(fault.Interrupted, "SIGINT"))
	s.obeyed(ctx, proc.Exit{ByUs: true}, noon)
	wantFault(t, s.outcome(Attempt{}, proc.Exit{ByUs: true, Signal: "SIGTERM"}), fault.Interrupted, "SIGINT")

	s = newScene(Limits{})
	s.events(begin(), prose("hi"), end("stop"))
	s.obeyed(ctx, proc.Exit{}, noon)
	if s.halted != nil {
		t.Error("a process that ended by itself was said to have obeyed")
	}
}
