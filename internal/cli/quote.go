package cli

import "strings"

// special reports whether a character may mean something to a shell.
func special(c rune) bool {
	return !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.ContainsRune("_@%+=:,./-", c))
}

// quote makes one word of s for a POSIX shell.
func quote(s string) string {
	if s != "" && !strings.ContainsFunc(s, special) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// assignment quotes the value of NAME=value and leaves the name bare.
func assignment(kv string) string {
	name, value, _ := strings.Cut(kv, "=")
	return name + "=" + quote(value)
}
