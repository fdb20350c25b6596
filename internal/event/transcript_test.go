package event

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// The events of a run, short.
func start() Event           { return Event{Type: StepStart, Session: "s"} }
func says(text string) Event { return Event{Type: TextBlock, Session: "s", Text: textOf(text)} }
func ends(reason string) Event {
	return Event{Type: StepFinish, Session: "s", Finish: Finish{Reason: reason, Cost: 0.5, Tokens: Tokens{1, 2, 3, 4, 5}}}
}
func fails(name string) Event { return Event{Type: Failure, Session: "s", Err: Err{Name: name}} }

func textOf(s string) Text {
	return Text{Head: s, Size: int64(len(s)), Chars: int64(utf8.RuneCountInString(s))}
}

func calls(name, status, problem string) Event {
	return Event{Type: ToolUse, Session: "s", Tool: Tool{Name: name, Status: status, Error: problem}}
}

func runs(exit int) Event {
	return Event{Type: ToolUse, Session: "s", Tool: Tool{Name: "bash", Status: "completed", Exit: &exit}}
}

func other(e Event) Event { e.Session = "other"; return e }

func fold(events ...Event) *Transcript {
	var t Transcript
	for _, e := range events {
		t.Add(e)
	}
	return &t
}

func TestEnding(t *testing.T) {
	rejected := calls("write", "error", "The user rejected permission to use this specific tool call.")
	for _, tc := range []struct {
		name   string
		events []Event
		want   Ending
	}{
		{"nothing", nil, Silent},
		{"an answer", []Event{start(), says("a"), ends("stop")}, Success},
		{"an answer after a tool", []Event{start(), runs(0), ends("tool-calls"), start(), says("a"), ends("stop")}, Success},
		{"text before the tool only", []Event{start(), says("a"), runs(0), ends("tool-calls"), start(), ends("stop")}, Empty},
		{"blank text", []Event{start(), says(" \n\u200b\x1b"), ends("stop")}, Empty},
		{"reasoning is no answer", []Event{start(), {Type: Reasoning, Session: "s", Text: textOf("hm")}, ends("stop")}, Empty},
		{"cut by length", []Event{start(), says("a"), ends("length")}, Cut},
		{"filtered", []Event{start(), says("a"), ends("content-filter")}, Cut},
		{"within a step", []Event{start(), says("a")}, Partial},
		{"within a later step", []Event{start(), says("a"), ends("stop"), start()}, Partial},
		{"after a step with tools", []Event{start(), runs(0), ends("tool-calls")}, Partial},
		{"one step that is unknown", []Event{start(), says("a"), ends("unknown")}, Broken},
		{"an unknown one, then another", []Event{start(), ends("unknown"), start(), says("a"), ends("stop")}, Success},
		{"unknown again and again", []Event{start(), ends("unknown"), start(), ends("unknown"), start()}, Broken},
		{"another reason", []Event{start(), says("a"), ends("error")}, Partial},
		{"an error", []Event{fails("A")}, Failed},
		{"an error after an answer", []Event{start(), says("a"), ends("stop"), fails("A")}, Failed},
		{"an error that healed", []Event{fails("A"), start(), says("a"), ends("stop")}, Success},
		{"an error before an unknown step", []Event{fails("A"), start(), ends("unknown")}, Failed},
		{"rejected", []Event{start(), rejected, ends("tool-calls")}, Denied},
		{"rejected, and went on", []Event{start(), rejected, ends("tool-calls"), start(), says("a"), ends("stop")}, Denied},
		{"rejected in the end", []Event{start(), says("a"), ends("stop"), {Type: Done, Session: "s", Rejected: []string{"edit"}}}, Denied},
		{"done", []Event{start(), says("a"), ends("stop"), {Type: Done, Session: "s"}}, Success},
		{"a command that prints the words", []Event{start(), calls("bash", "completed", "The user rejected permission to use this specific tool call."), says("a"), ends("stop")}, Success},
		{"a tool that fails with other words", []Event{start(), calls("mcp", "error", "said: The user rejected permission to use this specific tool call"), says("a"), ends("stop")}, Success},
		{"noise", []Event{{Type: Noise, Text: textOf("usage")}}, Alien},
		{"types of another version", []Event{{Type: "session.next", Session: "s"}}, Alien},
		{"noise around an answer", []Event{{Type: Noise}, start(), says("a"), {Type: "x"}, ends("stop")}, Success},
		{"another session fails", []Event{start(), says("a"), ends("stop"), other(fails("A")), other(rejected), other(start())}, Success},
		{"another session answers", []Event{start(), other(says("a")), ends("stop")}, Empty},
		{"events without a session", []Event{{Type: StepStart}, {Type: TextBlock, Text: textOf("a")}, {Type: StepFinish, Finish: Finish{Reason: "stop"}}}, Success},
	} {
		tr := fold(tc.events...)
		if got := tr.Ending(); got != tc.want || tr.Complete() != (tc.want == Success) {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}

func TestFacts(t *testing.T) {
	task := calls("task", "completed", "")
	refusedTask := calls("task", "error", "The user has specified a rule which prevents you from using this specific tool call. Here are …")
	invented := calls("frobnicate", "error", "Model tried to call unavailable tool 'invalid'. Available tools: read.")
	taken := Event{Type: ToolUse, Session: "s", Tool: Tool{Name: "invalid", Status: "completed", Target: "write", Error: "Model tried to call unavailable tool 'write'. Available tools: glob."}}
	tr := fold(start(), says("first"), runs(0), runs(3), ends("tool-calls"), other(ends("stop")), fails("A"), start(), task, refusedTask, invented, taken, taken,
		ends("tool-calls"), fails("B"), start(), says("second"), says("third"), Event{Type: "new"}, Event{Type: Noise, Text: textOf("head")}, ends("stop"), Event{Type: Done, Session: "s"})
	lines, head := tr.Noise()
	for _, c := range []struct {
		what      string
		got, want any
	}{
		{"session", tr.Session(), "s"}, {"steps", tr.Steps(), 3}, {"reason", tr.Reason(), "stop"}, {"tokens", tr.Tokens(), Tokens{3, 6, 9, 12, 15}}, {"cost", tr.Cost(), 1.5},
		{"tools", tr.Tools(), 7}, {"commands", tr.Commands(), 2}, {"failed commands", tr.FailedCommands(), 1}, {"subagents", tr.Subagents(), 1},
		{"refused", tr.Refused(), []string{"task", "write"}}, {"rejected", len(tr.Rejected()), 0}, {"errors", len(tr.Errors()), 0},
		{"healed", tr.Healed(), []Err{{Name: "A"}, {Name: "B"}}}, {"foreign", tr.Foreign(), 1}, {"unknown types", tr.UnknownTypes(), []string{"new"}},
		{"noise", lines, 1}, {"head of the noise", head, "head"}, {"idle", tr.Idle(), true}, {"last tool", tr.LastTool().Target, "write"},
		{"texts", len(tr.Texts()), 3}, {"answer", tr.Answer(), []Text{textOf("second"), textOf("third")}}, {"events", tr.Events(), 19},
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Errorf("%s: %v, want %v", c.what, c.got, c.want)
		}
	}
	known := NewTranscript("s")
	known.Add(other(says("x")))
	known.Add(says("y"))
	if known.Foreign() != 1 || len(known.Texts()) != 1 {
		t.Errorf("a session that was known beforehand: %d foreign, %d texts", known.Foreign(), len(known.Texts()))
	}
}

// What another session reads is another session's.
func TestReadAndWritten(t *testing.T) {
	tool := calls("read", "completed", "")
	tool.Tool.Sent, tool.Tool.Got = 20, 3000
	thinks := Event{Type: Reasoning, Session: "s", Text: textOf("hm")}
	tr := fold(start(), thinks, tool, other(tool), says("äbc"), tool, other(says("more")), ends("stop"))
	if tr.Read() != 6000 || tr.Written() != 45 {
		t.Errorf("read %d, written %d", tr.Read(), tr.Written())
	}
}

func TestTranscriptIsBounded(t *testing.T) {
	var tr Transcript
	long := strings.Repeat("x", 100<<10)
	for i := range 100 {
		tr.Add(says(fmt.Sprint(i, long)))
		tr.Add(fails(fmt.Sprint(i)))
		tr.Add(calls(fmt.Sprint(i), "error", rejectedByNobody))
		tr.Add(Event{Type: Type(fmt.Sprint(i))})
	}
	total := 0
	for _, text := range tr.Texts() {
		total += len(text.Head)
		if text.Blank() {
			t.Fatal("a text whose head was given up became blank")
		}
	}
	if total > headsLimit || total < headsLimit/2 || !tr.Texts()[99].Whole() || tr.Texts()[0].Whole() || tr.Texts()[0].Size == 0 {
		t.Errorf("%d bytes of heads", total)
	}
	if len(tr.Errors()) != errorsLimit || tr.Errors()[errorsLimit-1].Name != "99" || len(tr.Rejected()) != namesLimit || len(tr.UnknownTypes()) != namesLimit {
		t.Errorf("%d errors, %d rejected, %d types", len(tr.Errors()), len(tr.Rejected()), len(tr.UnknownTypes()))
	}
	tr = Transcript{}
	tr.Add(says(" "))
	tr.Add(says(strings.Repeat("y", headsLimit)))
	if !tr.Texts()[0].Blank() {
		t.Error("a blank text whose head was given up is not blank any more")
	}
	for i := range 3 * textsLimit {
		tr.Add(says(fmt.Sprint(i)))
	}
	if n := len(tr.Texts()); n > textsLimit || tr.Texts()[n-1].Head != fmt.Sprint(3*textsLimit-1) || len(tr.Answer()) != n || !tr.Answered() {
		t.Errorf("%d texts, %d in the answer", n, len(tr.Answer()))
	}
	tr.Add(runs(0))
	const more = textsLimit/2 + 10 // so that older ones are forgotten meanwhile
	for i := range more {
		tr.Add(says(fmt.Sprint(i)))
	}
	if a := tr.Answer(); len(a) != more || a[0].Head != "0" {
		t.Errorf("%d texts in the answer, the first is %+v", len(a), a[0])
	}
}

func TestNumbersStayFinite(t *testing.T) {
	step := func(cost, tokens string) string {
		return `{"type":"step_finish","sessionID":"ses_1","part":{"reason":"tool-calls","cost":` + cost + `,"tokens":{"input":` + tokens + `,"output":` + tokens + `,"cache":{"read":` + tokens + `,"write":` + tokens + `}}}}` + "\n"
	}
	for _, c := range []struct {
		cost, tokens string
		wantCost     float64
		wantSum      int64
	}{
		{"0.25", "10", 0.75, 120}, {"1e6", "1e12", 3e6, 12e12},
		{"1e308", "1e13", 0, 0}, {"1000001", "9007199254740991", 0, 0}, {"-1", "-5", 0, 0}, {"1e999", "1e999", 0, 0}, {"-1e308", "NaN", 0, 0},
	} {
		var tr Transcript
		s := NewStream(strings.NewReader(strings.Repeat(step(c.cost, c.tokens), 3)), nil)
		for e, err := s.Next(); err == nil; e, err = s.Next() {
			tr.Add(e)
		}
		if tr.Cost() != c.wantCost || tr.Tokens().Sum() != c.wantSum {
			t.Errorf("cost %s, tokens %s: %v USD, %d tokens", c.cost, c.tokens, tr.Cost(), tr.Tokens().Sum())
		}
	}
	most := Tokens{Input: 1<<63 - 1, Output: 1}
	if got := most.Add(most); got.Input != 1<<63-1 || got.Output != 2 || got.Sum() != 1<<63-1 {
		t.Errorf("%+v, sum %d", got, got.Sum())
	}
}
