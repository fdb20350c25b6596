package planted

import (
	"fmt"
	"testing"
)

// BenchmarkOrdinary: 40 snapshots and a plugin of 5,000 files, nothing changed. One operation is a Capture and a Check.
func BenchmarkOrdinary(b *testing.B) {
	o := newBench(b)
	for i := range 40 {
		o.snapshot(b, fmt.Sprintf("snapshot/project/%d", i))
	}
	for i := range 5000 {
		o.put(b, fmt.Sprintf("cache/packages/big/node_modules/p%d/index-%d.js", i/20, i), "x")
	}
	for b.Loop() {
		s, err := Capture(b.Context(), o.dirs)
		if err != nil {
			b.Fatal(err)
		}
		if found, err := Check(b.Context(), s, o.keep); err != nil || len(found) != 0 {
			b.Fatal(found, err)
		}
	}
}
