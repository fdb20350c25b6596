package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/term"

	"opencode-delegate/cmd/oc-job/watch"
	"opencode-delegate/internal/cli"
	"opencode-delegate/internal/job"
	"opencode-delegate/internal/plain"
)

// pipeWidth is the width of what is no terminal.
const pipeWidth = 80

// maxPipeWidth bounds what COLUMNS may ask for.
const maxPipeWidth = 1000

// A screen is what a table is printed on.
type screen struct {
	width  int
	person bool // somebody looks: the table has a head
	colour bool
}

func screenOf(a *cli.App) screen {
	f, ok := a.Stdout.(*os.File)
	if !ok || !term.IsTerminal(f.Fd()) {
		s := screen{width: pipeWidth}
		if n, err := strconv.Atoi(a.Getenv("COLUMNS")); err == nil && n > 0 {
			s.width = min(n, maxPipeWidth)
		}
		return s
	}
	s := screen{width: pipeWidth, person: true, colour: a.Getenv("NO_COLOR") == "" && a.Getenv("TERM") != "dumb"}
	if w, _, err := term.GetSize(f.Fd()); err == nil && w > 0 {
		s.width = w
	}
	return s
}

// Select Graphic Rendition.
const (
	bold   = "1"
	faint  = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)

func (s screen) style(sgr, text string) string {
	if !s.colour || sgr == "" || text == "" {
		return text
	}
	return "\x1b[" + sgr + "m" + text + "\x1b[m"
}

func stateStyle(p job.Phase) string {
	switch p {
	case job.Waiting, job.Queued:
		return faint
	case job.Running:
		return cyan
	case job.Succeeded:
		return green
	case job.Cancelled, job.Interrupted, job.Skipped:
		return yellow
	}
	return red
}

// cellLimit bounds what is looked at of a text, in code points: one of a forged record may be long, and have no width.
const cellLimit = 400

// rowOf is a job in words, for a table. Nothing in it acts on a terminal or is secret; what is not known is empty.
func rowOf(a *cli.App, v job.View, cost *float64) watch.Row {
	// What is cut was made free of secrets before: half a secret is not found any more.
	clean := func(s string) string { return plain.Line(a.Secrets.String(s), cellLimit) }
	r := watch.Row{
		ID: v.ID, Name: clean(v.Name), State: string(v.State.State), Tier: clean(v.Tier), Age: age(v, a.Now()), Cost: dollars(cost), Task: clean(v.Task),
	}
	if r.Tier == "" {
		r.Tier = clean(v.Model[strings.LastIndexByte(v.Model, '/')+1:])
	}
	if v.State.State == job.Unreadable {
		r.Task = clean(v.Problem)
	}
	return r
}

// age is how long ago a job was made, and behind a stroke how long its run took. Of a job that lives it is how long it has been what it is.
func age(v job.View, now time.Time) string {
	switch {
	case v.CreatedAt.IsZero():
		return ""
	case v.State.State == job.Running && v.StartedAt != nil:
		return span(now.Sub(*v.StartedAt))
	case v.StartedAt != nil && v.EndedAt != nil:
		return span(now.Sub(v.CreatedAt)) + "/" + span(v.EndedAt.Sub(*v.StartedAt))
	}
	return span(now.Sub(v.CreatedAt))
}

// span is a duration in the unit that says enough. Clocks may have been set back.
func span(d time.Duration) string {
	for _, u := range []struct {
		below, unit time.Duration
		name        string
	}{{time.Minute, time.Second, "s"}, {time.Hour, time.Minute, "m"}, {48 * time.Hour, time.Hour, "h"}} {
		if d < u.below {
			return strconv.FormatInt(int64(max(d, 0)/u.unit), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(d/(24*time.Hour)), 10) + "d"
}

// dollars is a cost; empty when it is not known.
func dollars(usd *float64) string {
	switch {
	case usd == nil:
		return ""
	case *usd > -0.1 && *usd < 0.1:
		return fmt.Sprintf("$%.4f", *usd)
	}
	return fmt.Sprintf("$%.2f", *usd)
}
