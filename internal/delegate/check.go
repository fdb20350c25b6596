package delegate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/plain"
	"opencode-delegate/internal/record"
	"opencode-delegate/internal/verify"
	"opencode-delegate/internal/worktree"
)

// checks are what proves the work: what the caller asked for and what the repository asks for, where it is trusted.
type checks struct {
	Checks
	schema *verify.Schema // nil: none
	allow  []verify.Globs // a changed path has to be allowed by each: the caller's word does not widen that of the repository
	forbid verify.Globs
}

// failed is the one verdict that the worker can do something about.
const failed = verify.Fail

// protectedLimit bounds the names of changed protected files in a result.
const protectedLimit = 100

// gather reads what the repository asks for from the state before the work.
func (r *run) gather(at place) (checks, error) {
	c := checks{Checks: r.plan.Request.Checks, schema: r.plan.schema}
	if !r.plan.cage.profile.Writes() {
		return c, nil
	}
	called := c.AllowPath
	err := r.join(&c, at)
	for _, list := range [][]string{called, c.AllowPath[len(called):]} {
		if err == nil && len(list) > 0 {
			var globs verify.Globs
			globs, err = verify.ParseGlobs("--allow-path", list)
			c.allow = append(c.allow, globs)
		}
	}
	if err == nil {
		c.forbid, err = verify.ParseGlobs("--forbid-path", c.ForbidPath)
	}
	return c, err
}

// join adds what the repository asks for, where a person has trusted exactly that.
func (r *run) join(c *checks, at place) error {
	root := at.root
	if at.copy == nil {
		root = r.plan.cage.top
	}
	data, err := record.Read(filepath.Join(root, verify.ProjectFile), verify.ProjectLimit)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		r.note("%s is not heeded: %v", verify.ProjectFile, err)
		return nil
	case !verify.Trusted(filepath.Join(r.plan.host.StateRoot, TrustDir), r.plan.cage.top, verify.Hash(data)):
		r.note("%s of this repository is not trusted, and not heeded; oc-job trust shows and accepts it", verify.ProjectFile)
		return nil
	}
	p, err := verify.ParseProject(data)
	if err != nil {
		return err
	}
	c.Verify = append(slices.Clip(c.Verify), p.Verify...)
	c.Protect = append(slices.Clip(c.Protect), p.Protect...)
	c.AllowPath = append(slices.Clip(c.AllowPath), p.AllowPath...)
	c.ForbidPath = append(slices.Clip(c.ForbidPath), p.ForbidPath...)
	return nil
}

// TrustDir is the name of the directory below our records that holds which project files a person has trusted.
const TrustDir = "trust"

func (r *run) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

// asked reports whether there is anything to prove.
func (c checks) asked() bool {
	return len(c.Verify)+len(c.ExpectFile) > 0 || c.MaxDiff > 0 || c.ExpectSchema != ""
}

// preflight runs the checks before any token is spent. Only one that cannot run at all ends the delegation there.
func (r *run) preflight(ctx context.Context, first *try) error {
	if len(r.checks.Verify) == 0 || r.checks.NoPreflight {
		return nil
	}
	at := site{try: first, dir: first.place.dir, root: first.place.root, name: "before", warms: true}
	if c := first.place.copy; c != nil {
		fresh, err := c.Fresh(ctx, filepath.Join(first.place.home, "before"))
		if err != nil {
			return err
		}
		defer worktree.RemovePlace(filepath.Join(first.place.home, "before"))
		at.dir, at.root, at.copy = fresh.Dir(r.plan.Request.Dir), fresh.Tree(), fresh
	}
	list, err := at.run(ctx, r.checks.Verify)
	if err != nil {
		return err
	}
	red := false
	for _, c := range list {
		switch verify.Verdict(c.Verdict) {
		case verify.CouldNotRun:
			return fault.New(fault.Usage, "the check %q cannot run here: %s", plain.Line(c.Cmd, 80), c.Reason).
				With(first.without(), "it ran once before the work; --no-preflight leaves that out, for a check that the work itself has to make possible", said(c))
		case verify.Fail:
			red = true
		}
	}
	r.red, r.before = &red, list
	return nil
}

// without names installed dependencies that a check in a copy may miss; empty: there are none, or it has them.
func (t *try) without() string {
	if t.place.copy == nil {
		return ""
	}
	for _, name := range []string{"node_modules", ".venv", "venv", "vendor"} {
		here, err := os.Stat(filepath.Join(t.run.plan.Request.Dir, name))
		if _, missing := os.Lstat(filepath.Join(t.place.dir, name)); err == nil && here.IsDir() && errors.Is(missing, fs.ErrNotExist) {
			return fmt.Sprintf("the copy has no %s, which git ignores here: --link %s lets it read yours", name, name)
		}
	}
	return ""
}

// said is the excerpt of a check as a hint.
func said(c Check) string { return strings.TrimSpace("it said: " + plain.Line(c.Excerpt, 300)) }

// prove checks the work of an attempt that ended well, and what the caller expects of its changes.
func (t *try) prove(ctx context.Context, before view) error {
	c := t.run.checks
	v := &t.res.Verification
	v.Checks, v.Protected = []Check{}, nil
	t.round++
	if t.cage.profile.Writes() {
		if err := t.limits(ctx); err != nil {
			return err
		}
	}
	if !c.asked() {
		return nil
	}
	if t.worst != nil {
		t.unproved()
		return nil
	}
	t.expect()
	if len(c.Verify) == 0 {
		return nil
	}
	list, err := t.checkWork(ctx)
	t.lookAfterCheck(ctx, before, list)
	v.Checks = append(list, v.Checks...)
	return err
}

// unproved is what is said of the work of a try that did not end well, before its checks or while they ran.
func (t *try) unproved() {
	v := &t.res.Verification
	v.Verdict = string(verify.CouldNotRun)
	v.Checks = append([]Check{}, unrun(t.run.checks, "the run did not end well: "+string(t.worst.Kind))...)
}

// unrun are checks that had no occasion to run.
func unrun(c checks, why string) (list []Check) {
	for _, cmd := range c.Verify {
		list = append(list, Check{Cmd: cmd, Verdict: string(verify.CouldNotRun), Reason: why})
	}
	return list
}

// checkWork runs the checks on the work as it would land.
func (t *try) checkWork(ctx context.Context) ([]Check, error) {
	c := t.run.checks
	if t.place.base == nil || t.place.after == nil {
		return unrun(c, "the work could not be kept before the check"), nil
	}
	if why := t.dependencies(ctx); why != "" {
		return unrun(c, why), nil
	}
	at, drop, err := t.site(ctx, fmt.Sprintf("after-%d.%d", t.n, t.round))
	if err != nil {
		return nil, err
	}
	defer drop()
	began := time.Now()
	list, err := at.run(ctx, c.Verify)
	if err != nil || worstOf(list) != verify.Pass || c.AllowTestChanges {
		return list, err
	}
	guard, err := t.sentry()
	if err == nil {
		err = guard.bent(ctx, list, at, t.place.after, began)
	}
	if err != nil || worstOf(list) != verify.Pass {
		return list, err
	}
	drop() // two trees of a large repository are one too many
	guarded, err := t.guarded(ctx, guard)
	return append(list, guarded...), err
}

// dependencies says why a check in place would prove nothing: the worker has changed what it stands on, and no patch shows it.
func (t *try) dependencies(ctx context.Context) string {
	if t.place.copy != nil || t.run.checks.TrustDeps {
		return ""
	}
	const ways = "; --trust-deps checks all the same, --isolate avoids it"
	if t.place.deps == nil {
		return "whether installed dependencies were changed is not known" + ways
	}
	now, err := t.place.base.Dependencies(ctx)
	if err != nil {
		return "whether installed dependencies were changed is not known: " + plain.Line(err.Error(), 150) + ways
	}
	if changed := worktree.ChangedDependencies(t.place.deps, now); len(changed) > 0 {
		return fmt.Sprintf("installed dependencies were changed during the run (%s%s), which no patch shows%s", plain.Line(changed[0], 80), andMore(len(changed)-1), ways)
	}
	return ""
}

func worstOf(list []Check) verify.Verdict {
	var all []verify.Verdict
	for _, c := range list {
		all = append(all, verify.Verdict(c.Verdict))
	}
	return verify.Worst(all...)
}

// verdict turns what the checks said into the verdict of the try.
func (t *try) verdict() {
	v := &t.res.Verification
	if len(v.Checks) > 0 {
		v.Verdict = string(worstOf(v.Checks))
	}
	defer t.judged()
	if v.Verdict == string(verify.None) || v.Verdict == string(verify.Pass) || t.worst != nil {
		return
	}
	var bad []Check
	for _, c := range v.Checks {
		if c.Verdict == v.Verdict {
			bad = append(bad, c)
		}
	}
	c := bad[0]
	what := "the check failed"
	switch {
	case v.Verdict == string(verify.CouldNotRun):
		what = "the check could not run"
	case c.Guarded:
		what = "the check passes only with the worker's changes to what is protected (" + plain.Line(v.Protected[0], 80) + andMore(len(v.Protected)-1) + "), and fails without them"
	}
	if len(bad) > 1 && !c.Guarded {
		what = fmt.Sprintf("%d of %d checks %s, the first", len(bad), len(v.Checks), map[bool]string{true: "failed", false: "could not run"}[v.Verdict == string(verify.Fail)])
	}
	f := fault.New(fault.VerifyFailed, "%s: %s (%s)", what, plain.Line(c.Cmd, 80), c.Reason)
	if c.Log != "" {
		f = f.With("what it printed is in " + c.Log)
	}
	t.against(f)
}

// judged notes at the attempt what came of its work.
func (t *try) judged() {
	if t.last < 0 {
		return
	}
	t.run.mu.Lock()
	defer t.run.mu.Unlock()
	a := &t.run.attempts[t.last]
	a.Verdict = t.res.Verification.Verdict
	if t.worst != nil && a.Status == fault.OK {
		a.Status, a.Reason = t.worst.Kind, reason(t.worst.Reason)
	}
}
