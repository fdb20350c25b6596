package worktree

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestCounts(t *testing.T) {
	w := newWorld(t)
	w.write("two\nlines", "a\nb\n")
	w.write("bin", "\x00a")
	w.write("mode", "x\n")
	w.write("ünd gone", "1\n2\n3\n")
	w.write("moves", numbered(nil))
	w.commit()
	base := w.take()
	w.write("two\nlines", "a\nc\nd\n")
	w.write("bin", "\x00b")
	w.must(os.Chmod(w.path("mode"), 0o755))
	w.must(os.Remove(w.path("ünd gone")))
	w.must(os.Rename(w.path("moves"), w.path("has moved")))
	after := w.take()
	var patch bytes.Buffer
	w.must(Patch(t.Context(), base, after, &patch, 1<<20))
	got, err := Counts(t.Context(), &patch)
	w.must(err)
	want := []Count{{"bin", true, 0, 0}, {"has moved", false, 0, 0}, {"mode", false, 0, 0}, {"two\nlines", false, 2, 1}, {"ünd gone", false, 0, 3}}
	if !slices.Equal(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	if none, err := Counts(t.Context(), strings.NewReader("")); none != nil || err != nil {
		t.Errorf("%v %v", none, err)
	}
	if _, err := Counts(t.Context(), strings.NewReader("no patch\n")); err == nil {
		t.Error("what is no patch was counted")
	}
}
