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
