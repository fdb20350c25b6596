package event

import (
	"bytes"
	"encoding/json"
	"io"
	"reflect"
	"strings"
	"testing"

	"opencode-delegate/internal/redact"
)

// FuzzStream decodes anything, as short lines and in small pieces, and compares both; and with encoding/json where it
// can read the line.
func FuzzStream(f *testing.F) {
	for _, s := range []string{
		line(`"a\n\ud83d\ude00\u00e9 \"x\\"`), line(`"s3cret12"`) + line(`"b"`) + "\r\n\n", `{"type":"error","error":{"name":"E","data":{"responseHeaders":{"A":"b"},"statusCode":401}}}`,
		`{"type":"tool_use","part":{"tool":"bash","state":{"input":{"command":"x"},"metadata":{"exit":-1}}}}`, `{"type":"step_finish","part":{"reason":"stop","tokens":{"input":1e2},"cost":0.5}}`,
		`{"a":[{"b":[1,2.5e3,true,null,"\\"]}],"type":"text"}`, `junk {"` + line(`"a"`), "{\"type\":\"text\",\"part\":{\"text\":\"\xff\xc3\"}}", `{"type":"te`, `{"part":{"text":"1"},"part":{"text":"2","text":3},"type":"text"}`,
		`{"type":"done","rejected":["a",{"permission":"b"}]}`, strings.Repeat("[", 100) + strings.Repeat(`{"a":`, 100),
	} {
		f.Add([]byte(s), uint8(0))
		f.Add([]byte(s), uint8(5))
	}
	set := redact.New([]string{"MY_KEY=s3cret12", "X_SECRET=\\n\"ab\\u00"})
	f.Fuzz(func(t *testing.T, text []byte, size uint8) {
		if len(text) > 16<<10 {
			return
		}
		var whole, pieces bytes.Buffer
		want := all(t, NewStream(bytes.NewReader(text), NewLog(&whole, set)))
		got := all(t, newStream(bytes.NewReader(text), NewLog(&pieces, set), 16+int(size)))
		if len(got) != len(want) {
			t.Fatalf("%d events in one piece, %d in pieces of %d:\n%+v\n%+v", len(want), len(got), size, want, got)
		}
		if !bytes.Equal(whole.Bytes(), pieces.Bytes()) && !bytes.ContainsAny(text, " \t\r\ufeff") { // white space in front hides from a small piece that it is JSON
			t.Errorf("log in one piece %q, in pieces of %d %q", whole.Bytes(), size, pieces.Bytes())
		}
		for i := range want {
			if want[i].Type == Noise {
				want[i].Text.Head, got[i].Text.Head = "", ""
				want[i].Text.Size, got[i].Text.Size = 0, 0
			}
			if !reflect.DeepEqual(got[i], want[i]) {
				t.Errorf("in one piece %+v\nin pieces of %d %+v", want[i], size, got[i])
			}
			if want[i].Type != TextBlock {
				continue
			}
			var copied strings.Builder
			err := CopyText(&copied, bytes.NewReader(whole.Bytes()), want[i].Text.Line)
			if err == nil && copied.String() != want[i].Text.Head || err != nil && want[i].Text.Size > 0 {
				t.Errorf("text %q, copied %q, %v", want[i].Text.Head, copied.String(), err)
			}
		}
		compare(t, text)
	})
}

// compare checks one line against encoding/json.
func compare(t *testing.T, text []byte) {
	var object map[string]any
	if bytes.ContainsAny(text, "\r\n") || json.Unmarshal(text, &object) != nil || object == nil {
		return
	}
	got, err := NewStream(bytes.NewReader(text), nil).Next()
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	kind, _ := object["type"].(string)
	if len(kind) > wordLimit || len(text) > 8<<10 {
		return
	}
	if string(got.Type) != kind {
		t.Fatalf("type %q, want %q", got.Type, kind)
	}
	part, _ := object["part"].(map[string]any)
	switch got.Type {
	case TextBlock, Reasoning:
		if want, _ := part["text"].(string); got.Text.Head != want || got.Text.Size != int64(len(want)) {
			t.Errorf("%s: text %q of %d, want %q", text, got.Text.Head, got.Text.Size, want)
		}
	case StepFinish:
		if want, _ := part["reason"].(string); len(want) <= wordLimit && got.Finish.Reason != want {
			t.Errorf("reason %q, want %q", got.Finish.Reason, want)
		}
		if want, _ := part["cost"].(float64); want > 0 && got.Finish.Cost != want {
			t.Errorf("cost %v, want %v", got.Finish.Cost, want)
		}
	case ToolUse:
		state, _ := part["state"].(map[string]any)
		if want, _ := state["status"].(string); len(want) <= wordLimit && got.Tool.Status != want {
			t.Errorf("status %q, want %q", got.Tool.Status, want)
		}
	case Failure:
		object, _ := object["error"].(map[string]any)
		if want, _ := object["name"].(string); len(want) <= wordLimit && got.Err.Name != want {
			t.Errorf("name %q, want %q", got.Err.Name, want)
		}
	}
}

// FuzzTranscript folds anything: it never panics and never calls a stream complete that has no answer.
func FuzzTranscript(f *testing.F) {
	f.Add([]byte(line(`"a"`) + `{"type":"step_finish","sessionID":"ses_1","part":{"reason":"stop"}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var tr Transcript
		s := NewStream(bytes.NewReader(text), nil)
		for {
			e, err := s.Next()
			if err == io.EOF {
				break
			}
			tr.Add(e)
		}
		if tr.Complete() && (!tr.Answered() || tr.Reason() != "stop" || tr.Open() || len(tr.Errors())+len(tr.Rejected()) > 0) {
			t.Errorf("%q is complete: %+v", text, tr)
		}
	})
}
