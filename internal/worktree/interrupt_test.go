package worktree

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
)

// A fuse is a context that ends after it was asked so many times.
type fuse struct {
	context.Context
	left atomic.Int64
}

func newFuse(ctx context.Context, left int) *fuse {
	f := &fuse{Context: ctx}
	f.left.Store(int64(left))
	return f
}

func (f *fuse) Err() error {
	if f.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// An undo that ends anywhere can be repeated, without force, and gives back the tree.
func TestAnInterruptedUndoCanBeRepeated(t *testing.T) {
	cases(t, 20, func(c *chaos) {
		t := c.t
		for range 5 + c.r.IntN(15) {
			c.put(c.name())
		}
		before := look(t, c.dir, false)
		s := c.take()
		for range 5 + c.r.IntN(15) {
			c.edit()
		}
		c.end(s)
		interrupted := 0
		for left := c.r.IntN(20); ; left += 1 + c.r.IntN(20) {
			_, err := s.Restore(newFuse(c.t.Context(), left), Undo{})
			if err == nil {
				break
			}
			if interrupted++; !errors.Is(err, context.Canceled) {
				t.Fatalf("after %d: %v", left, err)
			}
		}
		if got := look(t, c.dir, false); got != before {
			t.Errorf("after %d interruptions:\n%s", interrupted, differs(before, got))
		}
	})
}

// A snapshot or a copy that was not finished leaves nothing behind, and nothing that is taken for one.
func TestWhatIsInterruptedIsNoSnapshot(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"a", "b", "d/x"} {
		w.write(name, "some text\n")
	}
	w.commit()
	git := look(t, w.path(".git"), true)
	failed := 0
	for left := 0; ; left++ {
		o := w.copyOptions()
		o.ID = "x"
		o.Place = w.store()
		_, err := NewCopy(newFuse(t.Context(), left), o)
		if err == nil {
			break
		}
		failed++
		if _, err := OpenCopy(o.Place); err == nil {
			t.Fatalf("after %d there is a copy", left)
		}
		if got := look(t, w.path(".git"), true); got != git {
			t.Fatalf("after %d the repository is another:\n%s", left, differs(git, got))
		}
	}
	if failed < 10 {
		t.Errorf("only %d interruptions", failed)
	}
}
