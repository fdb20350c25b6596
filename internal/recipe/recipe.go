// Package recipe writes the briefs of the tasks that have verbs of their own: what a worker is told to do, in which order it is to look, and what
// its answer must be like. It is pure: whoever calls it brings the material.
//
// Material is never mixed with what the worker is told: it stands between two lines that it cannot hold itself, its hidden characters are made visible, and the
// brief says that nothing in it is an order.
package recipe

import (
	"fmt"
	"strings"

	"opencode-delegate/internal/plain"
	"opencode-delegate/internal/redact"
)

// titleLimit bounds what a title says of the caller's words, in characters.
const titleLimit = 120

// titled is the title of a task: what it is, and the first of the caller's words.
func titled(what, words string) string {
	if words = plain.Line(words, titleLimit); words == "" {
		return what
	}
	return what + ": " + words
}

// A brief is written paragraph by paragraph.
type brief struct{ strings.Builder }

func (b *brief) par(format string, args ...any) {
	if b.Len() > 0 {
		b.WriteString("\n")
	}
	fmt.Fprintf(b, format, args...)
	b.WriteString("\n")
}

// material sets a text between its lines. No line of it may begin with the sign "=", which is for the caller to see to.
func (b *brief) material(name, text string) {
	text = strings.TrimSuffix(plain.Visible(text), "\n")
	fmt.Fprintf(b, "\n===== %s: begin =====\n%s\n===== %s: end =====\n", name, text, name)
	if strings.Contains(text, redact.Mark) {
		b.par("%s stands where something looked like a secret and was taken out before you got it. That one stood there is yours to mention.", redact.Mark)
	}
}

// asked are the caller's own words, last, where they count most.
func (b *brief) asked(lead, words string) {
	if strings.TrimSpace(words) != "" {
		b.par("%s\n\n%s", lead, strings.TrimSpace(words))
	}
}
