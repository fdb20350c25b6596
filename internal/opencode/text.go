package opencode

import (
	"strings"
	"unicode"

	"opencode-delegate/internal/lazyregexp"
)

// ansi matches the escape sequences that opencode prints around its messages: colours, and operating system commands.
var ansi = lazyregexp.New(`\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)`)

// plain removes escape sequences.
func plain(s string) string { return ansi().ReplaceAllString(s, "") }

// oneLine makes a text fit for a reason: one line, no control characters, single spaces, at most n runes.
func oneLine(s string, n int) string {
	// Cut first: the rest is not worth the work, and a provider may send megabytes. A rune has at most 4 bytes.
	if limit := 8*n + 256; len(s) > limit {
		s = s[:limit]
	}
	var b strings.Builder
	count, blank := 0, false
	for _, r := range strings.ToValidUTF8(plain(s), "\uFFFD") {
		if unicode.IsSpace(r) || unicode.IsControl(r) {
			blank = count > 0
			continue
		}
		if unicode.Is(unicode.Cf, r) {
			continue // bidi overrides and their like would let a provider's text disguise the rest of the line
		}
		if blank {
			b.WriteByte(' ')
			count++
			blank = false
		}
		if count >= n-1 {
			return strings.TrimRight(b.String(), " ") + "…"
		}
		b.WriteRune(r)
		count++
	}
	return b.String()
}
