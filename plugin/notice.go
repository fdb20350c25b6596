package plugin

import (
	"fmt"
	"strings"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/job"
	"opencode-delegate/internal/lazyregexp"
	"opencode-delegate/internal/plain"
)

const (
	// named is how many jobs a notice names.
	named = 5
	// taskLimit is the number of code points of what a job was to do.
	taskLimit = 60
)

// notice tells which jobs have ended, a line each, and how to read what came of them. more is how many it does not name.
func notice(ended []job.View, more int) string {
	if len(ended) == 0 {
		return ""
	}
	var b strings.Builder
	n := len(ended) + more
	if n == 1 {
		b.WriteString("A background job of oc-delegate has ended:\n")
	} else {
		fmt.Fprintf(&b, "%d background jobs of oc-delegate have ended:\n", n)
	}
	for _, v := range ended {
		what := v.Name
		if what == "" {
			what = plain.Line(v.Task, taskLimit)
		}
		fmt.Fprintf(&b, "%s %s: %s\n", v.ID, what, statusOf(v))
	}
	id := "ID"
	if len(ended) == 1 {
		id = ended[0].ID
	}
	if more > 0 {
		fmt.Fprintf(&b, "%d more: oc-job status\n", more)
	}
	b.WriteString("Read: oc-job result " + id)
	return b.String()
}

// statusOf is what a job that has ended came to.
func statusOf(v job.View) fault.Kind {
	if v.Status == "" {
		return fault.JobLost // its record cannot be read
	}
	return v.Status
}

var (
	noticeHead = lazyregexp.New(`background jobs? of oc-delegate ha(?:s|ve) ended:\n`)
	noticeLine = lazyregexp.New(`(?m)^([0-9]{8}-[0-9]{6}-[0-9a-v]{6}) `)
)

// resultMark begins what a subagent reports, in the prompt that its end makes: words of a worker, in which a notice may be forged.
const resultMark = "<result>"

// noticedIn are the ids of the jobs that a notice in the prompt of a wake tells of.
func noticedIn(prompt string) (ids []string) {
	at := noticeHead().FindStringIndex(prompt)
	if at == nil || strings.Contains(prompt[:at[0]], resultMark) {
		return nil
	}
	for _, m := range noticeLine().FindAllStringSubmatch(prompt[at[1]:], named) {
		ids = append(ids, m[1])
	}
	return ids
}
