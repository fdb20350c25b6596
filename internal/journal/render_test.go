package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"opencode-delegate/internal/event"
)

// render is what the lines of a file look like.
func render(t *testing.T, text string, zone *time.Location) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "events.jsonl")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := (Log{Path: path, Zone: zone}).Print(t.Context(), &b, true); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// at is a line of opencode's; 1795967542000 is 15:52:22 UTC.
func at(kind, part string) string {
	return `{"type":"` + kind + `","timestamp":1795967542750,"sessionID":"ses_1",` + part + "}\n"
}

func toolAt(tool, state string) string {
	return at("tool_use", `"part":{"type":"tool","tool":"`+tool+`","state":{`+state+`}}`)
}

func textAt(quoted string) string { return at("text", `"part":{"type":"text","text":`+quoted+`}`) }

func TestLinesOfEvents(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"step", at("step_start", `"part":{}`), "T step 1"},
		{"finish", at("step_finish", `"part":{"reason":"stop","tokens":{"input":90,"output":30},"cost":0.000131}`), "T step 1 ended: stop, 120 tokens, $0.000131"},
		{"finish without numbers", at("step_finish", `"part":{}`), "T step 1 ended: no reason given"},
		{"whole dollars", at("step_finish", `"part":{"reason":"length","cost":20}`), "T step 1 ended: length, $20"},
		{"steps", at("step_start", `"part":{}`) + at("step_finish", `"part":{"reason":"tool-calls"}`) + at("step_start", `"part":{}`), "T step 1\nT step 1 ended: tool-calls\nT step 2"},
		{"text", textAt(`"one"`), "T says: one"},
		{"lines", textAt(`"\n\none\n\n\ttwo\r\nthree\n \n\n"`), "T says: one\n\n         \ttwo\n         three\n          "},
		{"blank text", textAt(`" \n\u200d"`), ""},
		{"text that plays a line", textAt(`"ok\n12:00:00 $ make test → exit 0"`), "T says: ok\n         12:00:00 $ make test → exit 0"},
		{"escapes", textAt(`"a\u001b[31mred\u001b[0m\u202eb\u009b1mc\rd\u0000"`), "T says: aredbc\n         d"},
		{"command", toolAt("bash", `"status":"completed","input":{"command":"go test ./...\n"},"metadata":{"exit":1}`), "T $ go test ./... → exit 1"},
		{"command without a code", toolAt("bash", `"status":"completed","input":{"command":"x"},"metadata":{"exit":null}`), "T $ x"},
		{"command that was refused", toolAt("bash", `"status":"error","error":"The user rejected\npermission","input":{"command":"x"}`), "T failed: bash x: The user rejected permission"},
		{"command with escapes", toolAt("bash", `"status":"completed","input":{"command":"echo \u001b]0;t\u0007\u202ex"},"metadata":{"exit":0}`), "T $ echo x → exit 0"},
		{"file", toolAt("write", `"status":"completed","input":{"content":"x","filePath":"a b.txt"}`), "T write a b.txt"},
		{"only a title", toolAt("mine", `"status":"completed","input":{"x":"y"},"title":"did it"`), "T mine did it"},
		{"nothing but a name", toolAt("mine", `"status":"completed"`), "T mine"},
		{"invalid", toolAt("invalid", `"status":"completed","input":{"tool":"frob","error":"no such tool"}`), "T failed: frob: no such tool"},
		{"failed, no words", toolAt("read", `"status":"error"`), "T failed: read"},
		{"todos", toolAt("todowrite", `"status":"completed","metadata":{"todos":[{"content":"one","status":"completed"},{"content":"two","status":"in_progress"}]}`), "T todowrite 1 of 2 done, now: two"},
		{"todos, all done", toolAt("todowrite", `"status":"completed","metadata":{"todos":[{"content":"one","status":"completed"}]}`), "T todowrite 1 of 1 done"},
		{"reasoning", at("reasoning", `"part":{"text":"hm\nhm"}`), "T thinks: hm hm"},
		{"no reasoning", at("reasoning", `"part":{"text":" "}`), ""},
		{"error", at("error", `"error":{"name":"APIError","data":{"message":"Rate\nlimit","statusCode":429}}`), "T error: APIError (HTTP 429): Rate limit"},
		{"error without a name", at("error", `"error":"boom"`), "T error: boom"},
		{"error without words", at("error", `"error":{"name":"E"}`), "T error: E"},
		{"done", at("done", `"rejected":["edit","bash"]`), "T rejected: edit, bash"},
		{"done and fine", at("done", `"rejected":[]`), ""},
		{"a type of tomorrow", strings.Repeat(at("session.idle", `"x":1`), 3), "T an event that is not known: session.idle"},
	} {
		want := "15:52:22 session ses_1 on 2026-11-29\n" + strings.ReplaceAll(c.want, "T ", "15:52:22 ") + "\n"
		if c.want == "" {
			want = want[:strings.Index(want, "\n")+1]
		}
		if got := render(t, c.in, nil); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, want)
		}
	}
}

func TestLinesThatAreNoEvents(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"noise", "usage: \x1b[1mopencode\x1b[0m\n\n \n{\"a\":\n", "--:--:-- | usage: opencode\n--:--:-- | {\"a\":\n"},
		{"much", strings.Repeat("noise\n", 1000) + `{"type":"step_start"}` + "\n" + strings.Repeat("more\n", 4),
			strings.Repeat("--:--:-- | noise\n", 3) + "--:--:-- | and 997 more lines that are no event\n--:--:-- step 1\n" + strings.Repeat("--:--:-- | more\n", 3) + "--:--:-- | and 1 more lines that are no event\n"},
		{"no time, no session", `{"type":"text","part":{"text":"a"}}`, "--:--:-- says: a\n"},
		{"two sessions", `{"type":"step_start","sessionID":"ses_1"}` + "\n" + `{"type":"step_start","sessionID":"ses_1"}` + "\n" + `{"type":"step_start","sessionID":"ses_\u001b[31m2"}`,
			"--:--:-- session ses_1\n--:--:-- step 1\n--:--:-- step 2\n--:--:-- session ses_2\n--:--:-- step 3\n"},
		{"half a line", `{"type":"te`, "--:--:-- | {\"type\":\"te\n"},
		{"nothing", "", ""},
	} {
		if got := render(t, c.in, nil); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

func TestStrangersAreNamedOnce(t *testing.T) {
	var in strings.Builder
	for i := range 100 {
		fmt.Fprintf(&in, "{\"type\":\"event.%d\"}\n", i%50)
	}
	if got := render(t, in.String(), nil); strings.Count(got, "\n") != strangersShown || !strings.HasSuffix(got, "event.15\n") {
		t.Errorf("%s", got)
	}
}

func TestZone(t *testing.T) {
	want := "00:52:22 session ses_1 on 2026-11-30\n00:52:22 says: a\n"
	if got := render(t, textAt(`"a"`), time.FixedZone("", 9*3600)); got != want {
		t.Errorf("%s", got)
	}
}

// A text beyond what an event holds comes from the file, whole.
func TestLongTexts(t *testing.T) {
	const unit = `words\nof \u202ea line; `
	text := strings.Repeat(unit, 1<<16)
	for name, in := range map[string]string{"one": textAt(`"` + text + `"`), "after another": "noise\n" + textAt(`"short"`) + textAt(`"`+text+`"`) + textAt(`"end"`)} {
		got := render(t, in, nil)
		if n := strings.Count(got, "         of a line; words\n"); n != 1<<16-1 || strings.Contains(got, "\u202e") {
			t.Errorf("%s: %d lines, %d bytes", name, n, len(got))
		}
		if name != "one" && !strings.HasSuffix(got, "\n15:52:22 says: end\n") {
			t.Errorf("%s: %q", name, got[len(got)-100:])
		}
	}
	e, err := event.NewStream(strings.NewReader(textAt(`"`+text+`"`)), nil).Next()
	if err != nil {
		t.Fatal(err)
	}
	for name, log := range map[string]io.ReaderAt{"without the file": nil, "with another file": strings.NewReader(strings.Repeat("x", 4<<20))} {
		e.Text.Line.N = int64(len(text))
		var b bytes.Buffer
		r := NewRenderer(&b, nil)
		r.Log = log
		if err := r.Event(e); err != nil {
			t.Error(err)
		}
		if got := b.String(); !strings.Contains(got[max(0, len(got)-100):], "…") {
			t.Errorf("%s: no mark in %q", name, got[max(0, len(got)-100):])
		}
	}
}

func TestRenderersEndWithTheirWriter(t *testing.T) {
	full := errors.New("full")
	text := event.Text{Head: "a\nb", Size: 3}
	for _, e := range []event.Event{{Type: event.StepStart}, {Type: event.StepFinish}, {Type: event.TextBlock, Text: text}, {Type: event.ToolUse}, {Type: event.Failure}, {Type: event.Noise}, {Type: "x"}, {Type: event.Done, Rejected: []string{"x"}}, {Type: event.Reasoning, Text: text}} {
		for room := range 3 {
			w := &short{room: room, err: full}
			r := NewRenderer(w, nil)
			var err error
			for range 5 {
				if err = r.Event(e); err != nil {
					break
				}
			}
			if e.Type == "x" && room > 0 { // told once
				continue
			}
			if !errors.Is(err, full) {
				t.Errorf("%q after %d writes: %v", e.Type, room, err)
			}
		}
	}
}

// short takes some writes.
type short struct {
	room int
	err  error
}

func (s *short) Write(p []byte) (int, error) {
	if s.room--; s.room < 0 {
		return 0, s.err
	}
	return len(p), nil
}

// wellFormed is each line that a renderer may write.
var wellFormed = regexp.MustCompile(`^(?:(?:\d\d:\d\d:\d\d|--:--:--) |         |$)`)

func forbidden(r rune) bool {
	return r != '\n' && r != '\t' && unicode.Is(unicode.Cc, r) || strings.ContainsRune("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069", r)
}

// FuzzRenderer shows anything: each line is one of the log's, and nothing in it acts on a terminal; raw lines stay JSON.
func FuzzRenderer(f *testing.F) {
	for _, s := range []string{
		textAt(`"a\nb\u001b[31m"`), toolAt("bash", `"status":"completed","input":{"command":"x"},"metadata":{"exit":1}`), toolAt("invalid", `"input":{"error":"\u009b","tool":"\u202e"}`), "noise\x1b\n" + strings.Repeat("\n\x9b", 9),
		at("error", `"error":{"name":"\r","data":{"message":"\n"}}`), at("\\u001bx", `"a":1`), at("step_finish", `"part":{"reason":"\u0007","cost":1}`), "{\"type\":\"text\",\"part\":{\"text\":\"\xff\xc2\"}}\r\n{\"type\":\"te",
		toolAt("todowrite", `"metadata":{"todos":[{"content":"\u2066","status":"in_progress"}]}`), at("done", `"rejected":["\u001b"]`), at("reasoning", `"part":{"text":"\r\n"}`), `{"type":"step_start","timestamp":1e15,"sessionID":"\u009b"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var b bytes.Buffer
		r := NewRenderer(&b, nil)
		s := event.NewStream(bytes.NewReader(text), nil)
		for {
			e, err := s.Next()
			if err != nil {
				break
			}
			if err := r.Event(e); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		got := b.String()
		if !utf8.ValidString(got) || strings.ContainsFunc(got, forbidden) {
			t.Errorf("%q became %q", text, got)
		}
		if got != "" && !strings.HasSuffix(got, "\n") {
			t.Errorf("%q has no end", got)
		}
		for line := range strings.Lines(got) {
			if !wellFormed.MatchString(strings.TrimSuffix(line, "\n")) {
				t.Errorf("a line of %q is %q", text, line)
			}
		}
		checkRaw(t, text)
	})
}
