package journal

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// corpus is a file of size bytes of events, as a long run prints them: mostly the outputs of tools, some of 45 KB.
func corpus(b *testing.B, size int64) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "events.jsonl")
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	defer w.Flush()
	listing := strings.Repeat("-rw-r--r-- 1 me me 4096 Nov 29 16:10 internal/event/stream_test.go\n", 10)
	code := strings.Repeat("\tif err != nil {\n\t\treturn fmt.Errorf(\"reading %q: %w\", name, err) // <nil> & more\n\t}\n", 10)
	quote := func(s string) string { q, _ := json.Marshal(s); return string(q) }
	outputs := []string{quote("ok"), quote(listing), quote(code), quote(strings.Repeat(listing, 4)), quote(strings.Repeat(code+listing, 30))}
	prose := quote(strings.Repeat("The parser now reads the whole line,\nand the tests say so. ", 20))
	for i, n := 0, int64(0); n < size; i++ {
		out := outputs[i%len(outputs)]
		k, _ := fmt.Fprint(w, at("step_start", `"part":{}`)+
			toolAt("bash", `"status":"completed","input":{"command":"go test ./... && ls -l"},"output":`+out+`,"metadata":{"output":`+out+`,"exit":0}`)+
			textAt(prose)+at("step_finish", `"part":{"reason":"tool-calls","tokens":{"input":90,"output":15},"cost":0.000131}`))
		n += int64(k)
	}
	return path
}

func BenchmarkPrint(b *testing.B) { benchmark(b, Log{}) }
func BenchmarkRaw(b *testing.B)   { benchmark(b, Log{Raw: true}) }

func benchmark(b *testing.B, l Log) {
	const size = 100 << 20
	l.Path = corpus(b, size)
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		if err := l.Print(b.Context(), io.Discard, true); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSalvage(b *testing.B) {
	const size = 100 << 20
	path := corpus(b, size)
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		if left := Salvage(path); left.Text == "" || left.Usage == nil {
			b.Fatalf("%+v", left)
		}
	}
}
