package redact

import (
	"bytes"
	"fmt"
	"io"
	"testing"
)

// corpus is ordinary JSON lines of a run: prose, a listing, hashes and ids, nothing secret.
func corpus(size int) []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, `{"type":"tool_use","timestamp":%d,"sessionID":"ses_dd7fe2f15ffeTwx8uNFHVumxV0","part":{"tool":"bash","state":{"status":"completed","output":"`, 1795967542750+i)
		for j := range 40 {
			fmt.Fprintf(&b, `-rw-r--r-- 1 me me %d the other thing in src/file_%d.go: see https://example.com/a/b for the rest\n`, i*j, j)
		}
		b.WriteString(`","hash":"5972912c6f0b05d6981bd5169716c17d9fcd00ce"}}}` + "\n")
	}
	return b.Bytes()
}

func environ() []string {
	var env []string
	for i := range 20 {
		env = append(env, fmt.Sprintf("K%d_TOKEN=%dq7Zk%dv/K2mQ9wErTy+%d", i, i*7919, i, i))
	}
	return env
}

func BenchmarkBytesNothingFound(b *testing.B) {
	s, text := New(environ()), corpus(4<<20)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if out := s.Bytes(text); &out[0] != &text[0] {
			b.Fatal("something was found")
		}
	}
}

func BenchmarkWriterNothingFound(b *testing.B) {
	s, text := New(environ()), corpus(4<<20)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		w := s.Writer(io.Discard)
		w.Write(text)
		w.Flush()
	}
}
