package worktree

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/repocode"
)

// patient lets git itself wait for the lock of a ref that another git holds: ten copies may be made at once. The times are in milliseconds.
var patient = []string{"-c", "core.filesRefLockTimeout=10000", "-c", "core.packedRefsTimeout=10000", "-c", "core.logAllRefUpdates=false"}

// keep makes the ref that keeps a commit alive, and reports whether it was not there. A git that is killed would leave its lock in the user's repository, so
// this one is awaited.
func (g *git) keep(ctx context.Context, ref, commit string) (made bool, err error) {
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	ctx = context.WithoutCancel(ctx)
	err = runGit(ctx, g.top, g.theirs(), nil, nil, append(patient[:len(patient):len(patient)], "update-ref", "--no-deref", ref, commit, strings.Repeat("0", len(commit)))...)
	if err == nil {
		return true, nil
	}
	if is, rerr := g.refIs(ctx, ref); rerr == nil && is == commit {
		return false, nil
	}
	return false, err
}

// refIs is the commit of a ref, empty when there is none.
func (g *git) refIs(ctx context.Context, ref string) (string, error) {
	var text []byte
	err := runGit(ctx, g.scratch, g.theirs(), nil, func(out io.Reader) (err error) {
		text, err = io.ReadAll(io.LimitReader(out, 4<<10))
		return err
	}, "for-each-ref", "--format=%(objectname)", ref)
	return strings.TrimSpace(string(text)), err
}

// Release removes the ref of the base, and those in submodules, and reports whether any was there. From then on a collection in the user's repository may take the base away, and with it
// what the copies need to show a difference or to commit; their files, the patch and what Merge brought are safe. One of another
// commit is not ours and stays: an error says so. A repository that is gone has none.
func (c *Copy) Release(ctx context.Context) (bool, error) {
	was := false
	for _, p := range c.parts() {
		one, err := release(ctx, p.gitDir, c.Ref(), p.commit)
		if err != nil {
			return was, err
		}
		was = was || one
	}
	return was, nil
}

// ReleaseID is Release where no copy was completed: dir lies in the user's work tree.
func ReleaseID(ctx context.Context, dir, id string) (bool, error) {
	if !copyID().MatchString(id) {
		return false, fault.New(fault.Usage, "%.80q cannot be part of the name of a ref", id)
	}
	gitDir, _, _, ok := repocode.Dirs(dir)
	if !ok {
		return false, nil
	}
	return release(ctx, gitDir, copyRef(id), "")
}

// release removes a ref; commit is what it has to be, empty for whatever it is.
func release(ctx context.Context, gitDir, ref, commit string) (bool, error) {
	ctx = context.WithoutCancel(ctx) // as in keep
	gitDir, common, _, ok := repocode.Dirs(gitDir)
	if !ok {
		return false, nil
	}
	g, err := newGit(nil, gitDir, gitDir, common)
	if err != nil {
		return false, err
	}
	defer g.close()
	is, err := g.refIs(ctx, ref)
	if err != nil || is == "" {
		return false, err
	}
	args := append(patient[:len(patient):len(patient)], "update-ref", "--no-deref", "-d", ref)
	if commit != "" {
		args = append(args, commit)
	}
	if err := runGit(ctx, g.scratch, g.theirs(), nil, nil, args...); err != nil {
		return false, err
	}
	// git leaves the directory behind. Where it is not empty this fails, and a git that makes a ref in it meanwhile makes it again.
	if refs := filepath.Join(common, "refs", "opencode-delegate"); isDirectory(refs) {
		os.Remove(refs)
	}
	return true, nil
}

func isDirectory(name string) bool {
	fi, err := os.Lstat(name)
	return err == nil && fi.IsDir()
}

// Discard removes the ref and the place, with all work in it. Where other copies of the same base are to live, [RemovePlace] alone is right.
func (c *Copy) Discard(ctx context.Context) error {
	if _, err := c.Release(ctx); err != nil {
		return err
	}
	return RemovePlace(c.place)
}

// RemovePlace removes the place of a copy, complete or not, but not the ref: no link is followed, and directories that their owner may not write to go as well. What is
// not there is no error.
func RemovePlace(place string) error {
	// The record goes first: what is left after a crash is no copy.
	if err := os.Remove(filepath.Join(place, copyName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if os.RemoveAll(place) == nil {
		return nil
	}
	root, err := os.OpenRoot(place)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	if err := openUp(root); err != nil {
		return err
	}
	return os.RemoveAll(place)
}

// openUp makes every directory one that its owner may change.
func openUp(root *os.Root) error {
	dir, err := root.Open(".")
	if err != nil {
		return err
	}
	defer dir.Close()
	for {
		some, err := dir.Readdirnames(1024)
		for _, name := range some {
			fi, err := root.Lstat(name)
			if err != nil || !fi.IsDir() {
				continue
			}
			if fi.Mode().Perm()&0o700 != 0o700 {
				if err := root.Chmod(name, 0o700); err != nil {
					return err
				}
			}
			sub, err := root.OpenRoot(name)
			if err != nil {
				return err
			}
			err = openUp(sub)
			sub.Close()
			if err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
