package job

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"opencode-delegate/internal/worktree"
)

// Merge brings the branch of an isolated job into the user's: its commits, and one with what the worker did not commit. The work tree has to be clean, and what was said of
// Apply holds else.
func (s *Store) Merge(ctx context.Context, id string, c Call) (l Landed, done worktree.Merged, again bool, err error) {
	w, unlock, err := s.landing(ctx, id)
	if err != nil {
		return l, done, false, err
	}
	defer unlock()
	if again, err := w.mayLand(Merged); err != nil || again {
		return w.Landed, done, again, err
	}
	goesOn := w.Fate == CutOff
	if !goesOn && !c.Force {
		if err := s.approved(w); err != nil {
			return l, done, false, err
		}
	}
	from, after, err := w.toLand(ctx, c.Environ)
	if err != nil {
		return l, done, false, err
	}
	before := w.Landed
	l = Landed{What: Merged, At: c.Now, By: c.By, Dir: from.Top(), Try: w.Chosen}
	if goesOn {
		l.At = before.At
	}
	if err := s.keepLanded(id, l); err != nil {
		return l, done, false, err
	}
	o := worktree.MergeOptions{Message: c.message(w.view), Environ: dated(c.Environ, l.At.Unix())}
	if done, err = worktree.Merge(ctx, from, after, o); err != nil {
		if !goesOn {
			s.takeBack(id, before)
		}
		return l, done, false, err
	}
	l.Done, l.Commit, l.Changed = true, done.Commit, done.Commits
	return l, done, false, s.keepLanded(id, l)
}

// dated is an environment in which a commit gets this time. So a merge that is repeated after a crash makes the same commits, and git knows that they
// are there.
func dated(environ []string, unix int64) []string {
	environ = slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		return strings.HasPrefix(kv, "GIT_AUTHOR_DATE=") || strings.HasPrefix(kv, "GIT_COMMITTER_DATE=")
	})
	return append(environ, fmt.Sprintf("GIT_AUTHOR_DATE=@%d +0000", unix), fmt.Sprintf("GIT_COMMITTER_DATE=@%d +0000", unix))
}
