package plain

import (
	"fmt"
	"strings"
)

// Visible returns s with signs in place of what must not be shown, for a reader who has to judge the text itself and not what it looks
// like: a control character becomes its picture (U+2400 and after), another hidden one its number, such as <U+202E>. Newlines and tabs stay, a
// line or paragraph separator does not, and what is no UTF-8 becomes U+FFFD. Visible(Visible(s)) == Visible(s), and Clean changes nothing of it.
func Visible(s string) string {
	if isClean(s) && !strings.ContainsAny(s, "\u2028\u2029") {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range s {
		switch {
		case r == '\n' || r == '\t':
			b.WriteRune(r)
		case r < ' ':
			b.WriteRune('\u2400' + r)
		case r == 0x7f:
			b.WriteRune('\u2421')
		case hidden(r) || r == '\u2028' || r == '\u2029':
			fmt.Fprintf(&b, "<U+%04X>", r)
		default:
			b.WriteRune(r) // utf8.RuneError for what is none
		}
	}
	return b.String()
}
