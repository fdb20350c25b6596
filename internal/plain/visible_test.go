package plain

import (
	"testing"
	"unicode/utf8"
)

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"":                            "",
		"a\tb\nü \u200b":              "a\tb\nü \u200b",
		"end\r\n":                     "end␍\n",
		"\x1b[31mred\x00\x7f":         "␛[31mred␀␡",
		"if \u202e// \u2066x":         "if <U+202E>// <U+2066>x",
		"a\u2028b\u2029c\u0085d":      "a<U+2028>b<U+2029>c<U+0085>d",
		"\xffx\xc3":                   "\ufffdx\ufffd",
		"a\vb\fc":                     "a␋b␌c",
		"<U+202E> is what it says it": "<U+202E> is what it says it",
	} {
		if got := Visible(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func FuzzVisible(f *testing.F) {
	f.Add("a\r\n\x1b]0;t\a\u202e\xff")
	f.Fuzz(func(t *testing.T, s string) {
		v := Visible(s)
		if !utf8.ValidString(v) || Clean(v) != v || Visible(v) != v || utf8.RuneCountInString(v) < utf8.RuneCountInString(s) {
			t.Errorf("%q: %q", s, v)
		}
	})
}
