package journal

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// TestLimitMemory: a line of 50 MB, whole or not, takes no 50 MB.
func TestLimitMemory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString(`{"type":"text","timestamp":1795967542750,"sessionID":"ses_1","part":{"type":"text","text":"`)
	block := bytes.Repeat([]byte(`some words\n`), 1<<16)
	size := 0
	for size < 50<<20 {
		n, _ := f.Write(block)
		size += n
	}
	check := func(name string, ended bool, want int64) {
		for _, raw := range []bool{false, true} {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			var n counter
			if err := (Log{Path: path, Raw: raw}).Print(t.Context(), &n, ended); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			runtime.ReadMemStats(&after)
			if int64(n) < want || want == 0 && n > 0 {
				t.Errorf("%s, raw %v: %d bytes", name, raw, n)
			}
			if used := after.Sys - before.Sys; used > 8<<20 {
				t.Errorf("%s, raw %v: takes %d KiB", name, raw, used>>10)
			}
		}
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		left := Salvage(path)
		runtime.ReadMemStats(&after)
		if used := after.Sys - before.Sys; used > 8<<20 || len(left.Text) > 256<<10 {
			t.Errorf("%s: Salvage takes %d KiB, gives %d", name, used>>10, len(left.Text))
		}
	}
	check("half", false, 0)
	f.WriteString(`"}}` + "\n")
	f.Close()
	check("whole", false, int64(size))
}

type counter int64

func (c *counter) Write(p []byte) (int, error) { *c += counter(len(p)); return len(p), nil }
