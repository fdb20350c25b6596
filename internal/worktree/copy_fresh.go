package worktree

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"opencode-delegate/internal/fault"
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

// Onward makes another copy of the same base that is on its own: the ref and the branch are those of id, and the ref of c may go.
func (c *Copy) Onward(ctx context.Context, id, place string) (*Copy, error) {
	if !copyID().MatchString(id) {
		return nil, fault.New(fault.Usage, "copy: %.80q cannot be part of the name of a ref", id)
	}
	n := &Copy{record: c.record}
	n.record.ID = id
	made, err := c.make(ctx, n, c.base, place)
	if err != nil {
		err = errors.Join(err, n.forget(ctx))
	}
	return made, err
}

// Resume puts the work of another copy of the same base into this one, in which nothing has been done yet. Commits among it are files here.
func (c *Copy) Resume(ctx context.Context, after *Snapshot) error {
	return after.Put(ctx, c.Tree(), Changed(c.base, after))
}

func (c *Copy) another(ctx context.Context, with *Snapshot, place string) (*Copy, error) {
	return c.make(ctx, &Copy{record: c.record}, with, place)
}

// make fills n, a copy of the base of c.
func (c *Copy) make(ctx context.Context, n *Copy, with *Snapshot, place string) (*Copy, error) {
	return n.in(ctx, place, func() error {
		if err := n.keepAll(ctx); err != nil {
			return err
		}
		var err error
		if n.base, err = c.base.again(n.Tree(), filepath.Join(n.place, baseName)); err != nil {
			return err
		}
		if err := copyOwn(filepath.Join(c.place, ownGitName), filepath.Join(n.place, ownGitName)); err != nil {
			return err
		}
		if err := n.renamed(c); err != nil {
			return err
		}
		if err := with.pour(ctx, n.Tree()); err != nil {
			return err
		}
		if err := n.repositories(ctx, with == c.base); err != nil {
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
		err = c.keep(ctx, g, p.commit)
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
