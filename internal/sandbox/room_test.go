package sandbox

import (
	"slices"
	"testing"
)

// TestRoom: a program that only reads has its own directory to write in, and shared memory is not among what it asks for.
func TestRoom(t *testing.T) {
	b := newBench(t)
	p, err := Room(b.run.Tmp, b.run.Home, b.run.StateRoot, b.run.Environ)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(p.Write, []string{dirOf(b.run.Tmp)}) {
		t.Errorf("%+v", p)
	}
}
