package worktree

import (
	"context"
	"os"
	"path"
	"path/filepath"
)

// Result keeps what the worker has made, in store, a directory that is made. Files that git ignores do not belong to it unless they belong to the base or the worker
// has committed them. Nothing of the worker may be alive.
func (c *Copy) Result(ctx context.Context, store string, environ []string) (*Snapshot, error) {
	_, store, err := places(c.Tree(), store)
	if err != nil {
		return nil, err
	}
	touched, err := c.Touched(ctx)
	if err != nil {
		return nil, err
	}
	committed := map[string]bool{}
	for _, p := range touched {
		for ; p != "."; p = path.Dir(p) {
			committed[p] = true
		}
	}
	return take(ctx, c.Tree(), store, Options{}.withDefaults(), &landing{newIgnored(c.Tree(), environ), c, committed})
}

// landing is the coverage of a result.
type landing struct {
	*ignored
	copy      *Copy
	committed map[string]bool // what the worker's commits have changed, and the directories of it
}

// enter asks once: repositories that the worker made inside are files like any other.
func (l *landing) enter(ctx context.Context, at string, _ bool) error {
	if at != "" {
		return nil
	}
	root, err := os.OpenRoot(l.copy.Tree())
	if err != nil {
		return err
	}
	defer root.Close()
	for _, p := range l.copy.parts() {
		if p.path != "" && !isDirIn(root, p.path) {
			continue
		}
		g, err := newGitWithIndex(l.environ, filepath.Join(l.copy.Tree(), filepath.FromSlash(p.path)), p.own, p.common, filepath.Join(p.own, "index"))
		if err != nil {
			return err
		}
		err = l.list(ctx, g, p.path, ".")
		g.close()
		if err != nil {
			return err
		}
	}
	return nil
}

func (l *landing) hole(p string, _ bool, _, _ int64) string {
	if l.copy.depends(p) {
		return "a dependency that was linked or copied"
	}
	if ignored, _ := l.says(p, true); ignored && !l.committed[p] && l.copy.base.list.find(p) == nil {
		return "git ignores it"
	}
	return ""
}
