package main

import (
	"context"

	"opencode-delegate/internal/call"
	"opencode-delegate/internal/cli"
	"opencode-delegate/internal/job"
	"opencode-delegate/internal/permission"
	"opencode-delegate/internal/recipe"
)

const researchDescription = `Have a question researched on the web: claims, each with its sources, and what the sources do not support.

The worker can search the web and fetch pages, in a directory without a file: nothing of yours is there to be told to anybody. Whether a search is possible depends on opencode; a page whose address is known can be fetched in any case.`

const researchExamples = `
Examples:
  oc-delegate research "Which HTTP status codes may a cache store without being told to, and where is that written?"
  oc-delegate research --tier pro --timeout 20m - < question.md
`

type research struct {
	Question []string `arg:"" optional:"" help:"The question; a lone - reads it from stdin."`
	recipeFlags

	dir string // where the worker works
}

// prepare makes the directory. What is only looked at needs none.
func (r *research) prepare(a *cli.App) error {
	if r.Explain || r.PrintCommand {
		root, err := job.RootPath(a.Getenv, a.Home)
		r.dir = job.ResearchPath(root)
		return err
	}
	store, err := a.Store()
	if err != nil {
		return err
	}
	r.dir, err = store.ResearchDir()
	return err
}

func (r *research) flags() call.Flags {
	return r.delegation(call.Recipe{Name: "research", Dir: r.dir, Profile: permission.Research}, r.Question)
}

func (r *research) needs(c call.Call) string {
	if c.Prompt.Given {
		return ""
	}
	return "no question was given; give it as one argument, or as - for stdin"
}

func (r *research) task(ctx context.Context, a *cli.App, c call.Call) (task, error) {
	question, notes, err := words(ctx, a, c)
	if err != nil {
		return task{}, err
	}
	research := recipe.Research{Question: question, Today: a.Now()}
	return task{prompt: research.Brief(), title: research.Title(), notes: notes}, nil
}

func (r *research) remarks(digest string) []string { return recipe.WithoutSource(digest) }
