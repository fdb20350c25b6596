package journal

import (
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"opencode-delegate/internal/plain"
)

// copyRaw writes the lines of src to w, each with a newline, in a form that acts on no terminal. A line that is JSON stays
// JSON with the same values.
func copyRaw(w io.Writer, src io.Reader) error {
	buf := make([]byte, 256<<10)
	held, newline := 0, true
	for {
		n, err := src.Read(buf[held:])
		piece := buf[:held+n]
		if err != nil {
			if err != io.EOF {
				return err
			}
			if len(piece) > 0 || !newline {
				_, err = w.Write(append(escape(piece), '\n'))
				return err
			}
			return nil
		}
		// A code point may lie across two pieces.
		held = unfinished(piece)
		whole := piece[:len(piece)-held]
		if len(whole) > 0 {
			newline = whole[len(whole)-1] == '\n'
		}
		if _, err := w.Write(escape(whole)); err != nil {
			return err
		}
		copy(buf, piece[len(whole):])
	}
}

// unfinished is the number of bytes at the end of b that may be the beginning of a code point.
func unfinished(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if c := b[len(b)-n:]; utf8.RuneStart(c[0]) {
			if !utf8.FullRune(c) {
				return n
			}
			break
		}
	}
	return 0
}

// escape makes JSON lines fit for a terminal. Beside what [plain.JSON] takes care of, a line that only pretends to be JSON may
// hold control characters as they are, and bytes that are no UTF-8.
func escape(b []byte) []byte {
	b = plain.JSON(b)
	if utf8.Valid(b) && !slices.ContainsFunc(b, acts) {
		return b
	}
	out := make([]byte, 0, len(b)+64)
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		switch {
		case r == utf8.RuneError:
			out = utf8.AppendRune(out, r)
		case r == '\r':
			out = append(out, ' ') // white space where JSON allows it
		case r < ' ' && acts(byte(r)):
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			out = append(out, b[:n]...)
		}
		b = b[n:]
	}
	return out
}

// acts reports whether an ASCII control character does something on a terminal, beside a newline and a tab.
func acts(c byte) bool { return c < ' ' && c != '\n' && c != '\t' }
