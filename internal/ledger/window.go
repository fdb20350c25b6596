package ledger

import (
	"strings"
	"time"
)

// A Window is a length of time for which a provider limits what may be spent. All of them roll: they end now. Providers let some of them
// begin at a day of theirs, which we learn of only when a limit is met.
type Window string

// The windows.
const (
	FiveHours Window = "5h"
	Week      Window = "week"
	Month     Window = "month" // 30 days
	// AnyWindow is that of a limit whose words name none.
	AnyWindow Window = ""
)

// Windows are those that can have a limit, the shortest first.
func Windows() []Window { return []Window{FiveHours, Week, Month} }

// windows say how long each is, and over which time the present rate is taken.
var windows = map[Window]struct{ length, pace time.Duration }{
	FiveHours: {5 * time.Hour, time.Hour},
	Week:      {7 * 24 * time.Hour, 24 * time.Hour},
	Month:     {30 * 24 * time.Hour, 7 * 24 * time.Hour},
}

// WindowIn finds the window that a provider's words name, such as its limitName or "5-hour usage limit reached"; AnyWindow when they name none.
func WindowIn(words string) Window {
	words = strings.ToLower(words)
	for _, w := range []struct {
		window Window
		signs  []string
	}{
		{FiveHours, []string{"5 hour", "5-hour", "5h", "five hour", "five-hour"}}, {Week, []string{"week"}}, {Month, []string{"month", "billing cycle"}},
	} {
		for _, sign := range w.signs {
			if strings.Contains(words, sign) {
				return w.window
			}
		}
	}
	return AnyWindow
}

// A Limit is what may be spent in a window.
type Limit struct {
	Provider string
	Model    string // empty: all models of the provider together
	Window   Window
	USD      USD
	Source   string // where it comes from, such as the name of a configuration file
}

// builtin are the limits that hold when nobody has set others.
//
// OpenCode Go: opencode.ai/docs/go, section Usage limits; read in March 2026 (anomalyco/opencode, issue 15872) and still quoted so in
// September (issue 49910). What is enforced differs: since August some models have been blocked at a quarter of it, and the other models
// with them (issues 45539, 43651, 49910, 50457).
var builtin = []Limit{
	{"opencode-go", "", FiveHours, 12 * Dollar, builtinSource},
	{"opencode-go", "", Week, 30 * Dollar, builtinSource},
	{"opencode-go", "", Month, 60 * Dollar, builtinSource},
}

const builtinSource = "built in, opencode.ai/docs/go as of 2026-09"

// Builtin are the limits that are known without a configuration. They are what a provider advertises, and only to warn with.
func Builtin() []Limit { return append([]Limit(nil), builtin...) }
