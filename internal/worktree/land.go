package worktree

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"opencode-delegate/internal/fault"
)

// LandOptions say how Land lands.
type LandOptions struct {
	Options
	Index bool // what landed is staged, too
	// Message makes a commit of exactly what was brought; what the user has changed or staged elsewhere is not in it.
	Message string
}

// Landed says what Land did.
type Landed struct {
	Landing
	Commit string // the one that was made; empty when none was
}

// Land is [Apply] with what comes after it in the index and in history. dir is the top of a work tree. Entries of the index for other paths stay as they are. With a Message, a path
// that is to be brought and that is not as in HEAD here is a USAGE fault before anything is changed: the commit would hold more than what was brought; with Index alone so is one of which something is staged that stands nowhere else. Where there are conflicts
// no commit is made, nothing is staged for one, and with Index those paths are not staged. The commit is made by the user's own git, with the user's hooks; when it fails
// the files are there, and the error says so.
func Land(ctx context.Context, base, after *Snapshot, dir, save string, o LandOptions) (Landed, error) {
	if !o.Index && o.Message == "" {
		done, err := Apply(ctx, base, after, dir, save, o.Options)
		return Landed{Landing: done}, err
	}
	u, err := userGitOf(dir, o.Environ)
	if err != nil {
		return Landed{}, err
	}
	var paths []string
	for _, c := range changes(base, after) {
		paths = append(paths, c.path)
	}
	index, err := u.run(ctx, nil, "ls-files", "-s", "-z")
	var links []string
	if err == nil {
		links, err = gitlinks(strings.NewReader(index))
	}
	if err == nil {
		err = outside(paths, links, "commit")
	}
	if err != nil {
		return Landed{}, err
	}
	if _, err := Open(save); err != nil { // what is there after a landing that was cut off is its own
		alone := u.stagedApart
		if o.Message != "" {
			alone = u.asInHead
		}
		if err := alone(ctx, paths); err != nil {
			return Landed{}, err
		}
	}
	applied, err := Apply(ctx, base, after, dir, save, o.Options)
	done := Landed{Landing: applied}
	if err != nil {
		return done, err
	}
	paths = slices.DeleteFunc(paths, func(p string) bool {
		return slices.ContainsFunc(done.Conflicts, func(c Clash) bool { return c.Path == p })
	})
	if len(paths) == 0 {
		return done, nil
	}
	if o.Message != "" && len(done.Conflicts) == 0 {
		if done.Commit, err = u.commit(ctx, paths, o.Message); err != nil {
			return done, fmt.Errorf("the files are in %s, but they could not be committed: %w", dir, err)
		}
	}
	if !o.Index && len(done.Conflicts) > 0 { // there is no commit for the index to keep step with
		return done, nil
	}
	if err := u.stage(ctx, paths); err != nil {
		return done, fmt.Errorf("the files are in %s, but they could not be staged: %w", dir, err)
	}
	return done, nil
}

// stage makes the index hold paths as they are in the work tree. Those that are not there are taken out by name: git would look behind a link for them.
func (u *userGit) stage(ctx context.Context, paths []string, options ...string) error {
	root, err := os.OpenRoot(u.top)
	if err != nil {
		return err
	}
	defer root.Close()
	var there, gone []string
	for _, p := range paths {
		if isLeaf(root, p) {
			there = append(there, p)
		} else {
			gone = append(gone, p)
		}
	}
	for _, half := range []struct {
		paths []string
		how   string
	}{{gone, "--force-remove"}, {there, "--add"}} {
		if len(half.paths) == 0 {
			continue
		}
		in := strings.NewReader(strings.Join(half.paths, "\x00") + "\x00")
		if _, err := u.run(ctx, in, append(options[:len(options):len(options)], "update-index", half.how, "--replace", "-z", "--stdin")...); err != nil {
			return err
		}
	}
	return nil
}

// isLeaf reports whether a path is a file or a link below directories that are no links.
func isLeaf(root *os.Root, p string) bool {
	at := ""
	for part := range strings.SplitSeq(p, "/") {
		at = path.Join(at, part)
		fi, err := root.Lstat(at)
		if err != nil || fi.IsDir() == (at == p) {
			return false
		}
	}
	return true
}

// asInHead refuses paths that the user has changed.
func (u *userGit) asInHead(ctx context.Context, paths []string) error {
	changed, err := u.dirty(ctx, "all")
	if err != nil {
		return err
	}
	own := slices.DeleteFunc(changed, func(p string) bool { _, in := slices.BinarySearch(paths, p); return !in })
	if len(own) > 0 {
		return fault.New(fault.Usage, "uncommitted work in %s would be part of the commit", named(own)).With("commit or stash it first, or apply without a commit")
	}
	return nil
}

// stagedApart refuses paths of which something is staged that is neither in HEAD nor in the work tree: nothing else has it, and staging would replace it.
func (u *userGit) stagedApart(ctx context.Context, paths []string) error {
	staged, err := u.paths(ctx, "diff-index", "--cached", "--name-only", "-z", "--no-renames", "--ignore-submodules", "HEAD", "--")
	if err != nil {
		return err
	}
	changed, err := u.paths(ctx, "-c", "diff.autoRefreshIndex=true", "diff", "--name-only", "-z", "--no-ext-diff", "--no-renames", "--ignore-submodules")
	if err != nil {
		return err
	}
	apart := slices.DeleteFunc(staged, func(p string) bool {
		_, in := slices.BinarySearch(paths, p)
		return !in || !slices.Contains(changed, p)
	})
	if len(apart) > 0 {
		return fault.New(fault.Usage, "what is staged of %s is neither in HEAD nor in the file, and would be lost", named(apart)).With("commit it first, or apply without the index")
	}
	return nil
}

// commit makes a commit of HEAD with some paths as they are in the work tree, and leaves the user's index alone. It is empty when HEAD has them.
func (u *userGit) commit(ctx context.Context, paths []string, message string) (string, error) {
	scratch, err := os.MkdirTemp("", "oc-delegate-git-*")
	if err != nil {
		return "", fault.New(fault.Usage, "no temporary directory: %w", err).With("set TMPDIR to a directory that you can write")
	}
	defer os.RemoveAll(scratch)
	g, quiet := u.aside(u.top, filepath.Join(scratch, "index"))
	if _, err := g.run(ctx, nil, append(quiet[:len(quiet):len(quiet)], "read-tree", "HEAD")...); err != nil {
		return "", err
	}
	if err := g.stage(ctx, paths, quiet...); err != nil {
		return "", err
	}
	same, err := g.yes(ctx, append(quiet[:len(quiet):len(quiet)], "diff-index", "--cached", "--quiet", "HEAD", "--")...)
	if err != nil || same {
		return "", err
	}
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	ctx = context.WithoutCancel(ctx)
	if _, err := g.run(ctx, strings.NewReader(message), "commit", "-q", "--no-edit", "-F", "-"); err != nil {
		return "", err
	}
	return u.one(ctx, "rev-parse", "--verify", "HEAD^{commit}")
}
