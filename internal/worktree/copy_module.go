package worktree

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/repocode"
)

// maxModules bounds the submodules that come along.
const maxModules = 256

// module brings a submodule along, from the user's own repository of it and without network: its files and a git directory that borrows from there.
// Without uncommitted work it is at the commit that belongs there, with it at the one that is checked out. One that the user has not checked out, or
// that lacks objects, stays an empty directory.
func (c *Copy) module(ctx context.Context, environ []string, in part, link gitlink) error {
	at := joined(in.path, link.path)
	dir := filepath.Join(c.record.Top, filepath.FromSlash(at))
	gitDir, common, top, ok := repocode.Dirs(dir)
	if !ok || top != dir || len(c.record.Modules) >= maxModules {
		return nil
	}
	g, err := newGit(environ, dir, gitDir, common)
	if err != nil {
		return err
	}
	defer g.close()
	commit := link.commit
	if c.record.Dirty {
		commit, err = g.head(ctx)
	}
	if err == nil {
		err = g.complete(ctx, commit)
	}
	if ctx.Err() == nil && err != nil && fault.Of(err).Kind == fault.Usage {
		return nil
	}
	if err != nil {
		return err
	}
	if err := c.keep(ctx, g, commit); err != nil {
		return err
	}
	// Where git keeps it says what it is called; without that git takes it for one that nobody wants.
	if name, ok := strings.CutPrefix(gitDir, filepath.Join(in.common, "modules")+string(filepath.Separator)); ok {
		if err := runGit(ctx, in.own, ownEnv(in.own), nil, nil, "config", "submodule."+filepath.ToSlash(name)+".active", "true"); err != nil {
			return err
		}
	}
	c.record.Modules = append(c.record.Modules, moduleRecord{at, gitDir, common, commit})
	parts := c.parts()
	return c.plant(ctx, g, parts[len(parts)-1])
}

// forget removes the refs that this copy has made.
func (c *Copy) forget(ctx context.Context) (err error) {
	for _, p := range c.made {
		_, rerr := release(ctx, p.gitDir, c.Ref(), p.commit)
		err = errors.Join(err, rerr)
	}
	return err
}

// keep makes the ref in one of the user's repositories and notes that it has to go again if the copy fails.
func (c *Copy) keep(ctx context.Context, g *git, commit string) error {
	made, err := g.keep(ctx, c.Ref(), commit)
	if made {
		c.made = append(c.made, part{gitDir: g.gitDir, commit: commit})
	}
	return err
}
