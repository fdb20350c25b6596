package plain

import "strings"

// standIn looks like an "@" and means nothing to a program.
const standIn = "＠"

// live reports whether the "@" at s[i] begins a mention: Claude Code reads what @path names, also in what a command printed.
// Behind an ASCII letter or digit it is part of an address.
func live(s string, i int) bool {
	if i == 0 {
		return true
	}
	c := s[i-1]
	return !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9')
}

// HasMention reports whether an "@" in s begins a mention of a file.
func HasMention(s string) bool {
	for i := range len(s) {
		if s[i] == '@' && live(s, i) {
			return true
		}
	}
	return false
}

// NoMentions returns s with each "@" that would begin a mention of a file replaced by "＠". NoMentions(NoMentions(s)) == NoMentions(s).
func NoMentions(s string) string {
	if !HasMention(s) {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		if s[i] == '@' && live(s, i) {
			b.WriteString(standIn)
		} else {
			b.WriteByte(s[i])
		}
	}
	return b.String()
}
