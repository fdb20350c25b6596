package job

import (
	"context"

	"opencode-delegate/internal/worktree"
)

// Commits are what the worker committed in the chosen copy. A job without a copy has none.
func (s *Store) Commits(ctx context.Context, id string) (worktree.History, error) {
	v, err := s.Look(ctx, id)
	if err != nil {
		return worktree.History{}, err
	}
	w, err := s.Work(v)
	if err != nil || w.Chosen == 0 || w.Landed.What == Discarded {
		return worktree.History{}, err
	}
	c, err := w.copyOf(w.Chosen)
	if err != nil {
		return worktree.History{}, err
	}
	return c.Commits(ctx)
}
