package plain

import (
	"fmt"
	"unicode/utf8"
)

// JSON returns a JSON text in which nothing acts on a terminal: what [Clean] would remove stands as \u escapes, which
// changes no value. encoding/json escapes the ASCII controls itself, and leaves DEL, C1 and the marks of direction as they are.
func JSON(data []byte) []byte {
	var out []byte
	done := 0
	for i := 0; i < len(data); {
		r, n := rune(data[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRune(data[i:])
		}
		if r == 0x7f || r >= utf8.RuneSelf && r != utf8.RuneError && hidden(r) {
			out = append(out, data[done:i]...)
			out = fmt.Appendf(out, `\u%04x`, r)
			done = i + n
		}
		i += n
	}
	if done == 0 {
		return data
	}
	return append(out, data[done:]...)
}
