package worktree

import "context"

// made is the coverage of what a run has made: that of the snapshot before it, less what git ignores now and the snapshot does not hold.
type made struct {
	*ignored
	covered covered
	before  list
}

func newMade(dir string, o Options) *made {
	m := &made{newIgnored(dir, o.Environ), newCovered(o.Since.list), o.Since.list}
	m.cage = o.Cage
	return m
}

// enter goes by names where git cannot be asked: the run may have destroyed the repository.
func (m *made) enter(ctx context.Context, at string, git bool) error {
	if err := m.ignored.enter(ctx, at, git); ctx.Err() != nil {
		return err
	} else if err != nil {
		m.byName[at] = true
	}
	return nil
}

func (m *made) hole(p string, dir bool, size, maxIgnored int64) string {
	if why := m.covered.hole(p, dir, size, maxIgnored); why != "" {
		return why
	}
	ignored, dependency := m.says(p, dir)
	if (ignored || dependency) && m.before.find(p) == nil {
		return "git ignores it"
	}
	return ""
}
