package delegate

import (
	"time"

	"opencode-delegate/internal/event"
	"opencode-delegate/internal/plain"
)

// A Progress is what a run is doing, for a person who waits. It is told whenever something worth knowing happens.
type Progress struct {
	Elapsed time.Duration
	Step    int    // model calls that have ended
	Tool    string // the last tool that finished, with what it acted on
	Tokens  int64
	CostUSD float64 // 0 = not known
	Said    string  // one line about what just happened; empty = only the numbers changed
}

// take is what an event means to a person who waits.
func (p *Progress) take(e event.Event) {
	p.Said = ""
	switch e.Type {
	case event.StepStart:
		p.Said = "the model answers"
	case event.StepFinish:
		p.Step++
		p.Tokens += e.Finish.Tokens.Sum()
		p.CostUSD += e.Finish.Cost
	case event.ToolUse:
		p.Tool = plain.Line(e.Tool.Name+" "+e.Tool.Target, 80)
		p.Said = p.Tool
		if e.Tool.Status == "error" {
			p.Said = plain.Line("failed: "+e.Tool.Name+": "+e.Tool.Error, 120)
		}
	case event.TextBlock:
		p.Said = plain.Line("says: "+e.Text.Head, 120)
	case event.Failure:
		p.Said = plain.Line("error: "+e.Err.Message, 120)
	}
}
