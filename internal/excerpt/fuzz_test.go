package excerpt

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"opencode-delegate/internal/plain"
)

// holds checks what is true of every log, and that it does not matter in which pieces it comes.
func holds(t *testing.T, log string, limit int, piece func() int) {
	t.Helper()
	e, err := Of(strings.NewReader(log), limit)
	if err != nil {
		t.Fatal(err)
	}
	if n := utf8.RuneCountInString(e.Text); n > limit {
		t.Fatalf("%q: %d characters, more than %d", log, n, limit)
	}
	if plain.Clean(e.Text) != e.Text {
		t.Fatalf("%q: not clean: %q", log, e.Text)
	}
	if e.Left < 0 || e.Left > e.Lines || e.Failures < 0 || e.Bytes != int64(len(log)) {
		t.Fatalf("%q: %+v", log, e)
	}
	if clean := plain.Clean(log); !strings.Contains(log, "\r") && utf8.RuneCountInString(clean) <= limit && e.Text != clean {
		t.Fatalf("%q: %q, want %q", log, e.Text, clean)
	}
	w := New(limit)
	for rest := log; rest != ""; {
		n := min(piece(), len(rest))
		w.Write([]byte(rest[:n]))
		rest = rest[n:]
	}
	if again := w.Excerpt(); again != e {
		t.Fatalf("%q: in pieces it is %+v, else %+v", log, again, e)
	}
}

func TestRandomLogs(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	parts := []string{"a", "\r", "\n", "error: ", "x 1\n", "\x1b[", "1m", "\x00", "\xff", "\xe2\x82", "long ", "ß", "模", "fail", "\x9b", "\x1b]0;", "\n\n", "0 ", "exit code 1\n"}
	for range 2000 {
		var b strings.Builder
		for range r.IntN(400) {
			b.WriteString(strings.Repeat(parts[r.IntN(len(parts))], 1+r.IntN(1+r.IntN(30))))
		}
		holds(t, b.String(), r.IntN(3000), func() int { return 1 + r.IntN(60) })
	}
}

func FuzzExcerpt(f *testing.F) {
	f.Add("a\r\nb\x1b[1m\x00\xff\n", 10, 3)
	f.Add(numbered(200, map[int]string{50: "error: x", 90: "failed"}), 2000, 7)
	f.Add(strings.Repeat("n 1\n", 50)+strings.Repeat("long ", 100), 300, 1)
	f.Add("\xe2\x82\n\x9b1m\x9d0;\n", 50, 1)
	f.Fuzz(func(t *testing.T, log string, limit, piece int) {
		holds(t, log, (limit%5000+5000)%5000, func() int { return (piece%50+50)%50 + 1 })
	})
}
