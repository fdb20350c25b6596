//go:build unix

package tree

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// slowDiff is the textbook's longest common subsequence.
func slowDiff(a, b [][]byte) (ins, del int) {
	prev, next := make([]int, len(b)+1), make([]int, len(b)+1)
	for i := range a {
		for j := range b {
			if bytes.Equal(a[i], b[j]) {
				next[j+1] = prev[j] + 1
			} else {
				next[j+1] = max(prev[j+1], next[j])
			}
		}
		prev, next = next, prev
	}
	return len(b) - prev[len(b)], len(a) - prev[len(b)]
}

func checkDiff(t *testing.T, a, b []byte) {
	t.Helper()
	ins, del, ok := diffLines(a, b)
	wantIns, wantDel := slowDiff(splitLines(a), splitLines(b))
	if !ok || ins != wantIns || del != wantDel {
		t.Fatalf("%q -> %q: +%d -%d %v, want +%d -%d", a, b, ins, del, ok, wantIns, wantDel)
	}
}

func TestDiffLinesIsAShortestEdit(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	text := func() []byte {
		var b bytes.Buffer
		for range rnd.IntN(40) {
			fmt.Fprintf(&b, "%d\n", rnd.IntN(9))
		}
		if rnd.IntN(3) == 0 {
			b.WriteString("end")
		}
		return b.Bytes()
	}
	for range 3000 {
		checkDiff(t, text(), text())
	}
	checkDiff(t, nil, []byte("a\n"))
	checkDiff(t, []byte("a\nb"), nil)
}

// However two files differ, counting ends soon, and says so when it gave up.
func TestDiffLinesIsBounded(t *testing.T) {
	var a, b bytes.Buffer
	for i := range 200_000 {
		fmt.Fprintln(&a, i%1000)
		fmt.Fprintln(&b, (i*7)%1000)
	}
	start := time.Now()
	if _, _, ok := diffLines(a.Bytes(), b.Bytes()); ok {
		t.Error("two hard files were compared to the end")
	}
	var c bytes.Buffer
	for i := range 100_000 {
		fmt.Fprintln(&c, "new", i)
	}
	if ins, del, ok := diffLines(a.Bytes(), c.Bytes()); !ok || ins != 100_000 || del != 200_000 {
		t.Errorf("a rewritten file: +%d -%d %v", ins, del, ok)
	}
	if d := time.Since(start); d > 20*time.Second {
		t.Errorf("took %v", d)
	}
}

// Lines are those of the file that was listed, or none.
func TestFileThatChangesBehindTheSnapshot(t *testing.T) {
	p := newPlace(t)
	p.write("a", "1\n")
	before := take(t, p.dir, Options{})
	p.write("a", "2\n")
	after := take(t, p.dir, Options{KeepBytes: -1})
	p.write("a", "3\n")
	if got := show(Compare(context.Background(), before, after)); got != `modified "a"; lines unknown` {
		t.Error(got)
	}
}
