package worktree

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

// manyFiles makes n files of 2 to 6 KB in directories of 100.
func manyFiles(t testing.TB, dir string, n int) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 1))
	for i := range n {
		if i%100 == 0 {
			if err := os.MkdirAll(fmt.Sprintf("%s/d%d/e%d", dir, i/3000, i/100), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		var text strings.Builder
		for text.Len() < 2000+i%66*60 {
			fmt.Fprintf(&text, "line%d of value%x\n", r.IntN(500), r.IntN(500))
		}
		if err := os.WriteFile(fmt.Sprintf("%s/d%d/e%d/file%d.txt", dir, i/3000, i/100, i), []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func benchTake(b *testing.B, n int) {
	dir := b.TempDir()
	manyFiles(b, dir, n)
	stores := b.TempDir()
	i := 0
	for b.Loop() {
		i++
		store := fmt.Sprintf("%s/%d", stores, i)
		if _, err := Take(b.Context(), dir, store, Options{}); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		os.RemoveAll(store)
		b.StartTimer()
	}
}

func BenchmarkTake30000(b *testing.B) { benchTake(b, 30_000) }
func BenchmarkTake100(b *testing.B)   { benchTake(b, 100) }
