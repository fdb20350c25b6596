package redact

import "bytes"

const (
	// bodyLook is how much of a token's body is looked at to decide whether it is one.
	bodyLook = 512
	// tokenHead bounds the header of a JSON web token: some carry a certificate.
	tokenHead = 2 << 10
	// urlLook bounds the user and password of a URL.
	urlLook = 1024
)

// A class is a set of bytes.
type class [256]bool

func classOf(chars string) *class {
	var c class
	for i := 0; i < len(chars); i++ {
		c[chars[i]] = true
	}
	return &c
}

const (
	digits  = "0123456789"
	letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

var (
	hex      = classOf(digits + "abcdefABCDEF")
	alnum    = classOf(digits + letters)
	wordy    = classOf(digits + letters + "_-")
	dotted   = classOf(digits + letters + "_-.")
	base64   = classOf(digits + letters + "+/=")
	urlStop  = classOf("\x00\t\n\r\v\f \"'`<>/?#[]|^")
	bearable = classOf(digits + letters + "._~+/=-")
)

// A shape is what keys of one kind look like. head is its first three bytes.
type shape struct {
	head string
	find pattern
}

// The prefixes are the vendors' own, as their secret scanning documents name them; the lengths are below the real
// ones, so that a key that was cut is found too.
var shapes = []shape{
	{"sk-", token("sk-ant-", wordy, 16, hasDigit)},
	{"sk-", token("sk-proj-", wordy, 16, hasDigit)},
	{"sk-", token("sk-svcacct-", wordy, 16, hasDigit)},
	{"sk-", token("sk-or-", wordy, 16, hasDigit)},
	{"sk-", token("sk-", wordy, 20, random)},
	{"sk_", token("sk_live_", alnum, 16, anyBody)},
	{"sk_", token("sk_test_", alnum, 16, anyBody)},
	{"gsk", token("gsk_", alnum, 30, random)},
	{"xai", token("xai-", alnum, 30, random)},
	{"ghp", token("ghp_", alnum, 20, anyBody)},
	{"gho", token("gho_", alnum, 20, anyBody)},
	{"ghu", token("ghu_", alnum, 20, anyBody)},
	{"ghs", token("ghs_", alnum, 20, anyBody)},
	{"ghr", token("ghr_", alnum, 20, anyBody)},
	{"git", token("github_pat_", wordy, 20, anyBody)},
	{"glp", token("glpat-", wordy, 16, anyBody)},
	{"npm", token("npm_", alnum, 30, random)},
	{"hf_", token("hf_", alnum, 30, random)},
	{"xox", slack},
	{"AKI", token("AKIA", alnum, 16, cloudID)},
	{"ASI", token("ASIA", alnum, 16, cloudID)},
	{"AIz", token("AIza", wordy, 30, anyBody)},
	{"eyJ", webToken},
	{"Bea", bearer("Bearer")},
	{"bea", bearer("bearer")},
	{"BEA", bearer("BEARER")},
	{"://", password},
	{`:\/`, password},
	{"---", privateKey},
}

// token is the pattern of a prefix and a body of at least least bytes of a class that the rule accepts.
func token(prefix string, c *class, least int, rule func([]byte) bool) pattern {
	return func(b []byte, at int, final bool) (match, bool) {
		have := b[at:]
		if len(have) < len(prefix) {
			return match{}, !final && prefix[:len(have)] == string(have)
		}
		if string(have[:len(prefix)]) != prefix || !begins(b, at) {
			return match{}, false
		}
		body, needsMore := run(have[len(prefix):], c, bodyLook, final)
		if needsMore {
			return match{}, true
		}
		if len(body) < least || !rule(body) {
			return match{}, false
		}
		return match{start: at, end: at + len(prefix) + len(body), rest: c}, false
	}
}

// slack is xoxb-…, xoxp-… and their like.
func slack(b []byte, at int, final bool) (match, bool) {
	if len(b)-at < 5 {
		return match{}, !final
	}
	kind := b[at+3]
	if kind < 'a' || kind > 'z' || b[at+4] != '-' {
		return match{}, false
	}
	return token(string(b[at:at+5]), wordy, 10, hasDigit)(b, at, final)
}

// eat makes a class an eater: it eats its own bytes.
func (c *class) eat(b []byte, final bool) (n int, done bool) {
	for n < len(b) && c[b[n]] {
		n++
	}
	return n, n < len(b) || final
}

// run is the longest beginning of b in c, looked at up to limit.
func run(b []byte, c *class, limit int, final bool) (body []byte, needsMore bool) {
	b = b[:min(len(b), limit)]
	n, done := c.eat(b, final || len(b) == limit)
	return b[:n], !done
}

// begins reports whether a word may begin at b[at]: what is before is no part of it. The letter of an escape such as
// \n is none, whatever the number of backslashes: JSON inside JSON has two.
func begins(b []byte, at int) bool {
	if at == 0 {
		return true
	}
	prev := b[at-1]
	if !wordy[prev] {
		return true
	}
	if at >= 2 && b[at-2] == '\\' && bytes.IndexByte([]byte("nrtbf"), prev) >= 0 {
		return true
	}
	if at < 6 || b[at-6] != '\\' {
		return false
	}
	n, _ := unicodeEscape(b[at-6:at], true)
	return n == 6
}

func anyBody([]byte) bool { return true }

func hasDigit(body []byte) bool { return bytes.ContainsAny(body, digits) }

// random reports whether body has a stretch without separators that no word is: 16 letters and digits with a digit
// among them, or 24.
func random(body []byte) bool {
	n, digit := 0, false
	for _, c := range body {
		if !alnum[c] {
			n, digit = 0, false
			continue
		}
		n++
		digit = digit || c <= '9'
		if n >= 24 || n >= 16 && digit {
			return true
		}
	}
	return false
}

// cloudID is the rest of an AWS access key id: 16 capitals and digits and no more.
func cloudID(body []byte) bool {
	return len(body) == 16 && hasDigit(body) && bytes.Equal(body, bytes.ToUpper(body))
}

func count(b []byte, chars string) int {
	n := 0
	for _, c := range b {
		if bytes.IndexByte([]byte(chars), c) >= 0 {
			n++
		}
	}
	return n
}
