//go:build unix

package tree

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// manyFiles makes n files of 2 to 6 KB in directories of 100.
func manyFiles(t testing.TB, n int) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	line := strings.Repeat("x", 60) + "\n"
	for i := range n {
		if i%100 == 0 {
			if err := os.MkdirAll(fmt.Sprintf("%s/d%d/e%d", dir, i/3000, i/100), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		text := fmt.Sprintf("%d\n", i) + strings.Repeat(line, 33+i%66)
		if err := os.WriteFile(fmt.Sprintf("%s/d%d/e%d/file%d.txt", dir, i/3000, i/100, i), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func BenchmarkTake30000(b *testing.B) {
	dir := manyFiles(b, 30_000)
	for b.Loop() {
		if s := take(b, dir, Options{}); s.Files() != 30_000 {
			b.Fatal(s.Files(), s.reason)
		}
	}
}

func BenchmarkTakeSince30000(b *testing.B) {
	dir := manyFiles(b, 30_000)
	before := take(b, dir, Options{})
	for b.Loop() {
		take(b, dir, Options{Since: before})
	}
}

func BenchmarkTakeStatOnly30000(b *testing.B) {
	dir := manyFiles(b, 30_000)
	for b.Loop() {
		take(b, dir, Options{HashBytes: -1})
	}
}

func BenchmarkCompare30000(b *testing.B) {
	dir := manyFiles(b, 30_000)
	before := take(b, dir, Options{})
	after := take(b, dir, Options{Since: before})
	empty := take(b, b.TempDir(), Options{})
	empty.dir = dir
	b.Run("same", func(b *testing.B) {
		for b.Loop() {
			if c := Compare(context.Background(), before, after); len(c.Files) != 0 {
				b.Fatal(show(c))
			}
		}
	})
	b.Run("all added", func(b *testing.B) {
		for b.Loop() {
			if c := Compare(context.Background(), empty, after); len(c.Files) != 30_000 {
				b.Fatal(len(c.Files))
			}
		}
	})
}
