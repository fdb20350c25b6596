package event

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"opencode-delegate/internal/redact"
)

// all decodes a whole stream.
func all(t *testing.T, s *Stream) []Event {
	t.Helper()
	var events []Event
	for {
		e, err := s.Next()
		if err == io.EOF {
			return events
		}
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
}

func decode(t *testing.T, text string) []Event {
	t.Helper()
	return all(t, NewStream(strings.NewReader(text), nil))
}

func line(text string) string {
	return `{"type":"text","timestamp":1,"sessionID":"ses_1","part":{"type":"text","text":` + text + `}}`
}

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
			Event{Type: TextBlock, At: at, Session: "ses_1", Text: Text{Head: "a\nb", Size: 3}}},
		{"members in another order", `{"part":{"text":"a","type":"text"},"sessionID":"ses_1","timestamp":1795967542750,"type":"text"}`,
			Event{Type: TextBlock, At: at, Session: "ses_1", Text: Text{Head: "a", Size: 1}}},
		{"session of the part", `{"type":"text","part":{"sessionID":"ses_2","text":" "}}`,
			Event{Type: TextBlock, Session: "ses_2", Text: Text{Head: " ", Size: 1, blank: true}}},
		{"reasoning", `{"type":"reasoning","part":{"type":"reasoning","text":"hm"}}`,
			Event{Type: Reasoning, Text: Text{Head: "hm", Size: 2}}},
		{"command", `{"type":"tool_use","part":{"type":"tool","tool":"bash","callID":"c1","state":{"status":"completed","input":{"description":"d","command":"go test\n./..."},"output":"{\"type\":\"error\"}","metadata":{"output":"x","exit":3},"title":"T"}}}`,
			Event{Type: ToolUse, Tool: Tool{Name: "bash", CallID: "c1", Status: "completed", Exit: &three, Target: "go test ./...", Title: "T"}}},
		{"command without an exit", `{"type":"tool_use","part":{"tool":"bash","state":{"status":"completed","metadata":{"exit":null},"input":{"command":"x"}}}}`,
			Event{Type: ToolUse, Tool: Tool{Name: "bash", Status: "completed", Target: "x"}}},
		{"file", `{"type":"tool_use","part":{"state":{"status":"error","error":"no","input":{"content":"…","filePath":"/a"}},"tool":"write"}}`,
			Event{Type: ToolUse, Tool: Tool{Name: "write", Status: "error", Error: "no", Target: "/a"}}},
		{"invalid", `{"type":"tool_use","part":{"tool":"invalid","state":{"status":"completed","input":{"error":"unavailable","tool":"frob"}}}}`,
			Event{Type: ToolUse, Tool: Tool{Name: "invalid", Status: "completed", Error: "unavailable", Target: "frob"}}},
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
			Event{Type: TextBlock, Text: Text{Head: "c", Size: 1}}},
		{"a part twice", `{"type":"text","part":{"text":"a","sessionID":"s"},"part":{"type":"text"}}`, Event{Type: TextBlock, Text: Text{blank: true}}},
		{"an exit that is none", `{"type":"tool_use","part":{"tool":"bash","state":{"metadata":{"exit":1.5}}}}`, Event{Type: ToolUse, Tool: Tool{Name: "bash"}}},
		{"twice, the last of a wrong type", `{"type":"text","part":{"text":"a","text":5}}`, Event{Type: TextBlock, Text: Text{blank: true}}},
		{"wrong types", `{"type":"tool_use","sessionID":5,"part":{"tool":[1],"callID":{},"state":"x"}}`, Event{Type: ToolUse}},
		{"nested types", `{"x":{"type":"error"},"part":{"type":"text","state":{"type":"error"},"text":"t"},"type":"text"}`,
			Event{Type: TextBlock, Text: Text{Head: "t", Size: 1}}},
		{"escaped keys", `{"\u0074ype":"te\u0078t","part":{"\u0074ext":"t"}}`, Event{Type: TextBlock, Text: Text{Head: "t", Size: 1}}},
		{"white space", " { \"type\" : \"text\" , \"part\" : { \"text\" : \"t\" } } \r", Event{Type: TextBlock, Text: Text{Head: "t", Size: 1}}},
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

func TestFraming(t *testing.T) {
	a, b := line(`"a"`), line(`"b"`)
	for name, text := range map[string]string{
		"newlines": a + "\n" + b + "\n", "no newline at the end": a + "\n" + b, "CRLF": a + "\r\n" + b + "\r\n", "blank lines": "\n\n" + a + "\n \r\n" + b + "\n\n",
		"on one line": a + b + "\n", "with spaces": a + " \t" + b, "byte order mark": "\ufeff" + a + "\n" + b, "prose before": "warning: {x} " + a + "\n\x1b[0m" + b, "prose after": a + " bye\n" + b + "]",
		"prose between": a + "; then " + b, "something without a type before": `{"x":1}` + a + "\n" + b,
	} {
		for _, r := range []io.Reader{strings.NewReader(text), iotest.OneByteReader(strings.NewReader(text)), strings.NewReader(strings.Repeat("\n", frame) + text)} {
			got := all(t, NewStream(r, nil))
			if len(got) != 2 || got[0].Text.Head != "a" || got[1].Text.Head != "b" {
				t.Errorf("%s: %+v", name, got)
			}
		}
		for frame := 16; frame < 60; frame++ {
			got := all(t, newStream(strings.NewReader(text), nil, frame))
			if len(got) != 2 || got[0].Text.Head != "a" || got[1].Text.Head != "b" {
				t.Errorf("%s in pieces of %d: %+v", name, frame, got)
			}
		}
	}
	for n := range 40 {
		if got := all(t, newStream(strings.NewReader(strings.Repeat(".", n)+a), nil, 16)); len(got) != 1 || got[0].Text.Head != "a" {
			t.Errorf("after %d bytes of prose: %+v", n, got)
		}
	}
	// What looks like an event inside other text is one only beyond doubt.
	for _, text := range []string{`see {"type":"error"}`, `lost head "part":{"type":"text","sessionID":"ses_1","text":"x"}}`, `tail {"type":"new","timestamp":1,"sessionID":"s"}`} {
		if got := decode(t, text); len(got) != 1 || got[0].Type != Noise {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

func TestSourceErrorComesAfterWhatItGave(t *testing.T) {
	broken := errors.New("broken")
	s := NewStream(io.MultiReader(strings.NewReader(line(`"a"`)), iotest.ErrReader(broken)), nil)
	if e, err := s.Next(); err != nil || e.Text.Head != "a" {
		t.Errorf("%+v, %v", e, err)
	}
	for range 2 {
		if _, err := s.Next(); !errors.Is(err, broken) {
			t.Errorf("%v", err)
		}
	}
}

func TestLinesOfEveryLength(t *testing.T) {
	for _, size := range []int{0, 1, frame - 200, frame - 100, frame - 83, frame, frame + 1, 2*frame - 83, HeadLimit, HeadLimit + 1, 3*frame + 7} {
		text := strings.Repeat("é\n\"\\x", size/6)
		quoted, _ := json.Marshal(text)
		var log bytes.Buffer
		got := all(t, NewStream(strings.NewReader(line(string(quoted))+"\n"+line(`"after"`)), NewLog(&log, redact.New(nil))))
		if len(got) != 2 || got[0].Text.Size != int64(len(text)) || !strings.HasPrefix(text, got[0].Text.Head) || got[1].Text.Head != "after" {
			t.Fatalf("size %d: %d events, %+.200v", size, len(got), got)
		}
		if want := min(len(text), HeadLimit); len(got[0].Text.Head) < want-4 || got[0].Text.Whole() != (len(text) <= HeadLimit) {
			t.Errorf("size %d: head of %d", size, len(got[0].Text.Head))
		}
		var whole strings.Builder
		for i, want := range []string{text, "after"} {
			whole.Reset()
			if err := CopyText(&whole, bytes.NewReader(log.Bytes()), got[i].Text.Line); err != nil || whole.String() != want {
				t.Errorf("size %d: %v, %d bytes of %d copied", size, err, whole.Len(), len(want))
			}
		}
	}
}

func TestHeadEndsBetweenCodePoints(t *testing.T) {
	got := decode(t, line(`"x`+strings.Repeat("é", HeadLimit)+`"`))
	if h := got[0].Text.Head; len(h) != HeadLimit-1 || h != "x"+strings.Repeat("é", HeadLimit/2-1) {
		t.Errorf("head of %d bytes, ends in %q", len(h), h[len(h)-4:])
	}
}

func TestLogIsRedactedAndSpansFit(t *testing.T) {
	const secret = "s3cret/va\"lue"
	quoted, _ := json.Marshal("x " + secret + " y " + strings.Repeat("long ", frame/3) + secret)
	lines := []string{"noise with " + secret, line(`"one `+strings.ReplaceAll(secret, `"`, `\"`)+`"`) + line(`"two"`), line(string(quoted)), "", "junk " + line(`"three"`), line(string(quoted)) + " " + line(`"four"`)}
	var log bytes.Buffer
	set := redact.New([]string{"MY_KEY=" + secret})
	l := NewLog(&log, set)
	got := all(t, NewStream(iotest.HalfReader(strings.NewReader(strings.Join(lines, "\n"))), l))
	if l.Err() != nil || set.Found(log.String()) || strings.Contains(log.String(), "s3cret") {
		t.Errorf("the log holds the secret, or failed: %v", l.Err())
	}
	if n := strings.Count(log.String(), "\n"); n != len(lines) || !strings.HasSuffix(log.String(), "\n") {
		t.Errorf("%d lines of %d", n, len(lines))
	}
	if len(got) != 7 {
		t.Fatalf("%d events", len(got))
	}
	if h := got[0].Text.Head; h != "noise with [redacted]" || log.String()[got[0].Text.Line.Off:][:got[0].Text.Line.N] != h {
		t.Errorf("noise: %+v", got[0])
	}
	redacted := "x [redacted] y " + strings.Repeat("long ", frame/3) + "[redacted]"
	for i, want := range []string{"one [redacted]", "two", redacted, "three", redacted, "four"} {
		e := got[i+1]
		var text strings.Builder
		if err := CopyText(&text, bytes.NewReader(log.Bytes()), e.Text.Line); err != nil || text.String() != want || e.Text.Size != int64(len(want)) {
			t.Errorf("%d: %v: %d bytes of %d", i, err, text.Len(), len(want))
		}
		if raw := log.Bytes()[e.Text.Line.Off:][:e.Text.Line.N]; !json.Valid(raw) {
			t.Errorf("%d: the span is no JSON: %.80s", i, raw)
		}
	}
}

func TestFullDiskStopsNothing(t *testing.T) {
	long, _ := json.Marshal(strings.Repeat("long ", frame))
	w := &disk{room: 150}
	l := NewLog(w, nil)
	s := NewStream(strings.NewReader(line(`"a"`)+"\n"+line(`"b"`)+"\n"+line(string(long))+"\n"+line(`"c"`)+"\n"), l)
	var got []Event
	for range 4 {
		e, err := s.Next()
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, e); len(got) == 3 {
			w.room = 1 << 20 // somebody has made room
		}
	}
	if !errors.Is(l.Err(), errFull) {
		t.Errorf("Err: %v", l.Err())
	}
	if got[0].Text.Line.N == 0 || got[1].Text.Line.N != 0 || got[2].Text.Line.N != 0 || got[1].Text.Head != "b" || got[2].Text.Size != 5*frame {
		t.Errorf("got %+.100v", got)
	}
	var text strings.Builder
	if err := CopyText(&text, bytes.NewReader(w.Bytes()), got[3].Text.Line); err != nil || text.String() != "c" {
		t.Errorf("after the disk had room again: %q, %v", text.String(), err)
	}
	if !strings.HasSuffix(w.String(), "\n"+line(`"c"`)+"\n") {
		t.Errorf("a line that was cut runs into the next: %.300q", w.String())
	}
	if err := CopyText(&text, bytes.NewReader(w.Bytes()), got[1].Text.Line); !errors.Is(err, ErrNoText) {
		t.Errorf("a text that was lost: %v", err)
	}
	if err := CopyText(&text, bytes.NewReader(w.Bytes()), Span{Off: 1, N: 50}); !errors.Is(err, ErrNoText) {
		t.Errorf("a wrong span: %v", err)
	}
	if err := CopyText(&disk{}, bytes.NewReader(w.Bytes()), got[0].Text.Line); !errors.Is(err, errFull) {
		t.Errorf("a full disk: %v", err)
	}
}

var errFull = errors.New("disk full")

// A disk has room for so many bytes.
type disk struct {
	bytes.Buffer
	room int
}

func (d *disk) Write(p []byte) (int, error) {
	n := min(len(p), d.room)
	d.room -= n
	d.Buffer.Write(p[:n])
	if n < len(p) {
		return n, errFull
	}
	return n, nil
}

// TestOneHugeLine feeds 50 MB in one line, once as plain prose and once as what is dearest: escapes and a secret's
// beginning again and again.
func TestOneHugeLine(t *testing.T) {
	for name, unit := range map[string]string{"prose": "some words and more; ", "escapes": `\n\"\u00e9\\ s3cret `} {
		log, err := os.Create(filepath.Join(t.TempDir(), "log"))
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		const size = 50 << 20 / factor
		n := size / len(unit)
		src := io.MultiReader(strings.NewReader(`{"type":"text","timestamp":1,"sessionID":"ses_1","part":{"text":"`), &repeater{unit: unit, left: n}, strings.NewReader(`"}}`))
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		s := NewStream(src, NewLog(log, redact.New([]string{"MY_KEY=s3cret12"})))
		e, err := s.Next()
		var decoded counter
		var plain string
		json.Unmarshal([]byte(`"`+unit+`"`), &plain)
		copied := CopyText(&decoded, log, e.Text.Line)
		runtime.ReadMemStats(&after)
		if err != nil || e.Text.Size != int64(n*len(plain)) || !strings.HasPrefix(e.Text.Head, plain) || len(e.Text.Head) < HeadLimit-4 {
			t.Errorf("%s: %v, %d bytes, head %d", name, err, e.Text.Size, len(e.Text.Head))
		}
		if copied != nil || int64(decoded) != e.Text.Size {
			t.Errorf("%s: %v, %d bytes copied of %d", name, copied, decoded, e.Text.Size)
		}
		if used := after.Sys - before.Sys; used > 8<<20 && factor == 1 {
			t.Errorf("%s: takes %d KiB", name, used>>10)
		}
		if _, err := s.Next(); err != io.EOF {
			t.Errorf("%s: %v", name, err)
		}
	}
}

type counter int64

func (c *counter) Write(p []byte) (int, error) { *c += counter(len(p)); return len(p), nil }

// A repeater gives a unit again and again, cut anywhere.
type repeater struct {
	unit string
	left int
	rest string
}

func (r *repeater) Read(p []byte) (n int, _ error) {
	for n < len(p) {
		if r.rest == "" {
			if r.left == 0 {
				break
			}
			r.left--
			r.rest = r.unit
		}
		k := copy(p[n:], r.rest)
		r.rest = r.rest[k:]
		n += k
	}
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

func TestMemoryStaysWhereItIs(t *testing.T) {
	block := strings.Repeat(fmt.Sprintf("%s\n", line(`"`+strings.Repeat("word ", 2000)+`"`)), 100)
	var tr Transcript
	s := NewStream(&repeater{unit: block, left: 60 / factor}, NewLog(io.Discard, redact.New(nil)))
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	n := 0
	for ; ; n++ {
		e, err := s.Next()
		if err != nil {
			break
		}
		tr.Add(e)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if n != 60/factor*100 || len(tr.Texts()) != n {
		t.Errorf("%d events, %d texts", n, len(tr.Texts()))
	}
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 4<<20 && factor == 1 {
		t.Errorf("%d KiB more are in use after 60 MB of events", grown>>10)
	}
	runtime.KeepAlive(&tr)
}
