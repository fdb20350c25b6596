package event

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

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
