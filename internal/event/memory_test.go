package event

import (
	"encoding/json"
	"fmt"
	"io"
	"opencode-delegate/internal/redact"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

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
