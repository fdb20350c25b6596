package worktree

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"opencode-delegate/internal/atomicfile"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/lazyregexp"
	"opencode-delegate/internal/repocode"
	"opencode-delegate/internal/tree"
)

// CopyOptions say what is copied.
type CopyOptions struct {
	Dir       string // in the work tree
	Place     string // a directory outside of it, which is made and must not exist
	ID        string // names the branch in the copy and the ref that keeps the base alive in the repository
	WithDirty bool   // uncommitted and untracked files come along and belong to the base

	// Link and Copy name files and directories, relative to Dir, that git does not track: dependencies, as a rule. Neither ever lands, whatever becomes of them.
	// What is linked is a symbolic link to the user's own. It is read-only in as far as the sandbox of the run is: its target lies outside of what the
	// worker and the checks may write to, and the kernel looks at the target. Whoever runs a worker without a sandbox must copy.
	// A path that is tracked, missing, a link, or that lies outside of the tree is a USAGE fault.
	Link, Copy []string

	Environ []string // the caller's
}

// A Copy is a work tree of its own outside the repository, with a git directory of its own that borrows the objects of the user's. The worker may do in
// [Copy.Tree] what it likes. Beside it, out of its reach, lie the state at the start and whatever else is ours: no git of ours reads the git directory
// of the copy.
//
// Files are those of the user's checkout, byte by byte; one that was changed there is as git would check it out, without
// filters of its own. What a sparse checkout leaves out is left out. Submodules that are checked out come along, each with a git directory of
// its own; what the worker does to their files is part of the result like everything else, also where the worker commits it in the submodule.
//
// Several copies of one base share its ref: [Copy.Fresh] and [Copy.With] make them.
type Copy struct {
	place  string
	record copyRecord
	base   *Snapshot
	made   []part // refs that go again when the copy fails
	behind int
	inside []string
}

// Paths in a record are as tree.Quote gives them.
type copyRecord struct {
	Version int      `json:"version"`
	Top     string   `json:"top"`
	GitDir  string   `json:"git_dir"`
	Common  string   `json:"common_dir"`
	ID      string   `json:"id"`
	Base    string   `json:"base"` // the commit
	Dirty   bool     `json:"with_dirty"`
	Dirt    bool     `json:"dirt,omitempty"` // the base is not the commit
	Link    []string `json:"link,omitempty"` // relative to top, with slashes
	Copied  []string `json:"copied,omitempty"`

	Modules []moduleRecord `json:"modules,omitempty"`
}

// A moduleRecord is a submodule that is in the copy.
type moduleRecord struct {
	Path   string `json:"path"` // relative to top, with slashes
	GitDir string `json:"git_dir"`
	Common string `json:"common_dir"`
	Commit string `json:"commit"`
}

// The parts of a place.
const (
	copyName   = "copy.json" // written last: without it there is no copy
	treeName   = "tree"
	baseName   = "base"
	ownGitName = "git" // the git directory as the copy gets it; it stays as it is
)

// copyID is what can be part of a ref and of a file name.
var copyID = lazyregexp.New(`^[0-9A-Za-z][0-9A-Za-z_-]{0,63}$`)

// Tree is the worker's directory.
func (c *Copy) Tree() string { return filepath.Join(c.place, treeName) }

// Top is the user's work tree.
func (c *Copy) Top() string { return c.record.Top }

// BaseCommit is the commit that HEAD was at.
func (c *Copy) BaseCommit() string { return c.record.Base }

// Behind is how many tracked files the user had changed and this copy, which NewCopy has made just now, does not have so: WithDirty takes them along.
func (c *Copy) Behind() int { return c.behind }

// Inside are the repositories that the user has below the tree and that are no submodules of it: NewCopy with WithDirty, just now, has left them out.
func (c *Copy) Inside() []string { return c.inside }

// Base is the state at the start.
func (c *Copy) Base() *Snapshot { return c.base }

// Ref is what keeps the borrowed objects alive in the user's repository.
func (c *Copy) Ref() string { return copyRef(c.record.ID) }

func copyRef(id string) string { return "refs/opencode-delegate/" + id }

// Branch is the one that is checked out in the copy.
func (c *Copy) Branch() string { return "opencode-delegate/" + c.record.ID }

// Dir is where a directory of the user's work tree lies in the copy. The top stands for one that lies elsewhere.
func (c *Copy) Dir(userDir string) string {
	if at, ok := below(c.record.Top, userDir); ok {
		return filepath.Join(c.Tree(), at)
	}
	return c.Tree()
}

// below is the path of a directory relative to top.
func below(top, dir string) (string, bool) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", false
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	rel, err := filepath.Rel(top, dir)
	return rel, err == nil && filepath.IsLocal(rel)
}

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
	c := &Copy{record: copyRecord{Version: 1, Top: top, GitDir: gitDir, Common: common, ID: o.ID, Dirty: o.WithDirty}}
	return c.in(ctx, o.Place, func() error { return c.fill(ctx, o) })
}

// in makes the place of a copy and has it filled, or leaves none.
func (c *Copy) in(ctx context.Context, place string, fill func() error) (*Copy, error) {
	_, place, err := places(c.record.Top, place)
	if err != nil {
		return nil, err
	}
	if err := os.Mkdir(place, 0o700); err != nil {
		return nil, fmt.Errorf("copy of %s: %w", c.record.Top, err)
	}
	c.place = place
	err = os.Mkdir(c.Tree(), 0o700)
	if err == nil {
		err = fill()
	}
	if err == nil {
		err = c.write()
	}
	if err != nil {
		return nil, fault.New(fault.Of(err).Kind, "copy of %s: %w", c.record.Top, errors.Join(err, RemovePlace(place)))
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

// fill makes everything in the place but the record.
func (c *Copy) fill(ctx context.Context, o CopyOptions) (err error) {
	g, err := newGit(o.Environ, c.record.Top, c.record.GitDir, c.record.Common)
	if err != nil {
		return err
	}
	defer g.close()
	if c.record.Base, err = g.head(ctx); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.forget(ctx))
		}
	}()
	if err := c.keep(ctx, g, c.record.Base); err != nil {
		return err
	}
	if err := g.complete(ctx, c.record.Base); err != nil {
		return err
	}
	if err := c.depend(ctx, g, o); err != nil {
		return err
	}
	if err := c.plant(ctx, g, c.top()); err != nil {
		return err
	}
	if err := c.start(ctx, o.Dir); err != nil {
		return err
	}
	if c.base, err = take(ctx, c.Tree(), filepath.Join(c.place, baseName), Options{}.withDefaults(), covered{}); err != nil {
		return err
	}
	if err := c.repositories(ctx, true); err != nil {
		return err
	}
	return c.dependencies(ctx, true)
}

func (c *Copy) write() error {
	r := c.record
	r.Top, r.GitDir, r.Common = tree.Quote(r.Top), tree.Quote(r.GitDir), tree.Quote(r.Common)
	r.Link, r.Copied = mapped(r.Link, tree.Quote), mapped(r.Copied, tree.Quote)
	r.Modules = slices.Clone(r.Modules)
	for i, m := range r.Modules {
		r.Modules[i] = moduleRecord{tree.Quote(m.Path), tree.Quote(m.GitDir), tree.Quote(m.Common), m.Commit}
	}
	text, err := json.Marshal(r)
	if err == nil {
		err = atomicfile.Write(filepath.Join(c.place, copyName), text, 0o600)
	}
	return err
}

func mapped(in []string, f func(string) string) []string {
	var out []string
	for _, s := range in {
		out = append(out, f(s))
	}
	return out
}

// OpenCopy finds a copy that NewCopy, Fresh or With has finished.
func OpenCopy(place string) (*Copy, error) {
	text, err := readRegular(filepath.Join(place, copyName), 1<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(fault.NotFound, "there is no complete copy in %s", place)
	}
	c := &Copy{place: place}
	if err == nil {
		err = json.Unmarshal(text, &c.record)
	}
	if err == nil {
		err = c.record.unquote()
	}
	if err != nil {
		return nil, fmt.Errorf("copy in %s: %w", place, err)
	}
	c.base, err = Open(filepath.Join(place, baseName))
	return c, err
}

// unquote gives paths their form back and checks a record.
func (r *copyRecord) unquote() (err error) {
	unquoted := func(s string) string {
		name, uerr := tree.Unquote(s)
		err = errors.Join(err, uerr)
		return name
	}
	r.Top, r.GitDir, r.Common = unquoted(r.Top), unquoted(r.GitDir), unquoted(r.Common)
	r.Link, r.Copied = mapped(r.Link, unquoted), mapped(r.Copied, unquoted)
	dirs, names := []string{r.Top, r.GitDir, r.Common}, slices.Concat(r.Link, r.Copied)
	commits := []string{r.Base}
	for i, m := range r.Modules {
		m.Path, m.GitDir, m.Common = unquoted(m.Path), unquoted(m.GitDir), unquoted(m.Common)
		dirs, names, commits = append(dirs, m.GitDir, m.Common), append(names, m.Path), append(commits, m.Commit)
		r.Modules[i] = m
	}
	ok := r.Version == 1 && copyID().MatchString(r.ID)
	for _, commit := range commits {
		ok = ok && commitID().MatchString(commit)
	}
	for _, dir := range dirs {
		ok = ok && filepath.IsAbs(dir)
	}
	for _, p := range names {
		ok = ok && p != "." && filepath.IsLocal(filepath.FromSlash(p))
	}
	if err == nil && !ok {
		err = errors.New("its record is not as it was written")
	}
	return err
}
