package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"unicode"

	"opencode-delegate/internal/call"
	"opencode-delegate/internal/cli"
	"opencode-delegate/internal/gitdiff"
	"opencode-delegate/internal/recipe"
	"opencode-delegate/internal/tiers"
)

const reviewDescription = `Have a change, or files, reviewed: findings with file and line, the most severe first.

With --base it is everything between the merge base of REF and HEAD and the files as they are now; with --staged what is staged; with --commit what one commit changed; with paths these files as they are. Without any of them it is what is not committed yet or, when there is nothing, the commits that the branch is ahead of its upstream or of the default branch.

Each finding is looked up: one that names no file and line of what was reviewed is dropped and counted. The worker's word for the rest is yours to check. oc-delegate fix has findings repaired.

The tier is pro unless you choose a model or a tier, by flag or as a default of yours.`

const reviewExamples = `
Examples:
  oc-delegate review
  oc-delegate review --base main "Is the old file format still read?"
  oc-delegate review --staged
  oc-delegate review src/parser.go docs
  oc-delegate review --adversarial "Can two of these run at once?"
`

type review struct {
	Words       []string  `arg:"" optional:"" name:"path-or-focus" help:"Files and directories to review as they are, and one text of several words: what to look at above all. A lone - reads that from stdin."`
	Base        call.Once `placeholder:"REF" group:"task" help:"Compare the files as they are with the merge base of REF and HEAD."`
	Staged      bool      `group:"task" help:"Review what is staged, against HEAD."`
	Commit      call.Once `placeholder:"REF" group:"task" help:"Review what this commit changed, against its first parent."`
	Adversarial bool      `group:"task" help:"Argue against the change: what it assumes, how it fails, what its tests do not show."`
	call.PlaceFlags
	recipeFlags

	paths   []string // of the words those that name something that is there; absolute
	focus   []string // the others
	unclear string   // one that could be either; empty = none
}

// prepare tells paths from what is to be looked at: a word that names a file or a directory is a path; every other has to be more than one word to a
// reader. A path that was mistyped would be taken for a question otherwise, and something else reviewed.
func (r *review) prepare(a *cli.App) error {
	for _, w := range r.Words {
		switch _, err := os.Lstat(absolute(a, w)); {
		case w == "-" || strings.TrimSpace(w) == "":
			r.focus = append(r.focus, w)
		case err == nil:
			r.paths = append(r.paths, absolute(a, w))
		default:
			r.focus = append(r.focus, w)
			if !strings.ContainsFunc(strings.TrimSpace(w), unicode.IsSpace) && r.unclear == "" {
				r.unclear = w
			}
		}
	}
	return nil
}

func (r *review) flags() call.Flags {
	f := r.delegation(call.Recipe{Name: "review", Tier: tiers.Pro}, r.focus)
	f.PlaceFlags = r.PlaceFlags
	return f
}

func (r *review) needs(call.Call) string {
	var choices []string
	for _, c := range []struct {
		name string
		set  bool
	}{{"--base", r.Base.Set}, {"--staged", r.Staged}, {"--commit", r.Commit.Set}, {"paths", len(r.paths) > 0}} {
		if c.set {
			choices = append(choices, c.name)
		}
	}
	switch {
	case len(choices) > 1:
		return fmt.Sprintf("%s: each is something else to review; give one of them", strings.Join(choices, " and "))
	case r.Base.Set && r.Base.Text == "":
		return "flag --base: empty; give a branch, a tag or a commit id, or leave the flag out"
	case r.Commit.Set && r.Commit.Text == "":
		return "flag --commit: empty; give a branch, a tag or a commit id, or leave the flag out"
	case r.unclear != "":
		return fmt.Sprintf("%.80q is no file here, and one word does not say what to look at; name a file that exists, or ask in more words", r.unclear)
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
		Dir: c.Request.Dir, Base: r.Base.Text, Staged: r.Staged, Commit: r.Commit.Text, Paths: r.paths, Limit: recipe.DiffLimit,
		Self: host.Own(), Home: host.Home, StateRoot: host.StateRoot, Environ: host.Environ,
	})
	if err != nil {
		return task{}, err
	}
	for i := range change.Shown {
		change.Shown[i].Text = a.Secrets.String(change.Shown[i].Text)
	}
	review := recipe.Review{Change: change, Dir: c.Request.Dir, Focus: focus, Adversarial: r.Adversarial}
	if change.Empty() {
		scope := review.Scope()
		t := task{nothing: review.Nothing(), review: &scope}
		if change.Span == gitdiff.Pending && !r.Base.Set {
			t.hints = []string{"--base REF compares with another commit; a path has files reviewed as they are"}
		}
		return t, nil
	}
	prompt, scope := review.Questions()
	return task{prompt: prompt, title: review.Title(), notes: append(notes, review.Subject()), review: &scope}, nil
}
