package plain

import "unicode/utf8"

const (
	// controlLimit bounds a control sequence; what is longer is none.
	controlLimit = 128
	// stringLimit bounds a control string (a title, a link): one that never ends must not hide the rest of a text.
	stringLimit = 4 << 10
)

// A state is where in an escape sequence (ECMA-48) a cleaner is.
type state int

const (
	ground  state = iota
	escape        // after ESC
	charset       // after ESC and an intermediate byte
	control       // after CSI
	str           // within OSC, DCS, SOS, PM or APC
	strEnd        // within one of those, after ESC
	rawCSI        // after the byte 9B alone, which is CSI only when a parameter follows
	rawOSC        // after the byte 9D alone, which is OSC only when a digit follows
)

// A cleaner is fed bytes in pieces of any size and appends what may be shown to out.
type cleaner struct {
	out     []byte
	state   state
	n       int  // code points in the sequence so far
	afterCR bool // the last was a carriage return: a newline that follows is part of it
	held    [utf8.UTFMax]byte
	nheld   int
}

// text takes the next bytes; final says that none follow.
func (c *cleaner) text(b []byte, final bool) {
	for c.nheld > 0 && len(b) > 0 {
		joined := append(c.held[:c.nheld:c.nheld], b[:min(len(b), utf8.UTFMax-c.nheld)]...)
		if !utf8.FullRune(joined) {
			c.nheld = copy(c.held[:], joined)
			if b = b[len(b):]; !final {
				return
			}
			break
		}
		_, size := utf8.DecodeRune(joined)
		c.bytes(joined[:size])
		if size >= c.nheld {
			b = b[size-c.nheld:]
			c.nheld = 0
			continue
		}
		c.nheld = copy(c.held[:], c.held[size:c.nheld])
	}
	for len(b) > 0 {
		if c.state == ground && b[0] >= ' ' && b[0] < 0x7f {
			n := 1
			for n < len(b) && b[n] >= ' ' && b[n] < 0x7f {
				n++
			}
			c.out = append(c.out, b[:n]...)
			c.afterCR = false
			b = b[n:]
			continue
		}
		if !final && !utf8.FullRune(b) {
			c.nheld = copy(c.held[:], b)
			return
		}
		_, size := utf8.DecodeRune(b)
		c.bytes(b[:size])
		b = b[size:]
	}
	if final {
		for i := range c.nheld {
			c.bytes(c.held[i : i+1])
		}
		c.nheld, c.state, c.afterCR = 0, ground, false
	}
}

// bytes takes one code point, or one byte that belongs to none.
func (c *cleaner) bytes(b []byte) {
	r, size := utf8.DecodeRune(b)
	if r != utf8.RuneError || size > 1 {
		c.rune(r)
		return
	}
	switch raw := b[0]; {
	case raw == 0x9b && c.state == ground:
		c.enter(rawCSI)
	case raw == 0x9d && c.state == ground:
		c.enter(rawOSC)
	case raw <= 0x9f:
		c.rune(rune(raw))
	default:
		c.rune(utf8.RuneError)
	}
}

func (c *cleaner) enter(s state) { c.state, c.n = s, 0 }

// rune takes one code point. A sequence that is broken off gives back the one that broke it.
func (c *cleaner) rune(r rune) {
	c.n++
	switch c.state {
	case escape:
		switch {
		case r == '[':
			c.enter(control)
		case r == ']' || r == 'P' || r == 'X' || r == '^' || r == '_':
			c.enter(str)
		case r >= 0x20 && r <= 0x2f:
			c.enter(charset)
		case r >= 0x30 && r <= 0x7e:
			c.state = ground
		default:
			c.again(r)
		}
	case charset:
		switch {
		case r >= 0x20 && r <= 0x2f && c.n < controlLimit:
		case r >= 0x30 && r <= 0x7e:
			c.state = ground
		default:
			c.again(r)
		}
	case control:
		switch {
		case r >= 0x20 && r <= 0x3f && c.n < controlLimit:
		case r >= 0x40 && r <= 0x7e:
			c.state = ground
		default:
			c.again(r)
		}
	case str, strEnd:
		switch {
		case r == '\a' || r == 0x9c || r == '\\' && c.state == strEnd:
			c.state = ground
		case c.state == strEnd:
			c.state = escape // ESC ends the string and begins another sequence
			c.rune(r)
		case r == 0x1b:
			c.state = strEnd
		case r == '\n' || r == '\r' || c.n >= stringLimit:
			c.again(r)
		}
	case rawCSI:
		if r >= 0x30 && r <= 0x3f {
			c.enter(control)
			return
		}
		c.again(r)
	case rawOSC:
		if r >= '0' && r <= '9' {
			c.enter(str)
			return
		}
		c.again(r)
	default:
		c.ground(r)
	}
}

func (c *cleaner) again(r rune) {
	c.state = ground
	c.ground(r)
}

func (c *cleaner) ground(r rune) {
	afterCR := c.afterCR
	c.afterCR = false
	switch {
	case r == 0x1b:
		c.enter(escape)
	case r == 0x9b:
		c.enter(control)
	case r == 0x90 || r == 0x98 || r >= 0x9d && r <= 0x9f:
		c.enter(str)
	case r == '\r':
		c.out = append(c.out, '\n')
		c.afterCR = true
	case r == '\n':
		if !afterCR {
			c.out = append(c.out, '\n')
		}
	case r < ' ' && r != '\t' || r == 0x7f || hidden(r):
	default:
		c.out = utf8.AppendRune(c.out, r)
	}
}
