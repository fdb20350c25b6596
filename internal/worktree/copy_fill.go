package worktree

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"opencode-delegate/internal/fault"
)

// A gitlink is the place of a submodule, relative to its repository, and the commit that belongs there.
type gitlink struct{ path, commit string }

// plant makes one repository of the copy and those inside of it.
func (c *Copy) plant(ctx context.Context, g *git, p part) error {
	if err := c.template(ctx, g, p); err != nil {
		return err
	}
	links, err := c.files(ctx, g, p)
	if err != nil {
		return err
	}
	for _, link := range links {
		if err := c.module(ctx, g.environ, p, link); err != nil {
			return err
		}
	}
	return nil
}

// files fills the tree of one repository and returns the submodules in it.
func (c *Copy) files(ctx context.Context, g *git, p part) (links []gitlink, err error) {
	dirty, err := g.changed(ctx, p.commit)
	if err != nil {
		return nil, err
	}
	if !c.record.Dirty {
		c.behind += len(dirty)
	}
	dir := filepath.Join(c.Tree(), filepath.FromSlash(p.path))
	to, err := newTransfer(ctx, g.top, dir)
	if err != nil {
		return nil, err
	}
	defer to.close()
	known := map[string]bool{}
	var asHere, fromObjects []string
	err = g.run(ctx, nil, func(out io.Reader) error {
		return each(out, 0, func(line string) error {
			info, name, _ := strings.Cut(line, "\t")
			known[name] = true
			switch {
			case strings.HasPrefix(info, "160000"):
				links = append(links, gitlink{name, info[strings.LastIndexByte(info, ' ')+1:]})
				return to.mkdir(name)
			case !dirty[name]:
				asHere = append(asHere, name) // of what a sparse checkout leaves out there is nothing to copy
			case !c.record.Dirty:
				fromObjects = append(fromObjects, name)
			}
			return nil
		})
	}, "ls-tree", "-r", "-z", "--full-tree", p.commit)
	if err == nil && c.record.Dirty {
		var more []string
		more, err = c.dirt(ctx, g, p, known, dirty)
		asHere = append(asHere, more...)
		c.record.Dirt = c.record.Dirt || len(dirty)+len(more) > 0
	}
	if err == nil {
		err = to.copies(asHere)
	}
	if err != nil || len(fromObjects) == 0 {
		return links, err
	}
	env := append(g.env[:len(g.env):len(g.env)], "GIT_WORK_TREE="+dir, "GIT_INDEX_FILE="+filepath.Join(p.own, "index"))
	in := bytes.NewReader([]byte(strings.Join(fromObjects, "\x00") + "\x00"))
	if err := runGit(ctx, dir, env, in, nil, "checkout-index", "-q", "-f", "-z", "--stdin"); err != nil {
		return nil, err
	}
	return links, to.large(g.common, fromObjects)
}

// dirt are the paths that are to come along beside those of the commit that are as in it: changed ones that are there, and new ones that are not ignored.
func (c *Copy) dirt(ctx context.Context, g *git, p part, known, dirty map[string]bool) (paths []string, err error) {
	if err := noPipes(ctx, g.top); err != nil {
		return nil, err
	}
	args := []string{"ls-files", "-z", "--cached", "--others", "--exclude-per-directory=.gitignore"}
	for _, file := range g.ignoreFiles() {
		args = append(args, "--exclude-from="+file)
	}
	present, err := g.set(ctx, args...)
	for name := range present {
		switch inside := strings.HasSuffix(name, "/"); {
		case known[name] && !dirty[name], c.depends(joined(p.path, strings.TrimSuffix(name, "/"))):
		case inside: // a repository is not part of the one around it
			c.inside = append(c.inside, joined(p.path, strings.TrimSuffix(name, "/")))
		default:
			paths = append(paths, name)
		}
	}
	slices.Sort(paths)
	slices.Sort(c.inside)
	return paths, err
}

// start makes the directory in which the user is.
func (c *Copy) start(ctx context.Context, dir string) error {
	at, ok := below(c.record.Top, dir)
	if !ok {
		return nil
	}
	to, err := newTransfer(ctx, c.record.Top, c.Tree())
	if err != nil {
		return err
	}
	defer to.close()
	if err := to.mkdir(filepath.ToSlash(at)); err != nil {
		return fault.New(fault.Usage, "%q is no directory in the commit that is checked out", at)
	}
	return nil
}
