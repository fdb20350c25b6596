package delegate

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"opencode-delegate/internal/plain"
	"opencode-delegate/internal/record"
	"opencode-delegate/internal/tree"
	"opencode-delegate/internal/verify"
	"opencode-delegate/internal/worktree"
)

// A sentry knows what the checks of a try are made of. The guard names files from the top of the repository, the snapshots from their own.
type sentry struct {
	*verify.Guard
	root string // where the snapshots begin
}

// inside is a name as the snapshots have it.
func (s sentry) inside(name string) string { return strings.TrimPrefix(name, s.root+"/") }

func (t *try) sentry() (sentry, error) {
	base, s := t.place.base, sentry{root: t.below(t.place.root)}
	files := base.Files()
	for i := range files {
		files[i] = path.Join(s.root, files[i])
	}
	var err error
	s.Guard, err = verify.NewGuard(t.run.checks.Protect, verify.Base{Paths: files, Read: func(path string) ([]byte, error) { return base.Read(s.inside(path), verify.ReadLimit) }},
		cmp.Or(t.below(t.place.dir), "."), t.run.checks.Verify)
	return s, err
}

// bent takes their verdict from checks that have changed what they are made of while they ran, as the snapshot has it: they run the worker's code, and a step that
// rewrites the tests of the next one proves nothing.
func (s sentry) bent(ctx context.Context, list []Check, at site, as *worktree.Snapshot, began time.Time) error {
	var tests []string
	for _, name := range s.Tests() {
		tests = append(tests, s.inside(name))
	}
	altered, err := as.Altered(ctx, at.root, tests, began)
	if err != nil || len(altered) == 0 {
		return err
	}
	for i := range list {
		if list[i].Verdict == string(verify.Pass) {
			list[i].Verdict = string(verify.CouldNotRun)
			list[i].Reason = fmt.Sprintf("%s%s was changed while it ran, so that it has not passed what would land; --allow-test-changes lets it", plain.Line(altered[0], 120), andMore(len(altered)-1))
		}
	}
	return nil
}

// guarded runs the checks once more with the protected files as they were, if the worker has touched any. A check that passes only
// with what the worker made of its tests proves nothing.
func (t *try) guarded(ctx context.Context, guard sentry) ([]Check, error) {
	c, v := t.run.checks, &t.res.Verification
	if !t.res.Changes.Known {
		return unrun(c, "the changed files are not known, so that changed tests would not be seen"), nil
	}
	base, after, root, inside := t.place.base, t.place.after, guard.root, guard.inside
	if why := t.unseen(guard.Guard, root, inside); why != "" {
		return unrun(c, why), nil
	}
	reset := guard.Reset(t.allChanges(root), func(path string) ([]byte, error) { return after.Read(inside(path), verify.ReadLimit) })
	if !reset.Needed() {
		return nil, nil
	}
	v.Protected = reset.Touched[:min(len(reset.Touched), protectedLimit)]
	at, drop, err := t.site(ctx, fmt.Sprintf("guarded-%d.%d", t.n, t.round))
	if err != nil {
		return nil, err
	}
	defer drop()
	var paths []string
	for _, p := range reset.Restore {
		paths = append(paths, inside(p))
	}
	for _, p := range reset.Remove {
		paths = append(paths, after.Below(inside(p))...)
	}
	// Of what neither snapshot has, such as an installed library that --trust-deps lets count, nothing could be put back: it is not touched.
	paths = slices.DeleteFunc(paths, func(name string) bool { return !base.Has(name) && !after.Has(name) })
	if err := base.Put(ctx, at.root, paths); err != nil {
		return nil, err
	}
	began := time.Now()
	list, err := at.run(ctx, c.Verify)
	if err == nil {
		err = guard.bent(ctx, list, at, base, began)
	}
	if t.place.copy == nil {
		if e := after.PutBack(context.WithoutCancel(ctx), at.root, paths, base); e != nil {
			t.note("the protected files could not be put back as the worker left them: %v; the patch has them", e)
		}
	}
	for i := range list {
		list[i].Guarded = true
	}
	return list, err
}

// unseen says why a check in place proves nothing although it has passed: a file that decides about it was made by the run, and no patch shows it.
// root is where the snapshots begin below the top of the repository, and inside a path as they name it.
func (t *try) unseen(guard *verify.Guard, root string, inside func(string) string) string {
	if t.place.copy != nil || t.run.checks.TrustDeps {
		return ""
	}
	const ways = "; --trust-deps lets it count, --isolate leaves it out"
	names, err := t.place.base.Unseen(t.place.after)
	if err != nil {
		return "what the run has made of files that git ignores is not known: " + plain.Line(err.Error(), 150) + ways
	}
	var made []tree.Change
	for _, name := range names {
		made = append(made, tree.Change{Path: path.Join(root, name), Kind: tree.Added})
	}
	steering := guard.Reset(made, func(name string) ([]byte, error) {
		return record.Read(filepath.Join(t.place.root, filepath.FromSlash(inside(name))), verify.ReadLimit)
	})
	if !steering.Needed() {
		return ""
	}
	return fmt.Sprintf("what steers the check was made during the run and is ignored by git (%s%s), so that no patch shows it%s", plain.Line(steering.Touched[0], 80), andMore(len(steering.Touched)-1), ways)
}

// allChanges are those of fromTop, and in place those of files that git ignores and the snapshots hold.
func (t *try) allChanges(root string) []tree.Change {
	list := t.fromTop()
	if t.place.copy != nil {
		return list
	}
	known := map[string]bool{}
	for _, c := range list {
		known[c.Path], known[c.From] = true, true
	}
	for _, c := range t.place.base.Changes(t.place.after) {
		if c.Path = path.Join(root, c.Path); !known[c.Path] {
			list = append(list, c)
		}
	}
	return list
}

// fromTop are the changes with their names as seen from the top of the repository, which is how globs are read, in a copy and in place.
func (t *try) fromTop() []tree.Change {
	at := t.below(t.place.dir)
	if at == "" {
		return t.res.Changes.Files
	}
	var list []tree.Change
	for _, c := range t.res.Changes.Files {
		c.Path = path.Join(at, c.Path)
		if c.From != "" {
			c.From = path.Join(at, c.From)
		}
		list = append(list, c)
	}
	return list
}

// below is where a directory lies in the repository, with slashes; empty at its top.
func (t *try) below(dir string) string {
	rel, err := filepath.Rel(t.cage.top, dir)
	if err != nil || rel == "." || !filepath.IsLocal(rel) {
		return ""
	}
	return filepath.ToSlash(rel)
}
