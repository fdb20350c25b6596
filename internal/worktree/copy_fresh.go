package worktree

import (
	"context"
	"os"
	"path/filepath"
)

// Fresh makes another copy of the same base in place, a directory that is made and must not exist. The user's checkout is not looked at, but for what is
// linked and copied, which is as it is now. Both copies share the ref.
func (c *Copy) Fresh(ctx context.Context, place string) (*Copy, error) {
	return c.another(ctx, c.base, place)
}

// With makes another copy of the same base, in which the work tree is the one of after: HEAD is the base, and what git shows as changed is what the worker did.
// Linked and copied dependencies come along where after has nothing in their place.
func (c *Copy) With(ctx context.Context, after *Snapshot, place string) (*Copy, error) {
	return c.another(ctx, after, place)
}

func (c *Copy) another(ctx context.Context, with *Snapshot, place string) (*Copy, error) {
	n := &Copy{record: c.record}
	return n.in(ctx, place, func() error {
		if err := c.keepAll(ctx); err != nil {
			return err
		}
		var err error
		if n.base, err = c.base.again(n.Tree(), filepath.Join(n.place, baseName)); err != nil {
			return err
		}
		if err := copyOwn(filepath.Join(c.place, ownGitName), filepath.Join(n.place, ownGitName)); err != nil {
			return err
		}
		if err := with.pour(ctx, n.Tree()); err != nil {
			return err
		}
		if err := n.repositories(ctx); err != nil {
			return err
		}
		return n.dependencies(ctx, with == c.base)
	})
}

// keepAll makes the refs again that somebody has removed.
func (c *Copy) keepAll(ctx context.Context) error {
	for _, p := range c.parts() {
		g, err := newGit(nil, filepath.Join(c.record.Top, filepath.FromSlash(p.path)), p.gitDir, p.common)
		if err != nil {
			return err
		}
		_, err = g.keep(ctx, c.Ref(), p.commit)
		g.close()
		if err != nil {
			return err
		}
	}
	return nil
}

// again keeps the same state a second time, as one of another directory.
func (s *Snapshot) again(dir, store string) (*Snapshot, error) {
	n := &Snapshot{store: store, list: s.list}
	n.list.dir = dir
	err := os.Mkdir(store, 0o700)
	if err == nil {
		err = cloneFile(filepath.Join(s.store, contentsName), filepath.Join(store, contentsName))
	}
	if err == nil {
		err = writeList(filepath.Join(store, beforeName), n.list)
	}
	return n, err
}
