// Package breakeven reckons, before anything is spent, whether a delegation can pay at all. It knows the brief and the files that it
// names, and no more; so it speaks only where both are small beyond doubt, and only ever advises. It is pure.
package breakeven

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"opencode-delegate/internal/lazyregexp"
)

// What a conductor reads and writes for any delegation, in characters, however little is in it. Nobody has published such figures; what is
// published agrees only on the shape (one large unit wins, a small one loses), see skills/opencode/references/cost.md.
const (
	signalPrice = 700   // the signal line and the notes beside it: measured, the line of a plain success has 600 to 700
	answerPrice = 1_500 // an answer: assumed, well below the limit of a digest, which is 4000
	checkPrice  = 1_000 // the check: `git diff --stat` and the last lines of a test, estimated
)

// A Unit is what is to be delegated, as far as it can be told before.
type Unit struct {
	Brief  string
	Writes bool
	// Files is how many files the brief names or brings that are there, and Bytes how large they are together.
	Files int
	Bytes int64
}

// bulk are words of work that is larger than the files that its brief names.
var bulk = lazyregexp.New(`(?i)\b(all|every|each|whole|entire|across|everywhere|wherever|exhaustive|migrat\w*|scaffold\w*|generat\w*|implement\w*|refactor\w*|tests?|suite|document\w*|research\w*|find|search|list|survey|audit|review\w*|debug\w*|investigat\w*|why)\b`)

// Advice says that a unit is too small, and why; empty = it may pay, or nobody can tell. What a brief does not name is not known, and then
// there is none.
func (u Unit) Advice() string {
	brief := int64(utf8.RuneCountInString(u.Brief))
	if u.Files == 0 || bulk().MatchString(u.Brief) {
		return ""
	}
	doing, delegating := u.Bytes, brief+signalPrice+answerPrice+checkPrice
	if u.Writes {
		doing += brief // a change that is told so shortly is not much longer itself
	}
	if doing >= delegating {
		return ""
	}
	files := "one file"
	if u.Files > 1 {
		files = fmt.Sprint(u.Files, " files")
	}
	return fmt.Sprintf("the task names %s of %d characters; to hand it over, read the answer and check it takes about %d, so that doing it yourself is cheaper",
		files, u.Bytes, delegating)
}

// pathLimit bounds how many paths of a brief are looked at.
const pathLimit = 20

// word is what could be a path: a name with an ending, or with directories.
var word = lazyregexp.New(`[\pL\pN_@.][\pL\pN_@./+-]*`)

// Paths are the words of a brief that could be relative paths of files, each once.
func Paths(brief string) (paths []string) {
	if len(brief) > 8<<10 {
		return nil // which is no small brief
	}
	seen := map[string]bool{}
	for _, w := range word().FindAllString(brief, -1) {
		w = strings.TrimRight(w, ".-/")
		if seen[w] || !strings.ContainsAny(w, "./") || len(paths) == pathLimit {
			continue
		}
		seen[w] = true
		paths = append(paths, w)
	}
	return paths
}
