package event

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestEveryKindOfEvent(t *testing.T) {
	yes, three := true, 3
	at := time.UnixMilli(1795967542750).UTC()
	for _, tc := range []struct {
		name, line string
		want       Event
	}{
		{"step_start", `{"type":"step_start","timestamp":1795967542750,"sessionID":"ses_1","part":{"id":"prt_1","type":"step-start"}}`,
			Event{Type: StepStart, At: at, Session: "ses_1"}},
		{"text", `{"type":"text","timestamp":1795967542750,"sessionID":"ses_1","part":{"type":"text","text":"a\nb","time":{"start":1,"end":2}}}`,
			Event{Type: TextBlock, At: at, Session: "ses_1", Text: Text{Head: "a\nb", Size: 3, Chars: 3}}},
		{"members in another order", `{"part":{"text":"a","type":"text"},"sessionID":"ses_1","timestamp":1795967542750,"type":"text"}`,
			Event{Type: TextBlock, At: at, Session: "ses_1", Text: Text{Head: "a", Size: 1, Chars: 1}}},
		{"session of the part", `{"type":"text","part":{"sessionID":"ses_2","text":" "}}`,
			Event{Type: TextBlock, Session: "ses_2", Text: Text{Head: " ", Size: 1, Chars: 1, blank: true}}},
		{"reasoning", `{"type":"reasoning","part":{"type":"reasoning","text":"hm"}}`,
			Event{Type: Reasoning, Text: Text{Head: "hm", Size: 2, Chars: 2}}},
		{"command", `{"type":"tool_use","part":{"type":"tool","tool":"bash","callID":"c1","state":{"status":"completed","input":{"description":"d","command":"go test\n./..."},"output":"{\"type\":\"error\"}","metadata":{"output":"x","exit":3},"title":"T"}}}`,
			Event{Type: ToolUse, Tool: Tool{Name: "bash", CallID: "c1", Status: "completed", Exit: &three, Target: "go test ./...", Title: "T", Sent: 14, Got: 16}}},
		{"command without an exit", `{"type":"tool_use","part":{"tool":"bash","state":{"status":"completed","metadata":{"exit":null},"input":{"command":"x"}}}}`,
			Event{Type: ToolUse, Tool: Tool{Name: "bash", Status: "completed", Target: "x", Sent: 1}}},
		{"file", `{"type":"tool_use","part":{"state":{"status":"error","error":"no","input":{"content":"…","filePath":"/a"}},"tool":"write"}}`,
			Event{Type: ToolUse, Tool: Tool{Name: "write", Status: "error", Error: "no", Target: "/a", Sent: 3, Got: 2}}},
		{"todos", `{"type":"tool_use","part":{"state":{"status":"completed","metadata":{"todos":[{"content":"one","status":"completed","priority":"high"},{"status":"in_progress","content":"two\n 2"},{"content":"three","status":"in_progress"},{"content":"four","status":"pending"},{"content":"five","status":"cancelled"}],"truncated":false},"input":{"todos":[{"content":"six","status":"in_progress"}]},"title":"3 todos"},"tool":"todowrite"}}`,
			Event{Type: ToolUse, Tool: Tool{Name: "todowrite", Status: "completed", Title: "3 todos", Sent: 14, Todo: &Todo{Done: 1, Total: 4, Active: "two 2"}}}},
		{"todos that were taken off", `{"type":"tool_use","part":{"tool":"todowrite","state":{"metadata":{"todos":[]}}}}`, Event{Type: ToolUse, Tool: Tool{Name: "todowrite", Todo: &Todo{}}}},
		{"todos that were not kept", `{"type":"tool_use","part":{"tool":"todowrite","state":{"status":"error","error":"no","input":{"todos":[{"status":"pending"}]}}}}`,
			Event{Type: ToolUse, Tool: Tool{Name: "todowrite", Status: "error", Error: "no", Sent: 7, Got: 2}}},
		{"todos of another tool", `{"type":"tool_use","part":{"tool":"mine","state":{"metadata":{"todos":[{"status":"pending"}]}}}}`, Event{Type: ToolUse, Tool: Tool{Name: "mine"}}},
		{"todos of wrong types", `{"type":"tool_use","part":{"tool":"todowrite","state":{"metadata":{"todos":[5,null,"x",[],{"content":"no status"},{"status":7},{"content":{},"status":"in_progress"},{"status":"later"}]}}}}`,
			Event{Type: ToolUse, Tool: Tool{Name: "todowrite", Todo: &Todo{Total: 2}}}},
		{"todos twice", `{"type":"tool_use","part":{"tool":"todowrite","state":{"metadata":{"todos":[{"status":"completed"}],"todos":"none"}}}}`, Event{Type: ToolUse, Tool: Tool{Name: "todowrite"}}},
		{"metadata twice", `{"type":"tool_use","part":{"tool":"todowrite","state":{"metadata":{"todos":[{"status":"completed"}],"exit":1},"metadata":{}}}}`, Event{Type: ToolUse, Tool: Tool{Name: "todowrite"}}},
		{"a state twice", `{"type":"tool_use","part":{"tool":"todowrite","state":{"metadata":{"todos":[{"status":"completed"}]}},"state":{"status":"completed"}}}`,
			Event{Type: ToolUse, Tool: Tool{Name: "todowrite", Status: "completed"}}},
		{"characters", `{"type":"tool_use","part":{"tool":"mine","state":{"input" : [1, "é", {"k":"\ud83d\ude00\n\"x"}] ,"output" : null ,"output":  "é\u00e9\\\t😀." }}}`, Event{Type: ToolUse, Tool: Tool{Name: "mine", Sent: 5, Got: 6}}},
		{"characters of an input", `{"type":"tool_use","part":{"tool":"write","state":{"status":"completed","input":{"filePath":"/é","n":12,"content":"two\nlines\n","deep":[["ab",{"k":"c"}],true]},"output":{"a":"b"}}}}`,
			Event{Type: ToolUse, Tool: Tool{Name: "write", Status: "completed", Target: "/é", Sent: 15, Got: 1}}},
		{"invalid", `{"type":"tool_use","part":{"tool":"invalid","state":{"status":"completed","input":{"error":"unavailable","tool":"frob"}}}}`,
			Event{Type: ToolUse, Tool: Tool{Name: "invalid", Status: "completed", Error: "unavailable", Target: "frob", Sent: 15}}},
		{"step_finish", `{"type":"step_finish","part":{"reason":"stop","tokens":{"total":120,"input":90,"output":15,"reasoning":5,"cache":{"write":1,"read":10}},"cost":0.000131}}`,
			Event{Type: StepFinish, Finish: Finish{Reason: "stop", Cost: 0.000131, Tokens: Tokens{90, 15, 5, 10, 1}}}},
		{"numbers that are none", `{"type":"step_finish","timestamp":"now","part":{"reason":null,"tokens":{"input":-1,"output":"9","reasoning":1e400,"cache":[1]},"cost":-2}}`,
			Event{Type: StepFinish}},
		{"error", `{"type":"error","error":{"name":"APIError","data":{"message":"m","statusCode":429,"isRetryable":true,"responseHeaders":{"Retry-After":"1","x":5},"responseBody":"{\"a\":1}","metadata":{"url":"u"}}}}`,
			Event{Type: Failure, Err: Err{Name: "APIError", Message: "m", Status: 429, Retryable: &yes, Headers: map[string]string{"retry-after": "1"}, Body: `{"a":1}`}}},
		{"error with a reference", `{"type":"error","error":{"data":{"ref":"err_1","message":"m"},"name":"UnknownError"}}`,
			Event{Type: Failure, Err: Err{Name: "UnknownError", Message: "m", Ref: "err_1"}}},
		{"error as a string", `{"type":"error","error":"boom"}`, Event{Type: Failure, Err: Err{Message: "boom"}}},
		{"error without data", `{"type":"error","error":{"name":"N","message":"boom"}}`, Event{Type: Failure, Err: Err{Name: "N", Message: "boom"}}},
		{"done", `{"type":"done","reason":"idle","rejected":["edit",{"id":"per_1","permission":"bash","patterns":["x"]},7]}`,
			Event{Type: Done, Rejected: []string{"edit", "bash"}}},
		{"unknown type", `{"type":"session.idle","part":{"text":"x"}}`, Event{Type: "session.idle"}},
		{"a member twice", `{"type":"error","type":"text","part":{"text":"a","tool":"x"},"part":{"text":"b","text":"c"}}`,
			Event{Type: TextBlock, Text: Text{Head: "c", Size: 1, Chars: 1}}},
		{"a part twice", `{"type":"text","part":{"text":"a","sessionID":"s"},"part":{"type":"text"}}`, Event{Type: TextBlock, Text: Text{blank: true}}},
		{"an exit that is none", `{"type":"tool_use","part":{"tool":"bash","state":{"metadata":{"exit":1.5}}}}`, Event{Type: ToolUse, Tool: Tool{Name: "bash"}}},
		{"twice, the last of a wrong type", `{"type":"text","part":{"text":"a","text":5}}`, Event{Type: TextBlock, Text: Text{blank: true}}},
		{"wrong types", `{"type":"tool_use","sessionID":5,"part":{"tool":[1],"callID":{},"state":"x"}}`, Event{Type: ToolUse}},
		{"nested types", `{"x":{"type":"error"},"part":{"type":"text","state":{"type":"error"},"text":"t"},"type":"text"}`,
			Event{Type: TextBlock, Text: Text{Head: "t", Size: 1, Chars: 1}}},
		{"escaped keys", `{"\u0074ype":"te\u0078t","part":{"\u0074ext":"t"}}`, Event{Type: TextBlock, Text: Text{Head: "t", Size: 1, Chars: 1}}},
		{"white space", " { \"type\" : \"text\" , \"part\" : { \"text\" : \"t\" } } \r", Event{Type: TextBlock, Text: Text{Head: "t", Size: 1, Chars: 1}}},
	} {
		got := decode(t, tc.line)
		if len(got) != 1 || !reflect.DeepEqual(got[0], tc.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", tc.name, got, tc.want)
		}
	}
}

func TestStrings(t *testing.T) {
	for in, want := range map[string]string{
		`"\"\\\/\b\f\n\r\t"`:         "\"\\/\b\f\n\r\t",
		`"\u00e9\u4e16\ud83d\ude00"`: "é世😀",
		`"\ud83d"`:                   "\ufffd",
		`"\ud83dx\ude00"`:            "\ufffdx\ufffd",
		`"\ud83d\ud83d\ude00"`:       "\ufffd😀",
		`"\ud83d\u0041"`:             "\ufffdA",
		`"\ude00\ude00"`:             "\ufffd\ufffd",
		`"世界 é 😀 \\ and so on, 世界 é 😀"`: "世界 é 😀 \\ and so on, 世界 é 😀",
		"\"a\xffb\xe4\xb8\"":            "a\ufffdb\ufffd\ufffd",
		"\"\xed\xa0\x80\"":              "\ufffd\ufffd\ufffd",
		"\"a\x01\tb\"":                  "a\x01\tb",
		`"\\\\"`:                        `\\`,
		`"\\\""`:                        `\"`,
	} {
		for _, pad := range []int{0, frame} {
			text := strings.Repeat(" ", pad) + line(in)
			got := decode(t, text)
			if len(got) != 1 || got[0].Text.Head != want || got[0].Text.Size != int64(len(want)) {
				t.Errorf("%s after %d bytes: %+v", in, pad, got)
			}
		}
		for frame := 16; frame < 60; frame++ {
			got := all(t, newStream(strings.NewReader(line(in)), nil, frame))
			if len(got) != 1 || got[0].Text.Head != want {
				t.Errorf("%s in pieces of %d: %+v", in, frame, got)
			}
		}
	}
}

func TestLinesThatAreNoEvent(t *testing.T) {
	for name, text := range map[string]string{
		"prose": "Hello from the model", "a number": "5", "an array": `[{"type":"text"}]`, "no type": `{"a":{"type":"text"}}`, "type is no string": `{"type":5}`,
		"cut": `{"type":"text","part":{"text":"abc`, "cut in an escape": `{"type":"text","part":{"text":"abc\u12`, "cut after a backslash": `{"type":"text\`,
		"bad escape": `{"type":"text","part":{"text":"\x"}}`, "bad hex": `{"type":"text","part":{"text":"\u12g4"}}`,
		"no colon": `{"type" "text"}`, "no comma": `{"type":"text" "a":1}`, "trailing comma": `{"type":"text",}`, "brackets that do not match": `{"type":"text","a":[1}]}`,
		"bad word": `{"type":"text","a":nul}`, "unclosed": `{"type":"text"`, "only a brace": "{", "a key that is none": `{type:"text"}`,
		"too deep":     `{"type":"text","a":` + strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1) + `}`,
		"the deep end": `{"a":` + strings.Repeat(`{"a":`, 1<<20), "brackets only": strings.Repeat("[", 1<<20),
	} {
		got := decode(t, text+"\n"+line(`"next"`)+"\n")
		if len(got) != 2 || got[0].Type != Noise || got[1].Text.Head != "next" {
			t.Errorf("%s: %+.300v", name, got)
			continue
		}
		if h := got[0].Text.Head; len(h) > noiseLimit || !strings.HasPrefix(text, h) || got[0].Text.Size != int64(len(text)) {
			t.Errorf("%s: head of %d bytes, size %d", name, len(h), got[0].Text.Size)
		}
	}
	deep := `{"a":` + strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth) + `,"type":"text"}`
	if got := decode(t, deep); len(got) != 1 || got[0].Type != TextBlock {
		t.Errorf("as deep as may be: %+v", got)
	}
}

func TestHeadEndsBetweenCodePoints(t *testing.T) {
	got := decode(t, line(`"x`+strings.Repeat("é", HeadLimit)+`"`))
	if h := got[0].Text.Head; len(h) != HeadLimit-1 || h != "x"+strings.Repeat("é", HeadLimit/2-1) {
		t.Errorf("head of %d bytes, ends in %q", len(h), h[len(h)-4:])
	}
}

func TestSessionIDs(t *testing.T) {
	for _, id := range []string{"ses_dd7fb1c98ffeoCOy6oYOvStGCp", "ses_a-_Z9", "ses_" + strings.Repeat("a", 64)} {
		if ValidSession(id) != id {
			t.Errorf("%q is none", id)
		}
	}
	for _, id := range []string{"", "ses_", "ses", "xses_a", "ses_a/b", "ses_a b", "ses_a\n", "ses_..", "ses_é", "SES_a", "ses_" + strings.Repeat("a", 65)} {
		if got := ValidSession(id); got != "" {
			t.Errorf("%q is %q", id, got)
		}
	}
}

func TestTodosInPieces(t *testing.T) {
	text := `{"type":"tool_use","part":{"tool":"todowrite","state":{"metadata":{"todos":[` + strings.Repeat(`{"content":"`+strings.Repeat("long ", 500)+`","status":"completed"},`, 1000) + `{"content":"` + strings.Repeat("x", 2000) + `","status":"in_progress"}]}}}}`
	for _, frame := range []int{16, 1000, 1 << 20} {
		e, err := newStream(strings.NewReader(text), nil, frame).Next()
		if err != nil || e.Tool.Todo == nil || *e.Tool.Todo != (Todo{Done: 1000, Total: 1001, Active: strings.Repeat("x", lineLimit)}) {
			t.Errorf("frame %d: %+v, %v", frame, e.Tool, err)
		}
	}
}
