package delegate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"

	"opencode-delegate/internal/atomicfile"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/opencode"
	"opencode-delegate/internal/plain"
	"opencode-delegate/internal/record"
	"opencode-delegate/internal/repocode"
	"opencode-delegate/internal/sandbox"
	"opencode-delegate/internal/tree"
	"opencode-delegate/internal/worktree"
)

const (
	// patchLimit bounds changes.patch, in bytes.
	patchLimit = 256 << 20
	// undoLimit bounds the contents that are kept before a run in place, in bytes. It is paid for by every such run; work in a larger
	// tree is better isolated.
	undoLimit = 2 << 30
)

// A place is where a try works, and what it began from.
type place struct {
	dir  string         // the worker's directory
	root string         // of the snapshots: the top of the copy, or dir
	home string         // directory of ours for what belongs to the place
	copy *worktree.Copy // nil: the caller's own tree

	base  *worktree.Snapshot    // nil: nothing is kept of what was there before
	deps  worktree.Dependencies // installed ones in the caller's own tree, before the work; nil: not looked at
	after *worktree.Snapshot    // the work as it would land; nil: not fixed yet

	earlier *worktree.Snapshot // work of an earlier job that is gone on with; nil: from the base
}

// The parts of a place that are ours.
const (
	afterName = "after"
	freshName = "after.new"
)

// settle makes the place of a try. In the caller's own tree nothing is done yet.
func (t *try) settle(ctx context.Context) (err error) {
	req, rec := t.run.plan.Request, t.run.job.Record
	if !req.Isolate {
		t.place = place{dir: req.Dir, root: req.Dir, home: rec.Path()}
		t.cage = t.run.plan.cage
		return nil
	}
	copies, err := rec.MakeDir(record.Copies)
	if err != nil {
		return fmt.Errorf("the copies of the repository: %w", err)
	}
	at := filepath.Join(copies, fmt.Sprint(t.n))
	var c *worktree.Copy
	var earlier *worktree.Snapshot
	if first := t.run.tries[0].place.copy; first != nil {
		c, err = first.Fresh(ctx, at)
	} else if req.Onward != "" {
		c, earlier, err = t.onward(ctx, at)
	} else {
		c, err = worktree.NewCopy(ctx, worktree.CopyOptions{
			Dir: req.Dir, Place: at, ID: t.run.job.ID, WithDirty: req.WithDirty, Environ: t.run.plan.host.Environ,
			Link: relativeTo(req.Dir, req.Link), Copy: relativeTo(req.Dir, req.Copy),
		})
	}
	if err != nil {
		return err
	}
	if n := c.Behind(); n > 0 {
		t.note("uncommitted changes of %d tracked file(s) are not in the copy; --with-dirty takes them along", n)
	}
	if inside := c.Inside(); len(inside) > 0 {
		t.note("a repository inside of this one is not in the copy: %s%s", plain.Line(inside[0], 120), andMore(len(inside)-1))
	}
	t.place = place{dir: c.Dir(req.Dir), root: c.Tree(), home: at, copy: c, base: c.Base(), earlier: earlier}
	t.res.Isolation = &Isolation{Path: c.Tree(), Branch: c.Branch(), Base: c.BaseCommit(), Ref: c.Ref()}
	if t.cage, err = t.run.plan.caged(t.place); err != nil || earlier == nil || req.Session == "" {
		return err
	}
	if err := opencode.MoveSession(ctx, t.cage.query, t.run.plan.binary, req.Session, t.place.dir); err != nil {
		t.place, t.res.Isolation = place{}, nil // which are gone again
		return errors.Join(err, c.Discard(context.WithoutCancel(ctx)))
	}
	return nil
}

// onward makes the copy in which the work of an earlier one goes on, and says what that has come to. Of a run that was killed nobody has fixed it yet.
func (t *try) onward(ctx context.Context, at string) (*worktree.Copy, *worktree.Snapshot, error) {
	from := t.run.plan.Request.Onward
	before, err := worktree.OpenCopy(from)
	if err != nil {
		return nil, nil, err
	}
	work, err := worktree.Open(filepath.Join(from, afterName))
	if err != nil && fault.Of(err).Kind == fault.NotFound {
		work, err = before.Result(ctx, filepath.Join(t.run.tmp, "earlier"), t.run.plan.host.Environ)
	}
	if err != nil {
		return nil, nil, err
	}
	c, err := before.Onward(ctx, t.run.job.ID, at)
	return c, work, err
}

// caged is the cage of a run in a copy: what belongs to the caller's repository stays closed, wherever it lies.
func (p *Plan) caged(at place) (cage, error) {
	req := p.Request
	req.Dir = at.dir
	c, err := newCage(req, p.host)
	if err != nil {
		return c, err
	}
	_, common, _, _ := repocode.Dirs(p.Request.Dir)
	c.own, c.keep = at.root, distinct(at.copy.Top(), common)
	return c, nil
}

// relativeTo are paths as seen from a directory.
func relativeTo(dir string, paths []string) []string {
	var list []string
	for _, p := range paths {
		if rel, err := filepath.Rel(dir, p); err == nil {
			p = rel
		}
		list = append(list, p)
	}
	return list
}

// remember keeps what the caller's own tree holds before a run that may write there.
// Where it cannot, the run cannot be undone; and with checks there is none, since they could not say of what they were.
func (t *try) remember(ctx context.Context) error {
	if t.place.copy != nil || !t.cage.profile.Writes() {
		return nil
	}
	// A first try in vain leaves none, and a record belongs to one run.
	s, err := worktree.Take(ctx, t.place.dir, t.run.job.Record.File(record.Undo), worktree.Options{Environ: t.run.plan.host.Environ, MaxBytes: undoLimit})
	if err != nil && len(t.run.checks.Verify) > 0 {
		return fault.New(fault.Usage, "the work could not be checked here: %w", err)
	}
	if err != nil {
		t.note("the run cannot be undone by oc-job undo: %v", err)
		return nil
	}
	t.place.base = s
	if len(t.run.checks.Verify) > 0 && !t.run.checks.TrustDeps {
		if t.place.deps, err = s.Dependencies(ctx); err != nil {
			t.note("changes of installed dependencies will not be seen: %v", err)
		}
	}
	holes, n := s.Left()
	kept := slices.DeleteFunc(holes, func(h worktree.Hole) bool { return path.Base(h.Path) == ".git" }) // its history is undone when asked
	if n -= len(holes) - len(kept); len(kept) > 0 {
		t.note("oc-job undo does not cover %s%s: %s", kept[0].Path, andMore(n-1), kept[0].Why)
	}
	return nil
}

func andMore(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}

// fix keeps the work as it would land. Nothing of the worker is alive. What a check writes later does not belong to it.
func (t *try) fix(ctx context.Context) error {
	if t.place.base == nil {
		return nil
	}
	p, environ := &t.place, t.run.plan.host.Environ
	p.after = nil // what an earlier round has left is not what a check of this one is about
	fresh, kept := filepath.Join(p.home, freshName), filepath.Join(p.home, afterName)
	if err := os.RemoveAll(fresh); err != nil {
		return err
	}
	var err error
	if p.copy != nil {
		_, err = p.copy.Result(ctx, fresh, environ)
	} else {
		var cage worktree.Cage
		var done func()
		if cage, done, err = t.gitCage(); err != nil {
			return fmt.Errorf("the work could not be kept: %w", err)
		}
		defer done()
		if err = p.base.End(ctx); err == nil {
			t.history(ctx, worktree.HistoryOptions{Environ: environ, Cage: cage})
			_, err = worktree.Take(ctx, p.dir, fresh, worktree.Options{Environ: environ, Since: p.base, Landing: true, Cage: cage})
		}
	}
	if err != nil {
		return fmt.Errorf("the work could not be kept: %w", err)
	}
	// One of a round before gives way; between the two steps the next reader finds the fresh one.
	if err := os.RemoveAll(kept); err != nil {
		return err
	}
	if err := os.Rename(fresh, kept); err != nil {
		return err
	}
	p.after, err = worktree.Open(kept)
	return err
}

// mayRevert reports whether the task is about the uncommitted changes of all these files.
func (t *try) mayRevert(paths []string) bool {
	may := t.run.plan.Request.MayRevert
	return len(paths) > 0 && len(paths) < worktree.PathsTold && !slices.ContainsFunc(paths, func(quoted string) bool {
		name, err := tree.Unquote(quoted)
		return err != nil || !slices.Contains(may, path.Join(t.below(t.place.root), name))
	})
}

// narrow leaves of the changes in a copy those that land: what git ignores there, build products for instance, is nobody's work.
func (t *try) narrow(ctx context.Context) {
	p, changes := t.place, &t.res.Changes
	if p.copy == nil || p.after == nil || !changes.Known {
		return
	}
	from := p.base
	if p.earlier != nil && !t.run.plan.Request.Resumes {
		from = p.earlier
	}
	t.idle = len(worktree.Changed(from, p.after)) == 0
	lands := map[string]bool{}
	for _, path := range worktree.Changed(p.base, p.after) {
		lands[path] = true
	}
	files, left, first := []tree.Change{}, []tree.Change{}, ""
	for i, c := range t.fromTop() {
		if lands[c.Path] || lands[c.From] {
			files = append(files, changes.Files[i])
		} else {
			left, first = append(left, changes.Files[i]), cmp.Or(first, c.Path)
		}
	}
	if len(left) == 0 {
		return
	}
	// Of what is held and has not changed for us, such as the mode of a directory, a patch has nothing to say.
	t.note("%s stay(s) in the copy: %s", name(left), cmp.Or(p.after.Why(first), "a patch cannot hold it"))
	changes.Files, changes.Insertions, changes.Deletions = files, nil, nil
	if added, removed, err := worktree.Lines(ctx, p.base, p.after, patchLimit); err == nil {
		changes.Insertions, changes.Deletions = &added, &removed
	}
}

// gitCage is closed around a git that reads what a worker may have written; nil without the sandbox. done removes the room that it has.
func (t *try) gitCage() (wrap worktree.Cage, done func(), err error) {
	if t.res.Sandbox != sandboxOn {
		return nil, func() {}, nil
	}
	room, err := os.MkdirTemp(t.run.tmp, "git-*")
	if err != nil {
		return nil, nil, err
	}
	done = func() { os.RemoveAll(room) }
	host := t.cage.host
	policy, err := sandbox.Room(room, host.Home, host.StateRoot, host.Environ)
	if err != nil {
		done()
		return nil, nil, err
	}
	return func(argv []string) ([]string, []string, error) { return policy.Command(host.Own(), argv) }, done, nil
}

// history looks at what the worker did to the history of the caller's repository. Commits are its work; what takes something away that was
// there is a violation, and can be undone. What it has told already is not told again.
func (t *try) history(ctx context.Context, git worktree.HistoryOptions) {
	found, err := t.place.base.History(ctx, git)
	if err != nil {
		t.note("what became of the repository's history is not known: %v", err)
		return
	}
	var list []Violation
	broken := false
	for _, r := range found {
		broken = broken || r.Kind == worktree.Broken
		v := Violation{What: r.What}
		switch {
		case !r.Kind.Violation() && !slices.Contains(t.res.Notes, r.What):
			t.note("%s", r.What)
		case r.Kind == worktree.Discarded && t.mayRevert(r.Paths):
			t.note("%s, as its task allows", r.What)
		case r.Kind.Violation() && !slices.Contains(t.res.Violations, v):
			list = append(list, v)
		}
	}
	if len(list) > 0 {
		t.violation("the worker took away what was there", list...)
		if broken {
			t.res.Hints = append(t.res.Hints, "oc-job undo "+t.res.ID+" gives the files back; the repository itself is in no snapshot")
		} else {
			t.res.Hints = append(t.res.Hints, "oc-job undo "+t.res.ID+" --history gives it back")
		}
	}
}

// writePatch writes the difference for whoever wants to read or apply it. What cannot be written is noted: the snapshots hold it too.
func (t *try) writePatch(ctx context.Context) {
	if t.place.base == nil || t.place.after == nil {
		return
	}
	f, err := atomicfile.Create(t.run.job.Record.File(record.Patch), 0o600)
	if err == nil {
		if err = worktree.Patch(ctx, t.place.base, t.place.after, f, patchLimit); err != nil {
			f.Abort()
		} else {
			err = f.Commit()
		}
	}
	if err != nil {
		t.note("%s could not be written: %v", record.Patch, fault.Of(err).Reason)
	}
}
