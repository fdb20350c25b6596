// Package redact takes secrets out of text before it is printed or kept.
//
// A [Set] knows two kinds of secret: exact values, taken from the environment, and the shapes that keys usually have
// (provider and forge tokens, cloud key ids, bearer tokens, JSON web tokens, passwords in URLs, PEM private keys).
// Each is found as it stands and as JSON encoders write it, one or two levels deep, and each is replaced by [Mark],
// which needs no escaping: a line that was JSON before is JSON after, if it went through [Set.JSON].
//
// Shapes are chosen so that ordinary text keeps its words: identifiers, hashes and UUIDs are no secrets. What has no
// shape and is in no variable is not found.
package redact

// Mark stands where a secret stood.
const Mark = "[redacted]"

// A Set finds secrets. It is immutable and may be used by several goroutines. A nil *Set finds nothing.
type Set struct {
	finder
	json *Set
}

// New returns the set for an environment of "NAME=value" strings (as os.Environ gives it). The values of variables
// named *_KEY, *_TOKEN, *_SECRET and *_PASSWORD, in any case, are secrets when they have 8 bytes or more and are not
// a plain word (letters only), a number or a path; of a value with several lines each of the first 512 counts by itself
// too. The usual key shapes are always part of the set.
func New(environ []string) *Set {
	values := secrets(environ)
	s := &Set{finder: newFinder(literals(values, false))}
	s.json = &Set{finder: newFinder(literals(values, true))}
	s.json.json = s.json
	return s
}

// JSON returns the same set for text that is known to be JSON. It leaves out what cannot stand inside a JSON string,
// so that a redacted line is valid JSON whatever the secrets look like.
func (s *Set) JSON() *Set {
	if s == nil {
		return nil
	}
	return s.json
}

// Found reports whether text holds a secret.
func (s *Set) Found(text string) bool {
	if s == nil {
		return false
	}
	var f findings
	s.scan(&f, []byte(text), 0, true)
	return len(f.regions) > 0
}

// String returns text with its secrets replaced.
func (s *Set) String(text string) string {
	if s == nil {
		return text
	}
	b := []byte(text)
	if out := s.Bytes(b); len(out) != len(b) || len(b) > 0 && &out[0] != &b[0] {
		return string(out)
	}
	return text
}

// Bytes returns text with its secrets replaced: text itself when it has none, else a new slice.
func (s *Set) Bytes(text []byte) []byte {
	if s == nil {
		return text
	}
	var f findings
	s.scan(&f, text, 0, true)
	if len(f.regions) == 0 {
		return text
	}
	out := make([]byte, 0, len(text))
	f.cut(text, 0, len(text), func(b []byte) { out = append(out, b...) })
	return out
}
