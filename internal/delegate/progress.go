package delegate

import (
	"math"
	"strings"
	"time"
	"unicode"

	"opencode-delegate/internal/event"
	"opencode-delegate/internal/opencode"
	"opencode-delegate/internal/plain"
)

// A Progress is what a run is doing, for somebody who waits. It is told whenever something worth knowing happens, and what
// it points to is never changed afterwards. Its strings are lines without anything that acts on a terminal.
type Progress struct {
	Elapsed time.Duration `json:"-"`
	Said    string        `json:"-"` // one line about what just happened; empty = only the numbers changed

	Step    int      `json:"step"`     // model calls that have begun, of all attempts
	Tool    string   `json:"tool"`     // the last tool that finished
	Target  string   `json:"target"`   // what it acted on: a command, a path, a pattern; at most 80 code points
	Text    string   `json:"text"`     // the last line that the worker wrote and that can be seen, at most 160 code points
	Todo    *Todo    `json:"todo"`     // null while the worker keeps no list
	Tokens  int64    `json:"tokens"`   // all five kinds
	CostUSD *float64 `json:"cost_usd"` // of the steps whose price is known; null = of none
	Retry   *Retry   `json:"retry"`    // null while none is under way
	Session string   `json:"session"`
	Model   string   `json:"model"` // provider/model as opencode resolved it

	within bool // a step has begun and has not ended
}

// A Todo is how far the worker has come by its own list.
type Todo struct {
	Done   int    `json:"done"`
	Total  int    `json:"total"` // without what was cancelled
	Active string `json:"active,omitempty"`
}

// A Retry is a model call that fails and is repeated, or a limit whose end is waited for.
type Retry struct {
	Reason  string     `json:"reason"`
	Since   time.Time  `json:"since"`
	ResetAt *time.Time `json:"reset_at,omitempty"` // when the provider says that it may be tried again
}

const (
	nameLimit   = 40
	targetLimit = 80
	saidLimit   = 120
	textLimit   = 160
	reasonLimit = 300
)

// take is what an event means to a person who waits.
func (p *Progress) take(e event.Event) {
	p.Said = ""
	switch e.Type {
	case event.StepStart:
		p.Step, p.within = p.Step+1, true
		p.Said = "the model answers"
	case event.StepFinish:
		if !p.within { // an opencode that does not tell of beginnings
			p.Step++
		}
		p.within = false
		p.Tokens = event.Tokens{Input: p.Tokens}.Add(e.Finish.Tokens).Sum()
		if e.Finish.Cost > 0 {
			sum := e.Finish.Cost
			if p.CostUSD != nil {
				sum += *p.CostUSD
			}
			sum = math.Round(sum*1e9) / 1e9
			p.CostUSD = &sum
		}
	case event.ToolUse:
		p.takeTool(e.Tool)
	case event.TextBlock:
		if line := lastLine(e.Text.Head); line != "" {
			p.Text = line
		}
		p.Said = plain.Line("says: "+e.Text.Head, saidLimit)
	case event.Failure:
		p.Said = plain.Line("error: "+e.Err.Message, saidLimit)
	}
}

func (p *Progress) takeTool(t event.Tool) {
	p.Tool, p.Target = plain.Line(t.Name, nameLimit), plain.Line(t.Target, targetLimit)
	if t.Todo != nil {
		p.Todo = nil
		if t.Todo.Total > 0 {
			p.Todo = &Todo{t.Todo.Done, t.Todo.Total, plain.Line(t.Todo.Active, targetLimit)}
		}
	}
	p.Said = p.Acted()
	if t.Status == "error" {
		p.Said = plain.Line("failed: "+t.Name+": "+t.Error, saidLimit)
	}
}

// checks says that a check runs.
func (p *Progress) checks(cmd string) {
	p.Tool, p.Target = "check", plain.Line(cmd, targetLimit)
	p.Said = p.Acted()
}

// Acted is the last tool and its target as one line; empty while there was none.
func (p *Progress) Acted() string { return plain.Line(p.Tool+" "+p.Target, targetLimit) }

// learn takes what is known beside the events.
func (p *Progress) learn(f opencode.Facts) {
	p.Said = ""
	if model := plain.Line(f.Model, textLimit); model != p.Model {
		p.Model = model
		p.Said = "session " + f.Session + ", model " + model
	}
	was := p.Retry
	p.Retry = nil
	if !f.Retry.UnderWay() {
		return
	}
	p.Retry = &Retry{Reason: plain.Line(f.Retry.Reason, reasonLimit), Since: stamp(f.Retry.Since)}
	if !f.Retry.ResetAt.IsZero() {
		at := stamp(f.Retry.ResetAt)
		p.Retry.ResetAt = &at
	}
	if was == nil || was.Reason != p.Retry.Reason {
		p.Said = plain.Line("waits: "+p.Retry.Reason, saidLimit)
	}
}

// lastLine is the last line of a text in which anything can be seen. It looks no further back than it has to.
func lastLine(text string) string {
	for text != "" {
		text = strings.TrimRightFunc(text, unicode.IsSpace)
		at := strings.LastIndexAny(text, "\n\r")
		if line := plain.Line(text[at+1:], textLimit); strings.ContainsFunc(line, visible) {
			return line
		}
		text = text[:max(at, 0)]
	}
	return ""
}

// visible reports whether a reader would see r.
func visible(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) }
