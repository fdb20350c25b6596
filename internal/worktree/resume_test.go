package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
)

// A landing that ends anywhere goes on when it is repeated, and comes to what it would have come to: no file is merged twice.
func TestAnInterruptedLandingGoesOn(t *testing.T) {
	cases(t, 8, func(c *chaos) {
		for range 10 + c.r.IntN(15) {
			c.put(c.name())
		}
		c.write("both", numbered(nil))
		c.write("clash", numbered(nil))
		base := c.take()
		for range 5 + c.r.IntN(15) {
			c.edit()
		}
		c.must(os.RemoveAll(c.path("both")))
		c.must(os.RemoveAll(c.path("clash")))
		c.write("both", numbered(map[int]string{2: "theirs"}))
		c.write("clash", numbered(map[int]string{9: "theirs"}))
		after := c.take()
		c.end(base)
		c.restore(base, Undo{})
		for range c.r.IntN(10) {
			c.edit()
		}
		c.must(os.RemoveAll(c.path("both")))
		c.must(os.RemoveAll(c.path("clash")))
		c.write("both", numbered(map[int]string{20: "mine"}))
		c.write("clash", numbered(map[int]string{9: "mine"}))
		whole := c.apply(base, after)
		want := look(c.t, c.dir, false)
		s, err := Open(fmt.Sprintf("%s/store%d", c.root, c.n))
		c.must(err)
		c.restore(s, Undo{})

		save := c.store()
		var done Landing
		interrupted := 0
		for left := c.r.IntN(60); ; left += 1 + c.r.IntN(60) {
			if done, err = Apply(newFuse(c.t.Context(), left), base, after, c.dir, save, c.options()); err == nil {
				break
			}
			if interrupted++; !errors.Is(err, context.Canceled) {
				c.t.Fatalf("after %d: %v", left, err)
			}
		}
		if got := look(c.t, c.dir, false); got != want {
			c.t.Errorf("after %d interruptions:\n%s", interrupted, differs(want, got))
		}
		if !slices.Equal(done.Changed, whole.Changed) || !slices.Equal(done.Conflicts, whole.Conflicts) || len(whole.Conflicts) == 0 {
			c.t.Errorf("after %d interruptions:\n%+v\nwant\n%+v", interrupted, done, whole)
		}
	})
}

// What the user changes while a landing is cut off is left alone, and named.
func TestALandingThatGoesOnLeavesWhatWasChangedMeanwhile(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"a", "b", "c"} {
		w.write(name, "base\n")
	}
	w.commit()
	base := w.take()
	for _, name := range []string{"a", "b", "c"} {
		w.write(name, "theirs\n")
	}
	after := w.take()
	w.end(base)
	w.restore(base, Undo{})
	save := w.store()
	_, err := Take(t.Context(), w.dir, save, w.options()) // and cut off: nothing was placed but one file
	w.must(err)
	w.write("a", "theirs\n")
	w.write("b", "mine\n")
	done, err := Apply(t.Context(), base, after, w.dir, save, w.options())
	w.must(err)
	if !slices.Equal(done.Changed, []string{"a", "c"}) || len(done.Conflicts) != 1 || done.Conflicts[0] != (Clash{"b", "changed here since the landing was cut off", false}) {
		t.Errorf("%+v", done)
	}
	if w.read("b") != "mine\n" || w.read("c") != "theirs\n" {
		t.Errorf("%q %q", w.read("b"), w.read("c"))
	}
	s, err := Open(save)
	w.must(err)
	w.restore(s, Undo{})
	if w.read("a") != "base\n" || w.read("b") != "mine\n" || w.read("c") != "base\n" {
		t.Errorf("undone: %q %q %q", w.read("a"), w.read("b"), w.read("c"))
	}
}

// A directory that gives way to a file takes empty ones of the user's with it; undo gives them back.
func TestALandingOverEmptyDirectoriesIsUndone(t *testing.T) {
	w := newWorld(t)
	w.write("d/x", "x\n")
	w.commit()
	c := w.newCopy(w.copyOptions())
	w.must(os.RemoveAll(c.Tree() + "/d"))
	w.write(c.Tree()+"/d", "a file now\n")
	w.must(os.MkdirAll(w.path("d/empty/deep"), 0o755))
	before, save := look(t, w.dir, false), w.store()
	_, err := Apply(t.Context(), c.Base(), w.result(c), w.dir, save, w.options())
	w.must(err)
	if got := w.read("d"); got != "a file now\n" {
		t.Errorf("%q", got)
	}
	s, err := Open(save)
	w.must(err)
	w.restore(s, Undo{})
	if got := look(t, w.dir, false); got != before {
		t.Errorf("%s", differs(before, got))
	}
}
