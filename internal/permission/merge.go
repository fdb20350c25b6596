package permission

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"opencode-delegate/internal/fault"
)

// maxContent bounds the user's configuration text. The kernel itself allows 128 KiB in one variable.
const maxContent = 1 << 20

// Merge puts our configuration over the user's value of OPENCODE_CONFIG_CONTENT: objects are merged member by member, and where
// both have a value ours stands, last in its object, so that a rule of ours is also the last that matches. The lists
// "instructions" and "plugin" are joined, as opencode joins them. The user's text may be JSON with comments and trailing
// commas, and may be empty; an invalid one, or one over 1 MiB, is a USAGE fault that names the variable.
func Merge(user, ours []byte) ([]byte, error) {
	if len(user) > maxContent {
		return nil, fault.New(fault.Usage, "OPENCODE_CONFIG_CONTENT is longer than %d bytes", maxContent)
	}
	plain := standard(user)
	if len(bytes.TrimSpace(plain)) == 0 {
		plain = []byte("{}")
	}
	theirs, err := parse(plain)
	if err != nil {
		return nil, fault.New(fault.Usage, "OPENCODE_CONFIG_CONTENT is no JSON object: %w", err)
	}
	over, err := parse(ours)
	if err != nil {
		return nil, fmt.Errorf("our own configuration: %w", err)
	}
	for _, key := range []string{"instructions", "plugin"} {
		if err := join(theirs, over, key); err != nil {
			return nil, fault.New(fault.Usage, "OPENCODE_CONFIG_CONTENT: %w", err)
		}
	}
	merge(theirs, over)
	return theirs.bytes(), nil
}

func join(theirs, over *object, key string) error {
	a, inTheirs := theirs.get(key)
	b, inOurs := over.get(key)
	if !inTheirs || !inOurs {
		return nil
	}
	var list, more []json.RawMessage
	if err := json.Unmarshal(a, &list); err != nil {
		return fmt.Errorf("%q is no list", key)
	}
	if err := json.Unmarshal(b, &more); err != nil {
		return fmt.Errorf("%q of ours is no list", key)
	}
	joined, err := json.Marshal(append(list, more...))
	if err != nil {
		return err
	}
	over.raw(key, joined)
	return nil
}

// merge goes as deep as ours does, which is bounded by us.
func merge(theirs, over *object) {
	for _, m := range over.members {
		value := m.value
		if old, ok := theirs.get(m.key); ok {
			inner, err := parse(old)
			ourInner, ourErr := parse(value)
			if err == nil && ourErr == nil {
				merge(inner, ourInner)
				value = inner.bytes()
			}
		}
		theirs.raw(m.key, value)
	}
}

var errNoObject = errors.New("the value is no object")

// parse reads one JSON object. Of a member that stands twice the last value counts, as in JavaScript.
func parse(text []byte) (*object, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	open, err := d.Token()
	if err != nil {
		return nil, err
	}
	if open != json.Delim('{') {
		return nil, errNoObject
	}
	o := &object{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, ok := key.(string)
		if !ok {
			return nil, fmt.Errorf("member name %v is no string", key)
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		o.raw(name, value)
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	if d.More() {
		return nil, errors.New("text follows the object")
	}
	return o, nil
}

// standard turns JSON with comments and trailing commas into JSON. What is no such text stays invalid.
func standard(text []byte) []byte {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	out := make([]byte, 0, len(text))
	comma := -1     // index in out of a comma after a value, when nothing but white space has followed it
	last := byte(0) // the last character that is no white space
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '"':
			end := i + 1
			for end < len(text) && text[end] != '"' {
				if text[end] == '\\' {
					end++
				}
				end++
			}
			end = min(end+1, len(text))
			out = append(out, text[i:end]...)
			i, comma, last = end, -1, '"'
		case bytes.HasPrefix(text[i:], []byte("//")):
			for i < len(text) && text[i] != '\n' && text[i] != '\r' {
				i++
			}
		case bytes.HasPrefix(text[i:], []byte("/*")):
			end := bytes.Index(text[i+2:], []byte("*/"))
			if end < 0 {
				return append(out, text[i:]...) // unterminated: left in, and so invalid
			}
			out = append(out, ' ')
			i += end + 4
		default:
			if c == '}' || c == ']' {
				if comma >= 0 {
					out[comma] = ' '
				}
			}
			if !bytes.ContainsRune([]byte(" \t\r\n"), rune(c)) {
				comma = -1
				if c == ',' && !bytes.ContainsRune([]byte("{[,"), rune(last)) && last != 0 {
					comma = len(out)
				}
				last = c
			}
			out = append(out, c)
			i++
		}
	}
	return out
}
