package watch

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func writes(text string) func(context.Context, string, io.Writer) error {
	return func(_ context.Context, _ string, w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

func TestTailPieces(t *testing.T) {
	for _, text := range []string{"", "\n", "a\n\nb\n", "no end", "界\nb", strings.Repeat("x", longest) + "\ny\n", strings.Repeat("x", longest-1) + "界z\n"} {
		var want []string
		if text != "" {
			want = strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		}
		if len(text) > longest+3 { // the last of the texts
			want = []string{strings.Repeat("x", longest-1), "界z"}
		}
		for _, piece := range []int{1, 2, 3, 7, 1 << 20} {
			tail := newTail(t.Context().Done())
			for chunk := range slices.Chunk([]byte(text), piece) {
				if n, err := tail.Write(chunk); n != len(chunk) || err != nil {
					t.Fatal(n, err)
				}
			}
			tail.end(nil)
			if got := tail.next().(logMsg); !slices.Equal(got.lines, want) || !got.ended || got.from != tail {
				t.Errorf("%.20q in pieces of %d: %.40q, want %.40q", text, piece, got.lines, want)
			}
		}
	}
}

func TestTailOfLongLinesIsWhole(t *testing.T) {
	for shift := range 4 {
		text := strings.Repeat("x", shift) + strings.Repeat("😀", 5000)
		tail := newTail(t.Context().Done())
		tail.Write([]byte(text))
		tail.end(nil)
		msg := tail.next().(logMsg)
		for _, l := range msg.lines {
			if len(l) > longest || !utf8.ValidString(l) {
				t.Errorf("a line of %d bytes, %v", len(l), utf8.ValidString(l))
			}
		}
		if strings.Join(msg.lines, "") != text {
			t.Error("something is lost")
		}
	}
}

// A reader that floods is not held up, and what nobody has taken does not grow.
func TestTailIsBounded(t *testing.T) {
	tail := newTail(t.Context().Done())
	line := []byte(strings.Repeat("x", 100) + "\n")
	for range 100_000 {
		tail.Write(line)
	}
	tail.Write([]byte("last\n"))
	msg := tail.next().(logMsg)
	if n := len(msg.lines); n < kept || n > 2*kept || msg.lines[n-1] != "last" || msg.ended {
		t.Errorf("%d lines, the last %.20q", n, msg.lines[n-1])
	}
	tail.Write([]byte("more\n"))
	if msg := tail.next().(logMsg); !slices.Equal(msg.lines, []string{"more"}) {
		t.Errorf("then %q", msg.lines)
	}
}

func TestFollow(t *testing.T) {
	gone := errors.New("gone")
	src := Source{Log: func(ctx context.Context, id string, w io.Writer) error {
		io.WriteString(w, "log of "+id+"\x1b[")
		io.WriteString(w, "2J\n")
		<-ctx.Done()
		io.WriteString(w, "late\n")
		return gone
	}}
	f := newCommands(t.Context(), src).follow("a")
	ended := make(chan struct{})
	go func() {
		f.read()
		close(ended)
	}()
	if msg := f.tail.next().(logMsg); !slices.Equal(msg.lines, []string{"log of a"}) || msg.ended {
		t.Errorf("%q", msg.lines)
	}
	f.close()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Fatal("the reader is not told that nobody looks")
	}
	if len(f.tail.lines) > 0 {
		t.Errorf("%q is kept for nobody", f.tail.lines)
	}

	f = newCommands(t.Context(), Source{Log: func(context.Context, string, io.Writer) error { return gone }}).follow("a")
	f.read()
	if msg := f.tail.next().(logMsg); !msg.ended || !errors.Is(msg.err, gone) {
		t.Errorf("%+v", msg)
	}
	if msg := newCommands(t.Context(), Source{Cancel: func(_ context.Context, id string) error { return errors.New(id) }}).cancel("x")(); msg.(cancelMsg).err.Error() != "x" {
		t.Errorf("%+v", msg)
	}
}
