// Package gitdiff shows what has changed in a work tree, as git sees it, in a bounded text for somebody who reads it.
//
// A repository's configuration names programs: filters, drivers of differences, a file system monitor, transports of a partial
// clone. None of them runs here. Names are resolved by a git that reads the repository's configuration, with commands that ask no
// program of it; what looks at files is a git with an empty repository of our own, which has the objects and the index of the real one, and a
// few settings of it that name no program. Both run in the kernel's sandbox where there is one, and may write nothing.
//
// Contents of files whose names say that they hold secrets are never shown.
package gitdiff

import (
	"context"
	"time"

	"opencode-delegate/internal/fault"
)

// Options say where to look, and what is found around.
type Options struct {
	Dir       string   // absolute: in the work tree
	Base      string   // compare with the merge base of this and HEAD; empty = see Collect
	Limit     int      // characters of all texts together
	Self      string   // this program, which is guardian and cage
	Home      string   // of the user
	StateRoot string   // our records
	Environ   []string // the caller's
}

// A Change is everything that is different.
type Change struct {
	Top     string // of the work tree; all paths are relative to it
	Against string // what the work tree is compared with: the name of a commit; empty = HEAD itself
	Commit  string // its id, or that of the merge base

	Shown []File // with their texts, in the order of git and then of the untracked files
	Left  []File // for which there was no room, the smallest first
	Named []File // of which no text is shown, and why
	More  Rest   // what is not even named
}

// A File is one that is different. Its path is quoted when it has characters that need it.
type File struct {
	Path           string
	Text           string // the difference in unified form; only of Shown
	Added, Deleted int64  // lines
	Why            string // only of Named
}

// A Rest is what there is more of.
type Rest struct{ Files, Lines int64 }

// Empty reports whether nothing is different.
func (c Change) Empty() bool {
	return len(c.Shown)+len(c.Left)+len(c.Named) == 0 && c.More.Files == 0
}

// patience bounds all that git does for one change.
const patience = 2 * time.Minute

// Collect finds the change. With a base it is what differs between its merge base with HEAD and the files as they are; without one
// what differs from HEAD or, when nothing does, what HEAD is ahead of its upstream or of the default branch. Untracked files count, ignored ones do not. A
// USAGE fault says that there is nothing to show, or no such base.
func Collect(ctx context.Context, o Options) (Change, error) {
	if err := checkName(o.Base); err != nil {
		return Change{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fault.New(fault.RunFailed, "git has not answered within %s", patience))
	defer cancel()
	r, err := open(ctx, o)
	if err != nil {
		return Change{}, err
	}
	defer r.close()
	head, ok, err := r.commit(ctx, "HEAD")
	if err != nil {
		return Change{}, err
	}
	if !ok {
		return Change{}, fault.New(fault.Usage, "the repository %s has no commit yet; there is nothing to compare with", r.top)
	}
	if err := r.settle(ctx); err != nil {
		return Change{}, err
	}
	if o.Base != "" {
		id, err := r.base(ctx, o.Base, head)
		if err != nil {
			return Change{}, err
		}
		c, err := r.compare(ctx, o.Base, id, o.Limit)
		if err == nil && c.Empty() {
			err = fault.New(fault.Usage, "there is nothing to show: no file differs from the merge base of %s and HEAD", o.Base)
		}
		return c, err
	}
	c, err := r.compare(ctx, "", head, o.Limit)
	if err != nil || !c.Empty() {
		return c, err
	}
	name, id, err := r.ahead(ctx, head)
	if err != nil {
		return Change{}, err
	}
	if name == "" {
		return Change{}, fault.New(fault.Usage, "there is nothing to show: no file differs from HEAD, and HEAD is not ahead of an upstream or a default branch").
			With("--base REF compares with another commit")
	}
	return r.compare(ctx, name, id, o.Limit)
}

// compare is the change between a commit and the work tree.
func (r *repository) compare(ctx context.Context, name, id string, limit int) (Change, error) {
	s := newSelection(limit)
	if err := r.tracked(ctx, id, s); err != nil {
		return Change{}, err
	}
	if err := r.untracked(ctx, s); err != nil {
		return Change{}, err
	}
	c := s.change()
	c.Top, c.Against, c.Commit = r.top, name, id
	return c, nil
}
