package main

import (
	"context"

	"opencode-delegate/internal/call"
	"opencode-delegate/internal/cli"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/gitdiff"
	"opencode-delegate/internal/recipe"
	"opencode-delegate/internal/tiers"
)

const reviewDescription = `Have a change reviewed: findings with file and line, the most severe first.

With --base it is everything between the merge base of REF and HEAD and the files as they are now; without it what is not committed yet or, when there is nothing, the commits that the branch is ahead of its upstream or of the default branch.

The tier is pro unless you choose a model or a tier, by flag or as a default of yours.`

const reviewExamples = `
Examples:
  oc-delegate review
  oc-delegate review --base main
  oc-delegate review --adversarial "Can two of these run at once?"
`

type review struct {
	Focus       []string  `arg:"" optional:"" help:"What to look at above all; a lone - reads it from stdin."`
	Base        call.Once `placeholder:"REF" group:"task" help:"Compare with the merge base of REF and HEAD."`
	Adversarial bool      `group:"task" help:"Argue against the change: what it assumes, how it fails, what its tests do not show."`
	call.PlaceFlags
	recipeFlags
}

func (r *review) flags() call.Flags {
	f := r.delegation(call.Recipe{Name: "review", Tier: tiers.Pro}, r.Focus)
	f.PlaceFlags = r.PlaceFlags
	return f
}

func (r *review) needs(call.Call) string {
	if r.Base.Set && r.Base.Text == "" {
		return "flag --base: empty; give a branch, a tag or a commit id, or leave the flag out"
	}
	return ""
}

func (r *review) task(ctx context.Context, a *cli.App, c call.Call) (task, error) {
	focus, notes, err := words(ctx, a, c)
	if err != nil {
		return task{}, err
	}
	host := a.Host(nil)
	change, err := gitdiff.Collect(ctx, gitdiff.Options{
		Dir: c.Request.Dir, Base: r.Base.Text, Limit: recipe.DiffLimit, Self: host.Own(), Home: host.Home, StateRoot: host.StateRoot, Environ: host.Environ,
	})
	if err != nil {
		return task{}, err
	}
	if change.Empty() {
		return task{}, fault.New(fault.Usage, "there is nothing to show: no file differs from HEAD").With("--base REF compares with another commit")
	}
	for i := range change.Shown {
		change.Shown[i].Text = a.Secrets.String(change.Shown[i].Text)
	}
	review := recipe.Review{Change: change, Focus: focus, Adversarial: r.Adversarial}
	return task{prompt: review.Brief(), title: review.Title(), notes: append(notes, review.Subject())}, nil
}
