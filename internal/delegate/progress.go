package delegate

import "time"

// A Progress is what a run is doing, for a person who waits. It is told whenever something worth knowing happens.
type Progress struct {
	Elapsed time.Duration
	Step    int    // model calls so far
	Tool    string // the last tool that finished, with what it acted on
	Tokens  int64
	CostUSD float64 // 0 = not known
	Said    string  // one line about what just happened; empty = only the numbers changed
}
