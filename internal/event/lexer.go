package event

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// maxDepth bounds how deep the values of a line may be nested. opencode's own lines stay below ten; the input of a tool
// is whatever a model writes.
const maxDepth = 1024

// A lexer reads JSON from a window of bytes that moves over the text. Values that nobody wants are only skipped:
// their strings must end and their brackets must match, what is between them is not looked at.
//
// Every method that reads returns false when the text is no JSON or ends too early; the lexer is of no use then.
type lexer struct {
	win  []byte
	pos  int
	base int64       // where win begins in the text
	fill func() bool // makes win longer or returns false; may drop what is before pos. nil: win holds all that is left
	key  [64]byte
	tok  [64]byte
	nest [maxDepth / 64]uint64
}

// more asks for more of the text. What was sliced from win before is void afterwards, whatever the answer.
func (x *lexer) more() bool {
	if x.fill == nil {
		return false
	}
	if x.fill() {
		return true
	}
	x.fill = nil
	return false
}

// at is the position in the text.
func (x *lexer) at() int64 { return x.base + int64(x.pos) }

// peek skips white space and returns the next byte without taking it; 0 at the end.
func (x *lexer) peek() byte {
	for {
		for x.pos < len(x.win) {
			switch c := x.win[x.pos]; c {
			case ' ', '\t', '\r', '\n':
				x.pos++
			default:
				return c
			}
		}
		if !x.more() {
			return 0
		}
	}
}

// take skips white space and takes c.
func (x *lexer) take(c byte) bool {
	if x.peek() != c || x.pos == len(x.win) {
		return false
	}
	x.pos++
	return true
}

// object reads an object, calling member with each key, which has to read the value.
func (x *lexer) object(member func(key string) bool) bool {
	if !x.take('{') {
		return false
	}
	if x.take('}') {
		return true
	}
	for {
		key, ok := x.name()
		if !ok || !x.take(':') || !member(key) {
			return false
		}
		if x.take(',') {
			continue
		}
		return x.take('}')
	}
}

// array reads an array, calling element in front of each value.
func (x *lexer) array(element func() bool) bool {
	if !x.take('[') {
		return false
	}
	if x.take(']') {
		return true
	}
	for {
		if !element() {
			return false
		}
		if x.take(',') {
			continue
		}
		return x.take(']')
	}
}

// name reads a key. One that is too long to be known comes out empty.
func (x *lexer) name() (string, bool) {
	c := capture{buf: x.key[:0], limit: len(x.key)}
	if !x.text(&c) {
		return "", false
	}
	if c.size > int64(len(c.buf)) {
		return "", true
	}
	return known(c.buf), true
}

// known makes a string of a key without an allocation for the usual ones.
func known(key []byte) string {
	for _, k := range keys {
		if string(key) == k {
			return k
		}
	}
	return ""
}

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

// number reads a number. One of more than 64 characters is read, but is not ok to use.
func (x *lexer) number() (text []byte, usable, ok bool) {
	x.peek()
	n := 0
	for {
		for x.pos < len(x.win) {
			switch c := x.win[x.pos]; c {
			case '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', '-', '+', '.', 'e', 'E':
				if n < len(x.tok) {
					x.tok[n] = c
				}
				n++
				x.pos++
				continue
			}
			return x.tok[:min(n, len(x.tok))], n <= len(x.tok), n > 0
		}
		if !x.more() {
			return x.tok[:min(n, len(x.tok))], n <= len(x.tok), n > 0
		}
	}
}

// word takes one of true, false and null.
func (x *lexer) word(w string) bool {
	x.peek()
	for i := range len(w) {
		if x.pos == len(x.win) && !x.more() {
			return false
		}
		if x.win[x.pos] != w[i] {
			return false
		}
		x.pos++
	}
	return true
}

// skip reads any value.
func (x *lexer) skip() bool {
	switch c := x.peek(); c {
	case '"':
		x.pos++
		return x.skipText()
	case '{', '[':
		return x.skipNested()
	case 't':
		return x.word("true")
	case 'f':
		return x.word("false")
	case 'n':
		return x.word("null")
	default:
		if c != '-' && (c < '0' || c > '9') {
			return false
		}
		_, _, ok := x.number()
		return ok
	}
}

// skipText reads the rest of a string.
func (x *lexer) skipText() bool {
	for {
		rest := x.win[x.pos:]
		quote := bytes.IndexByte(rest, '"')
		end := quote
		if quote < 0 {
			end = len(rest)
		}
		odd := 0
		for end-odd > 0 && rest[end-odd-1] == '\\' {
			odd++
		}
		odd %= 2
		if quote < 0 {
			x.pos += end - odd // the backslash waits for what it escapes
			if !x.more() {
				return false
			}
			continue
		}
		x.pos += quote + 1
		if odd == 0 {
			return true
		}
	}
}

// skipNested reads an object or an array.
func (x *lexer) skipNested() bool {
	depth := 0
	for {
		for x.pos < len(x.win) {
			c := x.win[x.pos]
			x.pos++
			switch c {
			case '"':
				if !x.skipText() {
					return false
				}
			case '{', '[':
				if depth == maxDepth {
					return false
				}
				bit := uint64(1) << (depth % 64)
				x.nest[depth/64] &^= bit
				if c == '[' {
					x.nest[depth/64] |= bit
				}
				depth++
			case '}', ']':
				depth--
				if x.nest[depth/64]>>(depth%64)&1 == 1 != (c == ']') {
					return false
				}
				if depth == 0 {
					return true
				}
			}
		}
		if !x.more() {
			return false
		}
	}
}

// A capture receives a string, decoded as encoding/json decodes it: invalid UTF-8 and unpaired surrogates are U+FFFD.
type capture struct {
	buf   []byte // its beginning, of at most limit bytes, cut between code points
	limit int
	full  bool
	size  int64 // bytes of the whole
	ink   bool  // it has a character that can be seen
	put   func([]byte)
}

// reset makes c ready for another string of at most limit bytes in memory.
func (c *capture) reset(limit int) {
	*c = capture{buf: c.buf[:0], limit: limit, put: c.put}
}

// add takes a piece that ends where a code point ends, or should.
func (c *capture) add(b []byte) {
	if utf8.Valid(b) {
		c.keep(b)
		return
	}
	for len(b) > 0 {
		n := validPrefix(b)
		c.keep(b[:n])
		if b = b[n:]; len(b) > 0 {
			c.keep([]byte(string(utf8.RuneError)))
			b = b[1:]
		}
	}
}

// addPart takes a piece whose last code point may be cut, and returns how much of it was taken.
func (c *capture) addPart(b []byte) int {
	n := len(b)
	for cut := 1; cut < utf8.UTFMax && cut <= n; cut++ {
		if utf8.RuneStart(b[n-cut]) {
			if !utf8.FullRune(b[n-cut:]) {
				n -= cut
			}
			break
		}
	}
	c.add(b[:n])
	return n
}

func (c *capture) addRune(r rune) {
	var b [utf8.UTFMax]byte
	c.keep(b[:utf8.EncodeRune(b[:], r)])
}

// keep takes valid UTF-8.
func (c *capture) keep(b []byte) {
	c.size += int64(len(b))
	if !c.ink {
		c.ink = bytes.ContainsFunc(b, visible)
	}
	if c.put != nil {
		c.put(b)
	}
	if c.full {
		return
	}
	if room := c.limit - len(c.buf); len(b) > room {
		c.full = true
		for room > 0 && !utf8.RuneStart(b[room]) {
			room--
		}
		b = b[:room]
	}
	c.buf = append(c.buf, b...)
}

// visible reports whether a reader would see r.
func visible(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) }

// validPrefix is the length of the longest valid UTF-8 at the beginning of b.
func validPrefix(b []byte) int {
	for i := 0; i < len(b); {
		if b[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(b)
}
