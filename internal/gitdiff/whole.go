package gitdiff

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"opencode-delegate/internal/fault"
)

// whole selects files as they are: those that are named, and those of named directories that git does not ignore.
func (r *repository) whole(ctx context.Context, o Options) (Change, error) {
	root, err := os.OpenRoot(r.top)
	if err != nil {
		return Change{}, fmt.Errorf("the work tree: %w", err)
	}
	defer root.Close()
	s := newSelection(o.Limit)
	var names, dirs []string
	for _, path := range o.Paths {
		name, dir, err := r.within(path)
		switch {
		case err != nil:
			return Change{}, err
		case dir:
			dirs = append(dirs, name)
		default:
			names = append(names, name)
		}
	}
	if len(dirs) > 0 {
		args := append([]string{"--literal-pathspecs", "ls-files", "-z", "--cached", "--others", "--exclude-per-directory=.gitignore"}, r.ignore...)
		listed, err := r.list(ctx, s, append(append(args, "--"), dirs...)...)
		if err != nil {
			return Change{}, err
		}
		names = append(names, listed...)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if ctx.Err() != nil {
			return Change{}, context.Cause(ctx)
		}
		text, why := textOf(root, name, int64(s.limit))
		switch shown := quoted(name); {
		case why == gone: // git knows it still
		case why != "":
			s.name(shown, why)
		default:
			s.add(text.file(shown, ""))
		}
	}
	c := Change{Span: Whole, Top: r.top}
	s.fill(&c)
	return c, nil
}

// within is a path relative to the work tree, with slashes, without symbolic links. It has to lie in it, and not in what belongs to git.
func (r *repository) within(path string) (name string, dir bool, err error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", false, fault.New(fault.Usage, "%.200s is not there; name a file or a directory that exists", path)
	}
	fi, err := os.Stat(real)
	if err != nil {
		return "", false, fault.New(fault.Usage, "%.200s is not there; name a file or a directory that exists", path)
	}
	rel, err := filepath.Rel(r.top, real)
	if err != nil || !filepath.IsLocal(rel) {
		return "", false, fault.New(fault.Usage, "%.200s lies outside of %s, the work tree that is reviewed; name one in it, or another --dir", path, r.top)
	}
	rel = filepath.ToSlash(rel)
	ours := slices.ContainsFunc(strings.Split(rel, "/"), func(part string) bool { return strings.EqualFold(part, ".git") })
	for _, d := range []string{r.gitDir, r.commonDir} {
		below, err := filepath.Rel(d, real)
		ours = ours || err == nil && filepath.IsLocal(below)
	}
	if ours {
		return "", false, fault.New(fault.Usage, "%.200s belongs to git itself; name a file of the work tree", path)
	}
	return rel, fi.IsDir(), nil
}
