//go:build unix

package repocode

import (
	"context"
	"fmt"
	"os"
	"testing"
)

func BenchmarkCapture30000(b *testing.B) {
	dir := b.TempDir()
	for i := range 30_000 {
		if i%100 == 0 {
			if err := os.MkdirAll(fmt.Sprintf("%s/d%d/e%d", dir, i/3000, i/100), 0o755); err != nil {
				b.Fatal(err)
			}
		}
		if err := os.WriteFile(fmt.Sprintf("%s/d%d/e%d/file%d.txt", dir, i/3000, i/100, i), nil, 0o644); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		s, err := Capture(context.Background(), dir, Options{})
		if err != nil || len(s.Problems()) > 0 {
			b.Fatal(err, s.Problems())
		}
	}
}
