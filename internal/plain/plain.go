// Package plain makes text safe to be shown on a terminal or to be read by another program line by line.
//
// It takes out what a terminal would act on and what makes text look different from what it is: escape sequences,
// control characters, and the characters that turn the direction of writing. A carriage return becomes a newline, so
// that nothing can be overwritten; what is no UTF-8 becomes U+FFFD. What remains is valid UTF-8.
package plain

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean returns s without what must not be shown: ANSI escape sequences in their 7-bit and C1 forms, C0 but newline
// and tab, DEL, C1, and bidirectional controls. Clean(Clean(s)) == Clean(s).
func Clean(s string) string {
	if isClean(s) {
		return s
	}
	var c cleaner
	c.out = make([]byte, 0, len(s))
	c.text([]byte(s), true)
	return string(c.out)
}

// Line returns s cleaned and on one line: each run of white space is one space, there is none at either end, and what
// exceeds max code points is cut off and marked by an ellipsis, which counts. It looks no further than it has to.
func Line(s string, max int) string {
	if max <= 0 {
		return ""
	}
	var c cleaner
	var line strings.Builder
	n, space := 0, false
	for len(s) > 0 {
		k := min(len(s), 4<<10)
		c.text([]byte(s[:k]), k == len(s))
		s = s[k:]
		for _, r := range string(c.out) {
			if unicode.IsSpace(r) {
				space = n > 0
				continue
			}
			if space {
				n++
			}
			if n++; n > max {
				return head(line.String(), max-1) + "…"
			}
			if space {
				line.WriteByte(' ')
				space = false
			}
			line.WriteRune(r)
		}
		c.out = c.out[:0]
	}
	return line.String()
}

// head is the first n code points of s, without a space at the end.
func head(s string, n int) string {
	for i := range s {
		if n == 0 {
			s = s[:i]
			break
		}
		n--
	}
	return strings.TrimRight(s, " ")
}

// isClean reports whether there is nothing to do.
func isClean(s string) bool {
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c < ' ' && c != '\n' && c != '\t' || c == 0x7f {
				return false
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 || hidden(r) {
			return false
		}
		i += n
	}
	return true
}

// hidden reports whether r is never shown: C1 and the controls of bidirectional text (marks, embeddings, overrides,
// isolates and the deprecated ones after them).
func hidden(r rune) bool {
	switch {
	case r >= 0x80 && r <= 0x9f,
		r == 0x061c, r == 0x200e, r == 0x200f,
		r >= 0x202a && r <= 0x202e,
		r >= 0x2066 && r <= 0x206f:
		return true
	}
	return false
}
