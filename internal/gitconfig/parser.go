package gitconfig

import (
	"bytes"
	"fmt"
)

// eof is what next returns behind the last byte. git hands out a newline there, and so do the places that ask for one.
const eof = -1

// A parser follows git's reader character by character, because its corner cases come of that order.
type parser struct {
	text    []byte
	pos     int
	line    int
	prefix  string // section and subsection of the newest header, with the dot behind them
	entries []Entry
}

// next returns the next character. As in git, a carriage return before a newline does not exist.
func (p *parser) next() int {
	if p.pos >= len(p.text) {
		return eof
	}
	c := p.text[p.pos]
	p.pos++
	if c == '\r' && p.pos < len(p.text) && p.text[p.pos] == '\n' {
		c = '\n'
		p.pos++
	}
	if c == '\n' {
		p.line++
	}
	return int(c)
}

func (p *parser) file() error {
	if bytes.IndexByte(p.text, 0) >= 0 {
		return fmt.Errorf("%w: NUL byte", ErrSyntax)
	}
	if bytes.HasPrefix(p.text, []byte("\xef\xbb\xbf")) {
		p.pos = 3
	}
	comment := false
	for {
		start := p.pos
		switch c := p.next(); {
		case c == eof:
			return nil
		case c == '\n':
			comment = false
		case comment || isSpace(c):
		case c == '#' || c == ';':
			comment = true
		case c == '[':
			if err := p.header(); err != nil {
				return err
			}
		case isAlpha(c):
			if err := p.entry(start, c); err != nil {
				return err
			}
		default:
			return fmt.Errorf("%w: unexpected %q", ErrSyntax, rune(c))
		}
	}
}

// header reads what follows an opening bracket.
func (p *parser) header() error {
	var name []byte
	for {
		c := p.next()
		switch {
		case c == ']' && len(name) > 0:
			p.prefix = string(name) + "."
			return nil
		case isSpace(c):
			return p.subsection(name, c)
		case isKey(c) || c == '.':
			name = append(name, lower(c))
		default:
			return fmt.Errorf("%w: bad section header", ErrSyntax)
		}
	}
}

// subsection reads the quoted part of a header; c is the white space before it.
func (p *parser) subsection(name []byte, c int) error {
	bad := fmt.Errorf("%w: bad subsection", ErrSyntax)
	for isSpace(c) {
		if c == '\n' {
			return bad
		}
		c = p.next()
	}
	if c != '"' {
		return bad
	}
	name = append(name, '.')
	for {
		c = p.next()
		if c == '"' {
			break
		}
		if c == '\\' {
			c = p.next()
		}
		if c == '\n' || c == eof {
			return bad
		}
		name = append(name, byte(c))
	}
	if p.next() != ']' {
		return bad
	}
	p.prefix = string(name) + "."
	return nil
}

// entry reads a variable whose first letter c stands at start.
func (p *parser) entry(start, c int) error {
	name := []byte{lower(c)}
	for {
		if c = p.next(); c == eof || !isKey(c) {
			break
		}
		name = append(name, lower(c))
	}
	for c == ' ' || c == '\t' {
		c = p.next()
	}
	e := Entry{Key: p.prefix + string(name), start: start}
	switch c {
	case '\n', eof:
		e.Implicit = true
	case '=':
		value, err := p.value()
		if err != nil {
			return err
		}
		e.Value = value
	default:
		return fmt.Errorf("%w: unexpected %q after a variable name", ErrSyntax, rune(c))
	}
	e.end = p.pos
	if e.end > start && p.text[e.end-1] == '\n' {
		e.end--
	}
	p.entries = append(p.entries, e)
	return nil
}

// value reads what follows the equals sign, to the end of its line or of its last continued line.
func (p *parser) value() (string, error) {
	var value, space []byte
	quoted, comment := false, false
	for {
		c := p.next()
		if c == '\n' || c == eof {
			if quoted {
				return "", fmt.Errorf("%w: unclosed quote", ErrSyntax)
			}
			return string(value), nil
		}
		if comment {
			continue
		}
		if isSpace(c) && !quoted {
			if len(value) > 0 {
				space = append(space, byte(c))
			}
			continue
		}
		if !quoted && (c == ';' || c == '#') {
			comment = true
			continue
		}
		value = append(value, space...)
		space = space[:0]
		switch c {
		case '\\':
			escaped, err := p.escape()
			if err != nil {
				return "", err
			}
			value = append(value, escaped...)
		case '"':
			quoted = !quoted
		default:
			value = append(value, byte(c))
		}
	}
}

// escape reads what follows a backslash in a value. At the end of a line it stands for nothing.
func (p *parser) escape() (string, error) {
	switch c := p.next(); c {
	case '\n', eof:
		return "", nil
	case 't':
		return "\t", nil
	case 'b':
		return "\b", nil
	case 'n':
		return "\n", nil
	case '\\', '"':
		return string(rune(c)), nil
	}
	return "", fmt.Errorf("%w: unknown escape", ErrSyntax)
}

// isSpace is git's isspace: neither form feed nor vertical tab.
func isSpace(c int) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func isAlpha(c int) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

func isKey(c int) bool { return isAlpha(c) || c >= '0' && c <= '9' || c == '-' }

func lower(c int) byte {
	if c >= 'A' && c <= 'Z' {
		c += 'a' - 'A'
	}
	return byte(c)
}
