package main

import (
	"regexp"
	"strings"
)

var bare = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// quote makes one word of s for a POSIX shell.
func quote(s string) string {
	if bare.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// assignment quotes the value of NAME=value and leaves the name bare.
func assignment(kv string) string {
	name, value, _ := strings.Cut(kv, "=")
	return name + "=" + quote(value)
}
