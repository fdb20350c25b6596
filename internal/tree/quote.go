package tree

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Quote gives a file name a form that is valid UTF-8 and stands for one name only. A name that is UTF-8 stays as it is; any other, and one
// that starts with a quotation mark, is put in quotation marks, with \" and \\, and \377 for a byte that is no part of a character.
func Quote(name string) string {
	if utf8.ValidString(name) && !strings.HasPrefix(name, `"`) {
		return name
	}
	var b strings.Builder
	b.WriteByte('"')
	for i := 0; i < len(name); {
		r, n := utf8.DecodeRuneInString(name[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\%03o`, name[i])
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		default:
			b.WriteString(name[i : i+n])
		}
		i += n
	}
	b.WriteByte('"')
	return b.String()
}

// Unquote is the inverse of Quote.
func Unquote(s string) (string, error) {
	if !strings.HasPrefix(s, `"`) {
		return s, nil
	}
	bad := fmt.Errorf("file name %q: not as written by Quote", s)
	if len(s) < 2 || s[len(s)-1] != '"' {
		return "", bad
	}
	in := s[1 : len(s)-1]
	var b strings.Builder
	for i := 0; i < len(in); i++ {
		switch {
		case in[i] == '"':
			return "", bad
		case in[i] != '\\':
			b.WriteByte(in[i])
		case i+1 < len(in) && (in[i+1] == '"' || in[i+1] == '\\'):
			i++
			b.WriteByte(in[i])
		case i+3 < len(in):
			n, err := strconv.ParseUint(in[i+1:i+4], 8, 8)
			if err != nil {
				return "", bad
			}
			b.WriteByte(byte(n))
			i += 3
		default:
			return "", bad
		}
	}
	if Quote(b.String()) != s {
		return "", bad
	}
	return b.String(), nil
}
