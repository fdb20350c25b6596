package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"opencode-delegate/internal/call"
	"opencode-delegate/internal/cli"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/job"
	"opencode-delegate/internal/lazyregexp"
	"opencode-delegate/internal/recipe"
	"opencode-delegate/internal/repocode"
	findings "opencode-delegate/internal/review"
	"opencode-delegate/internal/tiers"
)

const fixDescription = `Have findings of a review repaired: one run that may write, told to repair exactly these.

The review is one of this repository, which --dir can choose. What the findings say is data for the worker, and a finding that does not hold is left alone. The answer says of each what was done.

The tier is code unless you choose a model or a tier, by flag or as a default of yours. --write is implied.`

const fixExamples = `
Examples:
  oc-delegate fix --from 20261130-101500-0k7u2m
  oc-delegate fix --from 20261130-1015 --only F1,F3 --verify "make test"
  oc-delegate fix --from 20261130-1015 --isolate "Keep the names of the public functions"
`

type fix struct {
	Words []string  `arg:"" optional:"" name:"words" help:"What else the worker has to know, as one argument; a lone - reads it from stdin."`
	From  call.Once `placeholder:"ID" group:"task" help:"The job of the review: its id, the beginning of one, or its name."`
	Only  []string  `sep:"none" placeholder:"F1,F3" group:"task" help:"Only these findings (repeatable; default: all)."`
	call.PlaceFlags
	call.GrantFlags
	call.IsolateFlags
	call.CheckFlags
	recipeFlags
}

func (x *fix) flags() call.Flags {
	f := x.delegation(call.Recipe{Name: "fix", Tier: tiers.Code}, x.Words)
	f.PlaceFlags, f.GrantFlags, f.IsolateFlags, f.CheckFlags = x.PlaceFlags, x.GrantFlags, x.IsolateFlags, x.CheckFlags
	f.Write = true
	return f
}

var findingID = lazyregexp.New(`^[Ff][1-9][0-9]{0,5}$`)

// only are the ids that were asked for; none = all.
func (x *fix) only() (ids []string, problem string) {
	for _, list := range x.Only {
		for id := range strings.SplitSeq(list, ",") {
			if id = strings.TrimSpace(id); !findingID().MatchString(id) {
				return nil, fmt.Sprintf("flag --only: %.40q is no finding; name them as the review does, such as F1,F3", id)
			}
			ids = append(ids, strings.ToUpper(id))
		}
	}
	return ids, ""
}

func (x *fix) needs(call.Call) string {
	if x.From.Text == "" {
		return "no review was named; give its job with --from ID (oc-job list shows them)"
	}
	_, problem := x.only()
	return problem
}

func (x *fix) task(ctx context.Context, a *cli.App, c call.Call) (task, error) {
	more, notes, err := words(ctx, a, c)
	if err != nil {
		return task{}, err
	}
	id, found, err := x.findings(ctx, a, c.Request.Dir)
	if err != nil {
		return task{}, err
	}
	order := recipe.Fix{Findings: found, Job: id, Top: above(c.Request.Dir), Words: more}
	t := task{prompt: order.Brief(), title: order.Title(), notes: notes}
	for _, f := range found {
		t.reverts = append(t.reverts, f.File)
	}
	return t, nil
}

// above is the way from a directory up to the top of its work tree. A path that is not relative would lead out of an isolated copy.
func above(dir string) string {
	if _, _, top, ok := repocode.Dirs(dir); ok && top != "" {
		if rel, err := filepath.Rel(dir, top); err == nil {
			return filepath.ToSlash(rel)
		}
	}
	return "."
}

// findings are those of the review that are to be repaired.
func (x *fix) findings(ctx context.Context, a *cli.App, dir string) (id string, found []findings.Finding, err error) {
	store, err := a.Store()
	if err != nil {
		return "", nil, err
	}
	if id, _, err = store.Find(ctx, x.From.Text); err != nil {
		return "", nil, err
	}
	v, err := store.Look(ctx, id)
	if err != nil {
		return "", nil, err
	}
	if v.State.State != job.Unreadable && v.Repo != job.Repository(dir) {
		return "", nil, fault.New(fault.NotFound, "job %s is about another repository, %s", id, v.Repo).With("name a directory of that one with --dir")
	}
	res, err := store.Result(v)
	switch {
	case err != nil:
		return "", nil, err
	case res.Review == nil:
		return "", nil, fault.New(fault.Usage, "job %s is no review; name one that oc-delegate review has begun", id).With("oc-job list shows the jobs of this repository")
	}
	review := res.Review.Sound(a.Secrets)
	if len(review.Findings) == 0 {
		return "", nil, fault.New(fault.Usage, "the review of job %s has no findings; there is nothing to repair", id)
	}
	ids, _ := x.only()
	if len(ids) == 0 {
		return id, review.Findings, nil
	}
	found, unknown := review.Select(ids)
	if len(unknown) > 0 {
		return "", nil, fault.New(fault.Usage, "job %s has no finding %s; it has F1 to F%d", id, strings.Join(unknown, " and "), len(review.Findings))
	}
	return id, found, nil
}
