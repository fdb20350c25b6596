package worktree

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"opencode-delegate/internal/atomicfile"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/lazyregexp"
	"opencode-delegate/internal/repocode"
)

// CopyOptions say what is copied.
type CopyOptions struct {
	Dir       string   // in the work tree
	Place     string   // a directory outside of it, which is made and must not exist
	ID        string   // names the branch in the copy and the ref that keeps the base alive in the repository
	WithDirty bool     // uncommitted and untracked files come along and belong to the base
	Environ   []string // the caller's
}

// A Copy is a work tree of its own outside the repository, with a git directory of its own that borrows the objects of the user's. The worker may do in
// [Copy.Tree] what it likes. Beside it, out of its reach, lie the state at the start and whatever else is ours: no git of ours reads the git directory of the copy.
//
// Files are those of the user's checkout, byte by byte; one that was changed there is as git would check it out, without
// filters of its own. What a sparse checkout leaves out is left out. Submodules are empty directories.
type Copy struct {
	place  string
	record copyRecord
	base   *Snapshot
}

type copyRecord struct {
	Version int    `json:"version"`
	Top     string `json:"top"`
	GitDir  string `json:"git_dir"`
	Common  string `json:"common_dir"`
	ID      string `json:"id"`
	Base    string `json:"base"` // the commit
	Dirty   bool   `json:"with_dirty"`
}

// The parts of a place.
const (
	copyName   = "copy.json" // written last: without it there is no copy
	treeName   = "tree"
	baseName   = "base"
	ownGitName = "git"
)

// copyID is what can be part of a ref and of a file name.
var copyID = lazyregexp.New(`^[0-9A-Za-z][0-9A-Za-z_-]{0,63}$`)

// Tree is the worker's directory.
func (c *Copy) Tree() string { return filepath.Join(c.place, treeName) }

// Top is the user's work tree.
func (c *Copy) Top() string { return c.record.Top }

// BaseCommit is the commit that HEAD was at.
func (c *Copy) BaseCommit() string { return c.record.Base }

// Base is the state at the start.
func (c *Copy) Base() *Snapshot { return c.base }

// Ref is what keeps the borrowed objects alive in the user's repository.
func (c *Copy) Ref() string { return "refs/opencode-delegate/" + c.record.ID }

// NewCopy makes a copy. The one change in the user's .git is the ref. A USAGE fault says why there can be no copy of a directory: no git, no commit yet, a
// rebase or its like under way, objects that are missing. On an error nothing is left.
func NewCopy(ctx context.Context, o CopyOptions) (*Copy, error) {
	if !copyID().MatchString(o.ID) {
		return nil, fault.New(fault.Usage, "copy: %.80q cannot be part of the name of a ref", o.ID)
	}
	gitDir, common, top, ok := repocode.Dirs(o.Dir)
	if !ok || top == "" {
		return nil, fault.New(fault.Usage, "%s is in no work tree of git, and only one can be copied", o.Dir)
	}
	if err := idle(gitDir, top); err != nil {
		return nil, err
	}
	_, place, err := places(top, o.Place)
	if err != nil {
		return nil, err
	}
	if err := os.Mkdir(place, 0o700); err != nil {
		return nil, fmt.Errorf("copy of %s: %w", top, err)
	}
	c := &Copy{place: place, record: copyRecord{Version: 1, Top: top, GitDir: gitDir, Common: common, ID: o.ID, Dirty: o.WithDirty}}
	if err := c.fill(ctx, o.Environ); err != nil {
		os.RemoveAll(place)
		return nil, fault.New(fault.Of(err).Kind, "copy of %s: %w", top, err)
	}
	return c, nil
}

// idle refuses a repository in the middle of something.
func idle(gitDir, top string) error {
	for _, sign := range []struct{ file, what, how string }{
		{"rebase-merge", "a rebase", "git rebase --continue or --abort"},
		{"rebase-apply", "a rebase or git am", "git rebase --continue or --abort"},
		{"MERGE_HEAD", "a merge", "git merge --continue or --abort"},
		{"CHERRY_PICK_HEAD", "a cherry-pick", "git cherry-pick --continue or --abort"},
		{"REVERT_HEAD", "a revert", "git revert --continue or --abort"},
		{"BISECT_LOG", "a bisect", "git bisect reset"},
	} {
		if _, err := os.Lstat(filepath.Join(gitDir, sign.file)); err == nil {
			return fault.New(fault.Usage, "%s is under way in %s; end it first (%s)", sign.what, top, sign.how)
		}
	}
	return nil
}

// fill makes everything in the place, the record last.
func (c *Copy) fill(ctx context.Context, environ []string) error {
	own := filepath.Join(c.place, ownGitName)
	if err := os.MkdirAll(own, 0o700); err != nil {
		return err
	}
	if err := os.Mkdir(c.Tree(), 0o700); err != nil {
		return err
	}
	g, err := newGit(environ, c.record.Top, c.record.GitDir, c.record.Common)
	if err != nil {
		return err
	}
	defer g.close()
	if c.record.Base, err = g.head(ctx); err != nil {
		return err
	}
	if err := g.complete(ctx, c.record.Base); err != nil {
		return err
	}
	if err := c.files(ctx, g); err != nil {
		return err
	}
	if c.base, err = take(ctx, c.Tree(), filepath.Join(c.place, baseName), Options{}.withDefaults(), covered{}); err != nil {
		return err
	}
	if err := c.repository(ctx, g); err != nil {
		return err
	}
	if err := g.keep(ctx, c.Ref(), c.record.Base); err != nil {
		return err
	}
	text, err := json.Marshal(c.record)
	if err == nil {
		err = atomicfile.Write(filepath.Join(c.place, copyName), text, 0o600)
	}
	return err
}

// OpenCopy finds a copy that NewCopy has finished.
func OpenCopy(place string) (*Copy, error) {
	text, err := readRegular(filepath.Join(place, copyName), 64<<10)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(fault.NotFound, "there is no complete copy in %s", place)
	}
	c := &Copy{place: place}
	if err == nil {
		err = json.Unmarshal(text, &c.record)
	}
	if err == nil && (c.record.Version != 1 || !copyID().MatchString(c.record.ID) || !filepath.IsAbs(c.record.Top)) {
		err = errors.New("its record is not as it was written")
	}
	if err != nil {
		return nil, fmt.Errorf("copy in %s: %w", place, err)
	}
	c.base, err = Open(filepath.Join(place, baseName))
	return c, err
}

// Result keeps what the worker has made, in store, a directory that is made. Files that git ignores do not belong to it unless they belong to the base. Nothing of
// the worker may be alive.
func (c *Copy) Result(ctx context.Context, store string, environ []string) (*Snapshot, error) {
	_, store, err := places(c.Tree(), store)
	if err != nil {
		return nil, err
	}
	return take(ctx, c.Tree(), store, Options{}.withDefaults(), &landing{ignored: newIgnored(c.Tree(), environ), copy: c})
}

// landing is the coverage of a result.
type landing struct {
	*ignored
	copy *Copy
}

// enter asks once: repositories that the worker made inside are files like any other.
func (l *landing) enter(ctx context.Context, at string, _ bool) error {
	if at != "" {
		return nil
	}
	own := filepath.Join(l.copy.place, ownGitName)
	g, err := newGitWithIndex(l.environ, l.copy.Tree(), own, l.copy.record.Common, filepath.Join(own, "index"))
	if err != nil {
		return err
	}
	defer g.close()
	return l.list(ctx, g, "", ".")
}

func (l *landing) hole(p string, _ bool, _, _ int64) string {
	if ignored, _ := l.says(p, true); ignored && l.copy.base.list.find(p) == nil {
		return "git ignores it"
	}
	return ""
}
