package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"opencode-delegate/internal/call"
	"opencode-delegate/internal/cli"
	"opencode-delegate/internal/job"
)

// A selection is which jobs a list shows.
type selection struct {
	repo   string // empty = of every one
	caller string // empty = anybody's
	states []job.Phase
	since  time.Time
	limit  int // 0 = none
}

// selection reads the flags. What comes back are problems with them, a sentence each.
func (v *listVerb) selection(a *cli.App) (s selection, problems []string) {
	s = selectionOf(a, v.All, v.Mine)
	for _, list := range v.State {
		for name := range strings.SplitSeq(list, ",") {
			if p := job.Phase(name); slices.Contains(job.Phases(), p) {
				s.states = append(s.states, p)
			} else {
				problems = append(problems, fmt.Sprintf("flag --state: %.40q is no state of a job; there are %s", name, phaseNames()))
			}
		}
	}
	var err error
	if v.Since.Set {
		if s.since, err = parseSince(v.Since.Text, a.Now()); err != nil {
			problems = append(problems, "flag --since: "+err.Error())
		}
	}
	if v.Limit.Set {
		if s.limit, err = strconv.Atoi(v.Limit.Text); err != nil || s.limit < 1 {
			problems = append(problems, fmt.Sprintf("flag --limit: %.40q is no whole number of at least 1", v.Limit.Text))
		}
	}
	return s, problems
}

func selectionOf(a *cli.App, all, mine bool) (s selection) {
	if !all {
		s.repo = job.Repository(a.Cwd)
	}
	if mine {
		s.caller = caller(a)
	}
	return s
}

func phaseNames() string {
	var names []string
	for _, p := range job.Phases() {
		names = append(names, string(p))
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// parseSince reads a time, or a duration before now.
func parseSince(text string, now time.Time) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	if t, err := time.ParseInLocation(time.DateOnly, text, time.Local); err == nil {
		return t, nil
	}
	d, err := call.Days(text)
	if err != nil {
		return time.Time{}, fmt.Errorf("%.40q is neither a duration such as 30m, 2h or 7d nor a day or time such as 2026-11-29 or 2026-11-29T19:30:00Z", text)
	}
	return now.Add(-d), nil
}

// matches reports whether a job is shown. Nobody can say whose a record is that cannot be read, or of which repository: it is shown to
// everybody but to who wants only what is his.
func (s selection) matches(store *job.Store, v job.View) bool {
	known := v.State.State != job.Unreadable
	return (s.repo == "" || v.Repo == s.repo || !known) &&
		(len(s.states) == 0 || slices.Contains(s.states, v.State.State)) &&
		(s.since.IsZero() || !v.CreatedAt.Before(s.since)) &&
		(s.caller == "" || store.SameCaller(v.Caller, s.caller))
}

// none says that no job is shown, and what would show more.
func (s selection) none() string {
	where, more := "", ""
	if s.repo != "" {
		where, more = " in this repository", "; --all looks in every one"
	}
	switch {
	case len(s.states) > 0 || !s.since.IsZero():
		return "no job matches" + where + more
	case s.caller != "":
		return "no job of yours" + where + more
	}
	return "no job" + where + more
}
