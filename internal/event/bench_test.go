package event

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"opencode-delegate/internal/redact"
)

// corpus is 100 MB of events as a long run prints them: three quarters are the outputs of tools, some of 45 KB, with the
// escapes of listings and code; the rest are steps and prose.
func corpus(size int) []byte {
	var b bytes.Buffer
	listing := strings.Repeat("-rw-r--r-- 1 me me 4096 Nov 29 16:10 internal/event/stream_test.go\n", 10)
	code := strings.Repeat("\tif err != nil {\n\t\treturn fmt.Errorf(\"reading %q: %w\", name, err) // <nil> & more\n\t}\n", 10)
	quote := func(s string) string { q, _ := json.Marshal(s); return string(q) }
	outputs := []string{quote("ok"), quote(listing), quote(code), quote(strings.Repeat(listing, 4)), quote(strings.Repeat(code+listing, 30))}
	prose := quote(strings.Repeat("The parser now reads the whole line, and the tests say so. ", 20))
	const ids = `"id":"prt_22801e5b5001Yke0fM8Ly9Fos1","messageID":"msg_22801dadc001rtER2XEAbceswT","sessionID":"ses_dd7fe2f15ffeTwx8uNFHVumxV0"`
	for i := 0; b.Len() < size; i++ {
		at := 1795967542750 + i
		fmt.Fprintf(&b, `{"type":"step_start","timestamp":%d,"sessionID":"ses_dd7fe2f15ffeTwx8uNFHVumxV0","part":{%s,"snapshot":"5972912c6f0b05d6981bd5169716c17d9fcd00ce","type":"step-start"}}`+"\n", at, ids)
		out := outputs[i%len(outputs)]
		fmt.Fprintf(&b, `{"type":"tool_use","timestamp":%d,"sessionID":"ses_dd7fe2f15ffeTwx8uNFHVumxV0","part":{"type":"tool","tool":"bash","callID":"call_%d","state":{"status":"completed","input":{"command":"go test ./... && ls -l","description":"run the tests"},"output":%s,"metadata":{"output":%s,"exit":0,"truncated":false},"title":"go test","time":{"start":%d,"end":%d}},%s}}`+"\n", at, i, out, out, at, at, ids)
		fmt.Fprintf(&b, `{"type":"text","timestamp":%d,"sessionID":"ses_dd7fe2f15ffeTwx8uNFHVumxV0","part":{%s,"type":"text","text":%s,"time":{"start":%d,"end":%d}}}`+"\n", at, ids, prose, at, at)
		fmt.Fprintf(&b, `{"type":"step_finish","timestamp":%d,"sessionID":"ses_dd7fe2f15ffeTwx8uNFHVumxV0","part":{%s,"reason":"tool-calls","snapshot":"5972912c6f0b05d6981bd5169716c17d9fcd00ce","type":"step-finish","tokens":{"total":120,"input":90,"output":15,"reasoning":5,"cache":{"write":0,"read":10}},"cost":0.000131}}`+"\n", at, ids)
	}
	return b.Bytes()
}

// BenchmarkStream is all that a run does with its events: frame, redact, log, decode, fold.
func BenchmarkStream(b *testing.B) {
	text := corpus(100 << 20)
	set := redact.New([]string{"A_KEY=q7ZkK2mQ9wErTy", "B_TOKEN=ghp_16C7e42F292c6912E7710c838347Ae178B4a", "C_SECRET=c0rrect-horse"})
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		var tr Transcript
		s := NewStream(bytes.NewReader(text), NewLog(io.Discard, set))
		for {
			e, err := s.Next()
			if err != nil {
				break
			}
			tr.Add(e)
		}
		if tr.Tools() == 0 || tr.Foreign() != 0 {
			b.Fatalf("%d tools, %d foreign events", tr.Tools(), tr.Foreign())
		}
	}
}

// BenchmarkUnmarshal is the same with encoding/json, for comparison: no framing, no redaction, no log.
func BenchmarkUnmarshal(b *testing.B) {
	text := corpus(20 << 20)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		for line := range bytes.Lines(text) {
			var e struct {
				Type, SessionID string
				Timestamp       int64
				Part            struct{ Text, Tool, Reason string }
			}
			if err := json.Unmarshal(line, &e); err != nil {
				b.Fatal(err)
			}
		}
	}
}
