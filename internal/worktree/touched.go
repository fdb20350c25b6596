package worktree

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
)

// Touched are the paths that any of the worker's commits that would land has changed, sorted, also where a later one took the change back: who lands the commits
// lands what each of them holds. Paths begin at the top of the repository.
func (c *Copy) Touched(ctx context.Context) ([]string, error) {
	p, err := c.past(ctx)
	if err != nil {
		return nil, err
	}
	defer p.close()
	if p.Lost != "" || p.Rewritten || p.All == 0 { // they land as one commit that holds the result
		return nil, nil
	}
	return allTouched(ctx, p.run, p.Head, p.base)
}

// Touched are the same of a run in the directory itself: of what HEAD leads to at the end of the run and did not before.
func (s *Snapshot) Touched(ctx context.Context, o HistoryOptions) ([]string, error) {
	before, end, err := s.gitStates()
	if err != nil || before == nil || end == nil || before.Unknown+end.Unknown != "" {
		return nil, err
	}
	was, is := before.commit(), end.commit()
	if was == "" || is == "" || was == is {
		return nil, nil
	}
	git, err := s.pastGit(before, o)
	if err != nil {
		return nil, err
	}
	defer git.close()
	return allTouched(ctx, git.run, is, was)
}

// A runner is git in a directory of ours.
type runner func(ctx context.Context, in io.Reader, read func(io.Reader) error, args ...string) error

func (p *past) run(ctx context.Context, in io.Reader, read func(io.Reader) error, args ...string) error {
	return runGit(ctx, p.dir, p.env, in, read, args...)
}

func allTouched(ctx context.Context, git runner, head, base string) ([]string, error) {
	all := map[string]bool{}
	err := touched(ctx, git, head, base, func(name string) error { all[name] = true; return nil })
	return slices.Sorted(maps.Keys(all)), err
}

// touched calls do with the paths that each commit of head, and not of base, has changed against each of its parents.
func touched(ctx context.Context, git runner, head, base string, do func(name string) error) error {
	err := git(ctx, nil, func(out io.Reader) error {
		return each(out, 0, func(name string) error { return do(strings.TrimLeft(name, "\n")) })
	}, "log", "-z", "--format=", "--name-only", "-m", "--no-renames", "--no-show-signature", head, "^"+base)
	if said := (*lostError)(nil); errors.As(err, &said) {
		return said
	}
	return err
}
