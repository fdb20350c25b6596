package fakeopencode

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// event prints one line as opencode does, if the format is json.
func (f *fake) event(kind string, members map[string]any) {
	if !f.json {
		return
	}
	fmt.Fprint(f.out, string(f.line(kind, members))+f.eol)
}

func (f *fake) line(kind string, members map[string]any) []byte {
	line := map[string]any{"type": kind, "timestamp": time.Now().UnixMilli(), "sessionID": f.session}
	for k, v := range members {
		line[k] = v
	}
	b, err := json.Marshal(line)
	if err != nil {
		panic(err) // only strings and numbers go in
	}
	return b
}

func (f *fake) part(kind string, members map[string]any) map[string]any {
	f.seq++
	p := map[string]any{"id": fmt.Sprintf("prt_fake%04d", f.seq), "messageID": fmt.Sprintf("msg_fake%04d", f.step), "sessionID": f.session, "type": kind}
	for k, v := range members {
		p[k] = v
	}
	return map[string]any{"part": p}
}

func (f *fake) stepStart() {
	f.step++
	if f.step > 1 {
		f.info(`message=loop session.id=%s step=%d`, f.session, f.step-1)
	}
	f.event("step_start", f.part("step-start", nil))
}

func span() map[string]any {
	now := time.Now().UnixMilli()
	return map[string]any{"start": now, "end": now}
}

func (f *fake) text(text string) {
	if !f.json {
		fmt.Fprintln(f.out, strings.TrimSpace(text))
		return
	}
	if text == "" {
		return // the real one reports no empty block
	}
	f.event("text", f.part("text", map[string]any{"text": text, "time": span()}))
}

func (f *fake) stepFinish(reason string) { f.stepFinishCost(reason, 0.000131) }

func (f *fake) stepFinishCost(reason string, cost float64) {
	f.event("step_finish", f.part("step-finish", map[string]any{"reason": reason, "cost": cost,
		"tokens": map[string]any{"total": 120, "input": 90, "output": 15, "reasoning": 5, "cache": map[string]any{"read": 10, "write": 0}}}))
}

// A toolCall is what a tool_use event says.
type toolCall struct {
	tool     string
	input    map[string]any
	output   string
	metadata map[string]any
	err      string // the tool failed
}

// tool is a whole step with one tool call.
func (f *fake) tool(c toolCall) {
	f.stepStart()
	f.toolUse(c)
	f.stepFinish("tool-calls")
}

func (f *fake) toolUse(c toolCall) {
	f.seq++
	state := map[string]any{"status": "completed", "input": c.input, "output": c.output, "title": c.tool, "metadata": c.metadata, "time": span()}
	if c.err != "" {
		state = map[string]any{"status": "error", "input": c.input, "error": c.err, "time": span()}
	}
	f.event("tool_use", f.part("tool", map[string]any{"tool": c.tool, "callID": fmt.Sprintf("call_fake_%d", f.seq), "state": state}))
}

// answer is a whole step with words, and the end of the run.
func (f *fake) answer(text string) {
	f.stepStart()
	if f.opts.set["thinking"] {
		f.event("reasoning", f.part("reasoning", map[string]any{"text": "Thinking.", "time": span()}))
	}
	f.text(text)
	f.stepFinish("stop")
	f.done = true
}

// refuse is an error event.
func (f *fake) refuse(message string, status int, retryable bool, body string) {
	if !f.json {
		fmt.Fprintf(f.err, "Error: %s\n", message)
	}
	f.event("error", map[string]any{"error": map[string]any{"name": "APIError", "data": map[string]any{
		"message": message, "statusCode": status, "isRetryable": retryable, "responseBody": body,
		"responseHeaders": map[string]any{"content-type": "application/json"}}}})
}
