package event

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// A capture receives a string, decoded as encoding/json decodes it: invalid UTF-8 and unpaired surrogates are U+FFFD.
type capture struct {
	buf   []byte // its beginning, of at most limit bytes, cut between code points
	limit int
	full  bool
	size  int64 // bytes of the whole
	chars int64 // its code points
	ink   bool  // it has a character that can be seen
	put   func([]byte)
	one   [utf8.UTFMax]byte // for a single code point: it would escape to put
}

// reset makes c ready for another string of at most limit bytes in memory; below 0 its code points are counted and nothing else is done.
func (c *capture) reset(limit int) {
	*c = capture{buf: c.buf[:0], limit: limit, put: c.put}
}

// add takes a piece that ends where a code point ends, or should.
func (c *capture) add(b []byte) {
	if c.limit < 0 {
		c.chars += int64(utf8.RuneCount(b))
		return
	}
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
	if c.limit < 0 {
		c.chars++
		return
	}
	c.keep(c.one[:utf8.EncodeRune(c.one[:], r)])
}

// keep takes valid UTF-8.
func (c *capture) keep(b []byte) {
	c.size += int64(len(b))
	c.chars += int64(utf8.RuneCount(b))
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
