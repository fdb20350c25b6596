package event

import (
	"bytes"
	"unicode/utf8"
)

// text reads a string into c.
func (x *lexer) text(c *capture) bool {
	if !x.take('"') {
		return false
	}
	for {
		rest := x.win[x.pos:]
		quote := bytes.IndexByte(rest, '"')
		plain := rest
		if quote >= 0 {
			plain = rest[:quote]
		}
		slash := bytes.IndexByte(plain, '\\')
		if slash < 0 {
			if quote >= 0 {
				c.add(plain)
				x.pos += quote + 1
				return true
			}
			x.pos += c.addPart(plain)
			if !x.more() {
				return false
			}
			continue
		}
		// Escapes follow each other closely in listings and code: go from one to the next without a new search
		// for the quote, until one of them hides it.
		for slash >= 0 {
			c.add(plain[:slash])
			x.pos += slash
			r, n, ok := x.escape()
			if !ok {
				return false
			}
			if n == 0 {
				break // the window moved
			}
			c.addRune(r)
			x.pos += n
			if n += slash; n > len(plain) {
				break // it was an escaped quote
			}
			plain = plain[n:]
			slash = bytes.IndexByte(plain, '\\')
		}
	}
}

// escape decodes the escape at the position, without taking it. n is 0 when more of the text was asked for first.
func (x *lexer) escape() (r rune, n int, ok bool) {
	b := x.win[x.pos:]
	if len(b) < 12 && x.fill != nil {
		x.more()
		return 0, 0, true
	}
	if len(b) < 2 {
		return 0, 0, false
	}
	switch b[1] {
	case '"', '\\', '/':
		return rune(b[1]), 2, true
	case 'b':
		return '\b', 2, true
	case 'f':
		return '\f', 2, true
	case 'n':
		return '\n', 2, true
	case 'r':
		return '\r', 2, true
	case 't':
		return '\t', 2, true
	case 'u':
		u, ok := unit(b)
		if !ok {
			return 0, 0, false
		}
		if u < 0xD800 || u > 0xDFFF {
			return u, 6, true
		}
		if low, ok := unit(b[6:]); ok && u < 0xDC00 && low >= 0xDC00 && low <= 0xDFFF {
			return (u-0xD800)<<10 + (low - 0xDC00) + 0x10000, 12, true
		}
		return utf8.RuneError, 6, true
	}
	return 0, 0, false
}

// unit decodes \uXXXX at the beginning of b.
func unit(b []byte) (r rune, ok bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	for _, c := range b[2:6] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
