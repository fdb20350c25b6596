package worktree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"opencode-delegate/internal/fault"
)

// MergeOptions say how Merge merges.
type MergeOptions struct {
	Message string   // of the commit that holds what the worker did not commit
	Environ []string // the caller's, which the user's git gets
}

// Merged says what Merge did.
type Merged struct {
	Commit      string // where HEAD is now
	Already     bool   // there was nothing to bring, or it was there: nothing was done
	FastForward bool
	Commits     int    // how many of the worker's came
	Rest        bool   // one of ours holds what was not committed
	Squashed    string // one sentence that says why the worker's commits came as one of ours; empty when they did not
}

// Unmerged is the error that names the paths which both sides have changed.
type Unmerged struct {
	Paths []string // sorted, not empty
}

func (u *Unmerged) Error() string { return "both sides changed " + named(u.Paths) }

// Merge brings the branch of a copy into the user's work tree: the worker's commits, and on top of them one with what else makes the tree to that of after. The end of it is
// exactly after, but for what the user's filters make of a content. Commits that do not descend from the base, or that git does not take, come as
// one, and Merged says why. Objects come in a pack that git index-pack --strict has checked. The merge itself is the user's own git with the hooks and the
// configuration of the user, and goes forward without a commit where it can.
//
// A work tree in which something is changed or staged is a USAGE fault that names it. A merge that fails is taken back; the CONFLICT fault wraps an
// *[Unmerged] or git's own words, and the tree is as before. A copy that began with uncommitted work cannot be merged, because that work would come
// along: a USAGE fault says so.
func Merge(ctx context.Context, c *Copy, after *Snapshot, o MergeOptions) (Merged, error) {
	done, err := c.merge(ctx, after, o)
	if err != nil {
		return done, fault.New(fault.Of(err).Kind, "merge into %s: %w", c.record.Top, err)
	}
	return done, nil
}

func (c *Copy) merge(ctx context.Context, after *Snapshot, o MergeOptions) (Merged, error) {
	if c.record.Dirt {
		return Merged{}, fault.New(fault.Usage, "the copy began with uncommitted work, which would come along").With("apply brings what the worker did and nothing else; --commit makes a commit of it")
	}
	u, err := userGitOf(c.record.Top, o.Environ)
	if err != nil {
		return Merged{}, err
	}
	if u.gitDir != c.record.GitDir {
		return Merged{}, fault.New(fault.Usage, "the work tree belongs to another repository than the copy")
	}
	changed, err := u.dirty(ctx, "no")
	if err != nil {
		return Merged{}, err
	}
	if len(changed) > 0 {
		return Merged{}, fault.New(fault.Usage, "a merge needs a clean work tree, and here is uncommitted work: %s", named(changed)).With("commit or stash it, or use apply")
	}
	p, err := c.past(ctx)
	if err != nil {
		return Merged{}, err
	}
	defer p.close()
	tip, done, err := c.bring(ctx, u, p, after, o.Message)
	if err != nil {
		return Merged{}, err
	}
	return done, u.merge(ctx, tip, "Merge branch '"+c.Branch()+"'", &done)
}

// bring puts the commits into the user's repository, where no ref leads to them yet.
func (c *Copy) bring(ctx context.Context, u *userGit, p *past, after *Snapshot, message string) (tip string, done Merged, err error) {
	tip = c.record.Base
	switch {
	case p.Lost != "":
		done.Squashed = p.Lost
	case p.Rewritten:
		done.Squashed = "the commits in the copy do not descend from the base"
	default:
		tip = p.Head
	}
	paths, err := c.differing(ctx, p, tip, after)
	if err != nil {
		return "", done, err
	}
	if tip != c.record.Base {
		g, err := newGit(nil, u.top, u.gitDir, c.record.Common)
		if err != nil {
			return "", done, err
		}
		defer g.close()
		if err := carry(ctx, p.env, tip+"\n^"+p.base+"\n", g.scratch, g.env); err != nil {
			return "", done, err
		}
		done.Commits = p.All
	}
	rest, err := c.rest(ctx, u, tip, paths, after, message)
	if err != nil {
		return "", done, err
	}
	if rest != "" {
		tip, done.Rest = rest, true
	} else if done.Commits == 0 {
		done.Squashed = "" // there is nothing
	}
	return tip, done, nil
}

// rest makes a commit on top of parent whose files are those of after, or none when parent has them. paths are all that may differ.
func (c *Copy) rest(ctx context.Context, u *userGit, parent string, paths []string, after *Snapshot, message string) (string, error) {
	if len(paths) == 0 {
		return "", nil
	}
	scratch, err := os.MkdirTemp("", "oc-delegate-git-*")
	if err != nil {
		return "", fault.New(fault.Usage, "no temporary directory: %w", err).With("set TMPDIR to a directory that you can write")
	}
	defer os.RemoveAll(scratch)
	files := filepath.Join(scratch, "files")
	if err := os.Mkdir(files, 0o700); err != nil {
		return "", err
	}
	g, quiet := u.aside(files, filepath.Join(scratch, "index"))
	plumb := func(in io.Reader, args ...string) (string, error) {
		out, err := g.run(ctx, in, append(quiet[:len(quiet):len(quiet)], args...)...)
		return strings.TrimSpace(out), err
	}
	// What attributes say of a file counts when git takes it.
	put := slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return after.list.leaf(p) == nil })
	for i := range after.list.entries {
		if e := &after.list.entries[i]; path.Base(e.path) == ".gitattributes" && !e.mode.IsDir() {
			put = append(put, e.path)
		}
	}
	if err := after.Put(ctx, files, put); err != nil {
		return "", err
	}
	if _, err := plumb(nil, "read-tree", parent); err != nil {
		return "", err
	}
	if err := g.stage(ctx, paths, quiet...); err != nil {
		return "", err
	}
	files, err = plumb(nil, "write-tree")
	if err != nil {
		return "", err
	}
	if was, err := plumb(nil, "rev-parse", "--verify", parent+"^{tree}"); err != nil || was == files {
		return "", err
	}
	// Who merges a second time gets the same commit.
	made, err := u.one(ctx, "log", "--format=%T %P %H", "--max-count=10000", parent+"..HEAD")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(made) {
		if commit, ok := strings.CutPrefix(strings.TrimSpace(line), files+" "+parent+" "); ok {
			return commit, nil
		}
	}
	return plumb(strings.NewReader(cmp.Or(message, "what was not committed in "+c.Branch())), "commit-tree", files, "-p", parent, "-F", "-")
}

// differing are the paths in which after may be another than the files of a commit: what the worker changed, and what the commit changed. None may lie in a submodule.
func (c *Copy) differing(ctx context.Context, p *past, commit string, after *Snapshot) ([]string, error) {
	var all []string
	for _, ch := range changes(c.base, after) {
		all = append(all, ch.path)
	}
	info := ""
	err := runGit(ctx, p.dir, p.env, nil, func(out io.Reader) error {
		return each(out, 0, func(part string) error {
			switch {
			case info == "":
				info = part
			case strings.Contains(info, "160000"):
				return inModule(part, "merge")
			default:
				all, info = append(all, part), ""
			}
			return nil
		})
	}, "diff-tree", "-r", "-z", "--no-renames", "--raw", c.record.Base, commit)
	var links []string
	if err == nil {
		err = runGit(ctx, p.dir, p.env, nil, func(out io.Reader) (err error) { links, err = gitlinks(out); return err },
			"ls-tree", "-r", "-z", "--full-tree", c.record.Base)
	}
	if err == nil {
		err = outside(all, links, "merge")
	}
	slices.Sort(all)
	return slices.Compact(all), err
}

// merge merges a commit, or leaves everything as it was.
func (u *userGit) merge(ctx context.Context, tip, message string, done *Merged) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	ctx = context.WithoutCancel(ctx) // a merge that is cut off leaves half of it
	var err error
	if done.Already, err = u.yes(ctx, "merge-base", "--is-ancestor", tip, "HEAD"); err == nil && !done.Already {
		done.FastForward, err = u.yes(ctx, "merge-base", "--is-ancestor", "HEAD", tip)
	}
	if err == nil && !done.Already {
		_, err = u.run(ctx, nil, "merge", "-q", "--ff", "--commit", "--no-squash", "--no-autostash", "--no-edit", "-m", message, tip)
		if err != nil {
			err = u.takeBack(ctx, err)
		}
	}
	if err != nil {
		*done = Merged{}
		return err
	}
	done.Commit, err = u.one(ctx, "rev-parse", "--verify", "HEAD^{commit}")
	return err
}

// takeBack ends a merge that failed and says why it did.
func (u *userGit) takeBack(ctx context.Context, failed error) error {
	unmerged, err := u.paths(ctx, "diff", "--name-only", "-z", "--diff-filter=U", "--no-ext-diff")
	if err != nil {
		return errors.Join(failed, err)
	}
	if _, serr := os.Lstat(filepath.Join(u.gitDir, "MERGE_HEAD")); serr == nil {
		if _, err := u.run(ctx, nil, "merge", "--abort"); err != nil {
			return fmt.Errorf("%w; and git merge --abort failed: %w", failed, err)
		}
	} else if !errors.Is(serr, fs.ErrNotExist) {
		return errors.Join(failed, serr)
	}
	if len(unmerged) > 0 {
		slices.Sort(unmerged)
		return fault.New(fault.Conflict, "%w; nothing was changed", &Unmerged{slices.Compact(unmerged)}).With("apply brings what does not conflict and leaves markers where it does")
	}
	if strings.Contains(failed.Error(), "would be overwritten by merge") {
		return fault.New(fault.Conflict, "%w; nothing was changed", failed)
	}
	return failed
}
