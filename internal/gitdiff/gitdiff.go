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
	"cmp"
	"context"
	"time"

	"opencode-delegate/internal/fault"
)

// Options say where to look, and what is found around. At most one of Base, Staged, Commit and Paths is set.
type Options struct {
	Dir       string   // absolute: in the work tree
	Base      string   // compare the files as they are with the merge base of this and HEAD; empty = see Collect
	Staged    bool     // what the index has against HEAD
	Commit    string   // what this commit changed against its first parent
	Paths     []string // no difference, but these files and those of these directories as they are; absolute
	Limit     int      // characters of all texts together
	Self      string   // this program, which is guardian and cage
	Home      string   // of the user
	StateRoot string   // our records
	Environ   []string // the caller's
}

// A Span is what a change is a change of.
type Span int

const (
	Pending   Span = iota // the files as they are, against a commit
	Staged                // the index against HEAD
	Committed             // a commit against its first parent
	Whole                 // files as they are, all of them
)

// A Change is everything that is different.
type Change struct {
	Span    Span
	Top     string // of the work tree; all paths are relative to it
	Against string // of Pending, what the work tree is compared with: the name of a commit; empty = HEAD itself
	Commit  string // the id of the older side, or of the merge base; empty for Whole, and for a commit without a parent
	Of      string // of Committed: the id of the commit

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
	// Lines is the number of the last line: of the file as it is on the newer side or, where lines at its end were taken away, of the older
	// one as far as it is shown. 0 = it has none, or they are not known.
	Lines int64
	Why   string // only of Named
}

// A Rest is what there is more of.
type Rest struct{ Files, Lines int64 }

// Empty reports whether nothing is different.
func (c Change) Empty() bool {
	return len(c.Shown)+len(c.Left)+len(c.Named) == 0 && c.More.Files == 0
}

// patience bounds all that git does for one change.
const patience = 2 * time.Minute

// Collect finds the change. Without any choice it is what differs from HEAD or, when nothing does, what HEAD is ahead of its upstream or of the
// default branch. In the files as they are untracked ones count, ignored ones do not. A change may be empty. A USAGE fault says that there is no
// such base, commit or path.
func Collect(ctx context.Context, o Options) (Change, error) {
	for flag, name := range map[string]string{"--base": o.Base, "--commit": o.Commit} {
		if err := checkName(flag, name); err != nil {
			return Change{}, err
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fault.New(fault.RunFailed, "git has not answered within %s", patience))
	defer cancel()
	r, err := open(ctx, o)
	if err != nil {
		return Change{}, err
	}
	defer r.close()
	if err := r.settle(ctx); err != nil {
		return Change{}, err
	}
	switch {
	case len(o.Paths) > 0:
		return r.whole(ctx, o)
	case o.Commit != "":
		return r.committed(ctx, o.Commit, o.Limit)
	}
	head, ok, err := r.commit(ctx, "HEAD")
	switch {
	case err != nil:
		return Change{}, err
	case !ok:
		return Change{}, fault.New(fault.Usage, "the repository %s has no commit yet; there is nothing to compare with", r.top)
	case o.Staged:
		return r.compare(ctx, Change{Span: Staged, Commit: head}, o.Limit, "--cached", "--end-of-options", head)
	case o.Base != "":
		id, err := r.base(ctx, o.Base, head)
		if err != nil {
			return Change{}, err
		}
		return r.compare(ctx, Change{Against: o.Base, Commit: id}, o.Limit, "--end-of-options", id)
	}
	c, err := r.compare(ctx, Change{Commit: head}, o.Limit, "--end-of-options", head)
	if err != nil || !c.Empty() {
		return c, err
	}
	name, id, err := r.ahead(ctx, head)
	if err != nil || name == "" {
		return c, err
	}
	return r.compare(ctx, Change{Against: name, Commit: id}, o.Limit, "--end-of-options", id)
}

// committed is what one commit changed.
func (r *repository) committed(ctx context.Context, name string, limit int) (Change, error) {
	id, ok, err := r.commit(ctx, name)
	if err != nil {
		return Change{}, err
	}
	if !ok {
		return Change{}, fault.New(fault.Usage, "--commit: %q is no commit of %s; give a branch, a tag or a commit id", name, r.top)
	}
	parent, err := r.parent(ctx, id)
	if err != nil {
		return Change{}, err
	}
	return r.compare(ctx, Change{Span: Committed, Commit: parent, Of: id}, limit, "--end-of-options", cmp.Or(parent, r.emptyTree()), id)
}

// compare fills a change with what git diff shows for the sides that are given, and with the untracked files where they belong to it.
func (r *repository) compare(ctx context.Context, c Change, limit int, sides ...string) (Change, error) {
	s := newSelection(limit)
	if err := r.tracked(ctx, sides, s); err != nil {
		return Change{}, err
	}
	if c.Span == Pending {
		if err := r.untracked(ctx, s); err != nil {
			return Change{}, err
		}
	}
	s.fill(&c)
	c.Top = r.top
	return c, r.count(ctx, &c)
}
