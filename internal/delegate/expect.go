package delegate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/plain"
	"opencode-delegate/internal/tree"
	"opencode-delegate/internal/verify"
	"opencode-delegate/internal/worktree"
)

// committed are the paths that the worker's commits have changed.
func (t *try) committed(ctx context.Context) ([]string, error) {
	switch {
	case t.place.copy != nil:
		return t.place.copy.Touched(ctx)
	case t.place.base == nil:
		return nil, nil
	}
	cage, done, err := t.gitCage()
	if err != nil {
		return nil, err
	}
	defer done()
	return t.place.base.Touched(ctx, worktree.HistoryOptions{Environ: t.run.plan.host.Environ, Cage: cage})
}

// limits holds the changes against what the caller has allowed, and each commit of the worker too: it is in the branch, whatever a later one took back.
func (t *try) limits(ctx context.Context) error {
	c, changes := t.run.checks, t.res.Changes
	if len(c.AllowPath)+len(c.ForbidPath) == 0 {
		return nil
	}
	if !changes.Known {
		t.against(fault.New(fault.WriteViolation, "the changed files are not known, so that they cannot be held against --allow-path and --forbid-path"))
		return nil
	}
	all := slices.Clone(t.fromTop())
	names, err := t.committed(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		all = append(all, tree.Change{Path: name})
	}
	bad := verify.Paths(c.allow, c.forbid, all)
	var list []Violation
	for _, path := range bad[:min(len(bad), 1000)] {
		list = append(list, Violation{What: path})
	}
	t.violation("the worker changed what it was not to change", list...)
	return nil
}

// expect looks for what the caller expects beside the checks.
func (t *try) expect() {
	c, v := t.run.checks, &t.res.Verification
	for _, path := range c.ExpectFile {
		v.Checks = append(v.Checks, expectation("--expect-file "+path, t.expectFile(path)))
	}
	if c.MaxDiff > 0 {
		wrong := ""
		if lines, ok := verify.MaxDiff(int(c.MaxDiff), t.res.Changes); !t.res.Changes.Known {
			wrong = "how many lines were changed is not known"
		} else if !ok {
			wrong = fmt.Sprintf("the difference has %d lines", lines)
		}
		v.Checks = append(v.Checks, expectation(fmt.Sprintf("--max-diff %d", c.MaxDiff), wrong))
	}
	if c.schema != nil {
		text := t.res.Text
		if t.res.TextTruncated {
			text = ""
		}
		v.Checks = append(v.Checks, expectation("--expect-schema "+t.run.plan.Request.ExpectSchema, c.schema.Expect(text)))
	}
}

// expectFile says what is wrong with a file that is expected: in a copy it has to be among what lands, and not only be there.
func (t *try) expectFile(name string) string {
	if wrong := verify.ExpectFile(t.place.dir, name); wrong != "" || t.place.copy == nil || t.place.after == nil {
		return wrong
	}
	root, err := filepath.EvalSymlinks(t.place.root)
	real, err2 := filepath.EvalSymlinks(filepath.Join(t.place.dir, name))
	if err = errors.Join(err, err2); err == nil {
		real, err = filepath.Rel(root, real)
	}
	if err == nil {
		_, err = t.place.after.Read(filepath.ToSlash(real), 1)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return name + " would not land: git ignores it"
	case err != nil:
		return err.Error()
	}
	return ""
}

func expectation(what, wrong string) Check {
	c := Check{Cmd: what, Verdict: string(verify.Pass)}
	if wrong != "" {
		c.Verdict, c.Reason = string(verify.Fail), plain.Line(wrong, 300)
	}
	return c
}
