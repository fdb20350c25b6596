package delegate

import (
	"os"
	"time"

	"opencode-delegate/internal/digest"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/sandbox"
)

// Remains are what was saved of a run that nobody judged.
type Remains struct {
	Text     string // what the worker had said in the end, at most TextLimit bytes
	Session  string
	Usage    *Usage
	Commands Commands

	Read, Written *int64 // as in a [Spend]; nil: there was no event
}

// Unjudged is the result of a job that has no run to judge: it was refused or cancelled before one began, or whoever ran it died.
// It claims nothing but the fault.
func Unjudged(req Request, job Job, f *fault.Error, started, ended time.Time, left Remains) Result {
	r := &run{plan: &Plan{Request: req, cage: cage{request: req, support: sandbox.Detect(os.Getenv)}}, job: job, started: started, checks: checks{Checks: req.Checks}}
	t := &try{run: r, n: 1, worst: f, digestSource: digest.FromNobody, res: r.plan.blank(job, started)}
	if left.Session != "" {
		t.res.Session = &left.Session
	}
	if r.checks.asked() {
		t.unproved()
	}
	t.res.Changes.Reason = "the tree was not compared"
	t.res.Usage, t.res.Commands = left.Usage, left.Commands
	if t.res.Text, t.res.TextBytes = left.Text, int64(len(left.Text)); left.Text != "" && req.Digest {
		t.digest, t.digestSource = digest.Digest{Text: digest.Abridge(left.Text, left.Text, int64(len(left.Text)))}, digest.Extracted
	}
	t.conclude(ended)
	return t.res
}
