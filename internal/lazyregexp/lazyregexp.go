// Package lazyregexp holds regular expressions that are compiled when they are first needed. This binary is started three times
// for a delegation, as the tool, as the guardian and as the cage, and what a package compiles before main is compiled each time.
package lazyregexp

import (
	"regexp"
	"sync"
)

// A Regexp returns a regular expression; the first call compiles it. It may be called by several goroutines.
type Regexp func() *regexp.Regexp

// New is regexp.MustCompile at the first use. A wrong expression panics then, so that each needs a test that uses it.
func New(expr string) Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
