package event

import "bytes"

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
	key  capture
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
	x.key.reset(64)
	if !x.text(&x.key) {
		return "", false
	}
	if x.key.full {
		return "", true
	}
	return known(x.key.buf), true
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
