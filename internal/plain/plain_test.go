package plain

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestClean(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"ordinary", "Grüße, 世界 👋🏽\n\ttab", "Grüße, 世界 👋🏽\n\ttab"},
		{"colour", "a\x1b[1;31mred\x1b[0m b", "ared b"},
		{"private and intermediate", "\x1b[?25l\x1b[38:2::1:2:3m\x1b[1 qx", "x"},
		{"title, BEL", "\x1b]0;title\ax", "x"},
		{"link, ST", "\x1b]8;;https://e.com\x1b\\here\x1b]8;;\x1b\\.", "here."},
		{"clipboard", "\x1b]52;c;aGk=\x1b\\x", "x"},
		{"device control", "\x1bPq#0;2\x1b\\x\x1b_app\x1b\\y\x1b^p\x1b\\z\x1bXs\x1b\\.", "xyz."},
		{"C1 forms", "\u009b31mred\u009d0;t\u009c\u0090q\u009c.", "red."},
		{"C1 bytes", "\x9b31mred\x9b0m\x9d0;t\a.", "red."},
		{"C1 byte that is a quote of Windows", "\x9bHello\x9d \x93x\x94", "Hello x"},
		{"character set", "\x1b(Bx\x1b)0y\x1b#8z", "xyz"},
		{"single", "\x1b7\x1b8\x1bM\x1bcx", "x"},
		{"escape at the end", "x\x1b", "x"},
		{"unfinished control", "x\x1b[31", "x"},
		{"control broken by a newline", "x\x1b[31\ny", "x\ny"},
		{"control broken by a letter beyond ASCII", "\x1b[3é", "é"},
		{"unfinished title ends with its line", "x\x1b]0;title\ny", "x\ny"},
		{"title broken by another sequence", "\x1b]0;title\x1b[31mred", "red"},
		{"escape before escape", "\x1b\x1b[31mred", "red"},
		{"carriage returns", "50%\r100%\r\nend\r", "50%\n100%\nend\n"},
		{"newline after CRLF", "a\r\n\nb\n\r\nc", "a\n\nb\n\nc"},
		{"C0 and DEL", "a\x00b\ac\bd\ve\ff\x7fg", "abcdefg"},
		{"next line", "a\u0085b", "ab"},
		{"bidi", "a\u202eb\u2066c\u2069d\u061ce\u200ef\u200fg\u202ah\u206ai", "abcdefghi"},
		{"kept: joiners, spaces", "a\u200db\u00a0c\ufe0f", "a\u200db\u00a0c\ufe0f"},
		{"invalid", "a\xffb\xc3(\xe2\x82", "a\ufffdb\ufffd(\ufffd"},
		{"surrogate", "\xed\xa0\x80", "\ufffd\ufffd"},
	} {
		if got := Clean(tc.in); got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestAnUnfinishedStringHidesLittle(t *testing.T) {
	text := strings.Repeat("x", 10<<10)
	if got := Clean("\x1b]0;" + text); len(got) < len(text)-stringLimit {
		t.Errorf("%d bytes of %d are left", len(got), len(text))
	}
	if got := Clean("\x1b[" + strings.Repeat("1;", 10<<10)); len(got) < 20<<10-controlLimit {
		t.Errorf("%d bytes are left", len(got))
	}
}

func TestLine(t *testing.T) {
	for _, tc := range []struct {
		in   string
		max  int
		want string
	}{
		{" a\t\x1b[1mb\x1b[0m \r\n c\u2028d ", 20, "a b c d"},
		{"abcdef", 6, "abcdef"},
		{"abcdefg", 6, "abcde…"},
		{"日本語の文", 4, "日本語…"},
		{"abc def", 5, "abc…"},
		{"ab ", 2, "ab"},
		{"ab c", 1, "…"},
		{"abc", 0, ""},
		{"", 5, ""},
		{" \n\t ", 5, ""},
	} {
		if got := Line(tc.in, tc.max); got != tc.want {
			t.Errorf("Line(%q, %d) = %q, want %q", tc.in, tc.max, got, tc.want)
		}
	}
	long := strings.Repeat("word\n", 10<<20)
	if n := testing.AllocsPerRun(1, func() { Line(long, 100) }); n > 50 {
		t.Errorf("a long text cost %v allocations", n)
	}
}

func TestWriterKeepsTheFirstError(t *testing.T) {
	full := errors.New("full")
	w := NewWriter(failing{full})
	if _, err := w.Write([]byte("x")); !errors.Is(err, full) {
		t.Errorf("Write: %v", err)
	}
	if n, err := w.Write([]byte("x")); n != 0 || !errors.Is(err, full) {
		t.Errorf("Write after it: %d, %v", n, err)
	}
	if err := w.Close(); !errors.Is(err, full) {
		t.Errorf("Close: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// forbidden reports whether r must never be in what is shown. It is written apart from the code on purpose.
func forbidden(r rune) bool {
	return r != '\n' && r != '\t' && unicode.Is(unicode.Cc, r) || strings.ContainsRune("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069", r)
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{"a\x1b[31mb", "\x1b]8;;x\x1b\\y", "\r\n\r", "\xe2\x80", "\u202e\u009b1m", "\x9b1\x9d2", "\xe2\x1b[0m\x82\xac", "\xc2\x9b31m"} {
		f.Add(s, uint8(1))
		f.Add(s, uint8(3))
	}
	f.Fuzz(func(t *testing.T, s string, size uint8) {
		got := Clean(s)
		if !utf8.ValidString(got) || strings.ContainsFunc(got, forbidden) {
			t.Errorf("%q became %q", s, got)
		}
		if again := Clean(got); again != got {
			t.Errorf("%q became %q, then %q", s, got, again)
		}
		var b bytes.Buffer
		w := NewWriter(&b)
		for rest := s; rest != ""; {
			n := min(int(size)+1, len(rest))
			w.Write([]byte(rest[:n]))
			rest = rest[n:]
		}
		if w.Close(); b.String() != got {
			t.Errorf("in writes of %d %q became %q, not %q", size+1, s, b.String(), got)
		}
		line := Line(s, int(size))
		if utf8.RuneCountInString(line) > int(size) || strings.ContainsFunc(line, forbidden) || strings.ContainsAny(line, "\n\t") || strings.TrimSpace(line) != line || strings.Contains(line, "  ") {
			t.Errorf("Line(%q, %d) = %q", s, size, line)
		}
		if again := Line(line, int(size)); again != line {
			t.Errorf("Line(%q, %d) = %q, then %q", s, size, line, again)
		}
	})
}

func BenchmarkClean(b *testing.B) {
	text := strings.Repeat("plain prose with some \x1b[1mbold\x1b[0m words, é and 世界\r\n", 20000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if len(Clean(text)) == 0 {
			b.Fatal("nothing is left")
		}
	}
}
