package delegate

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"opencode-delegate/internal/atomicfile"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/plain"
	"opencode-delegate/internal/planted"
	"opencode-delegate/internal/record"
	"opencode-delegate/internal/repocode"
	"opencode-delegate/internal/tree"
	"opencode-delegate/internal/verify"
	"opencode-delegate/internal/worktree"
)

// lookTime bounds one look at the tree: a verdict on changes is worth waiting for, but not for ever.
const lookTime = 60 * time.Second

// A view is what the repository looked like before the run.
type view struct {
	tree    *tree.Snapshot
	begun   *tree.Snapshot // with the earlier work that this run goes on with; else the same
	code    *repocode.State
	planted *planted.State
	git     gitLink
	err     error // why the tree is not known
}

// A gitLink is how the project finds its repository.
type gitLink struct {
	dir  string // git directory; empty = no repository
	path string // of the .git
	file []byte // its content, where .git is a file: a linked worktree or a submodule
}

func (c cage) gitLink() gitLink {
	dir, _, top, ok := repocode.Dirs(c.request.Dir)
	if !ok || top == "" {
		return gitLink{}
	}
	l := gitLink{dir: dir, path: filepath.Join(top, ".git")}
	if fi, err := os.Lstat(l.path); err == nil && fi.Mode().IsRegular() {
		l.file, _ = record.Read(l.path, 4<<10) // unreadable: then there is nothing to put back
	}
	return l
}

// lost reports whether the project has lost its way to its repository, and puts a file back that showed it: without one, git
// would fall through to a repository further up.
func (l gitLink) lost(now gitLink) (what string, lost bool) {
	if l.dir == "" || l.dir == now.dir {
		return "", false
	}
	what = l.path + " is gone or leads elsewhere"
	if l.file != nil && now.path != l.path && atomicfile.Write(l.path, l.file, 0o644) == nil {
		what += "; it was put back"
	}
	return what, true
}

// look takes the fingerprint of the tree and of the repository's code.
func (t *try) look(ctx context.Context) (view, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	var v view
	var err error
	if t.cage.opensRepository() {
		v.code, err = repocode.Capture(ctx, t.place.dir, t.run.plan.codeOptions())
	}
	if err == nil {
		v.planted, err = planted.Capture(ctx, t.cage.dirs)
	}
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return v, cause
		}
		return v, fault.New(fault.RunFailed, "the repository cannot be guarded: %w", err)
	}
	v.git = t.cage.gitLink()
	v.tree, v.err = tree.Take(ctx, t.place.dir, tree.Options{})
	v.begun = v.tree
	if work := t.place.earlier; work != nil {
		if err := t.place.copy.Resume(ctx, work); err != nil {
			return v, fmt.Errorf("the earlier work could not be put into the copy: %w", err)
		}
		if v.err == nil {
			v.begun, v.err = tree.Take(ctx, t.place.dir, tree.Options{Since: v.tree})
		}
	}
	return v, nil
}

func (p *Plan) codeOptions() repocode.Options {
	return repocode.Options{Home: p.host.Home, UserConfig: repocode.UserConfig(p.host.Home, p.host.getenv)}
}

// lookAgain compares with the view from before. The repository's code comes first: no git command of ours may run what
// the worker has configured.
func (t *try) lookAgain(ctx context.Context, before view) error {
	// The caller's order to stop must not keep us from seeing what was done.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookTime)
	defer cancel()
	t.guard(ctx, before)
	t.sweep(ctx, before)
	t.res.Changes = tree.Changes{Reason: "the tree could not be read before the run"}
	if before.err != nil {
		t.note("changed files are not known: %v", before.err)
		return nil
	}
	cage, done, err := t.gitCage()
	if err != nil {
		return err
	}
	defer done()
	after, err := tree.Take(ctx, t.place.dir, tree.Options{Since: before.tree, Cage: cage})
	if err != nil {
		t.res.Changes.Reason = "the tree could not be read after the run"
		t.note("changed files are not known: %v", err)
		return nil
	}
	t.left = after
	t.res.Changes = tree.Compare(ctx, before.tree, after)
	t.idle = len(t.res.Changes.Files) == 0
	if before.begun != before.tree {
		now := tree.Compare(ctx, before.begun, after)
		t.idle = now.Known && len(now.Files) == 0
	}
	t.res.Changes.Reason = plain.Line(t.res.Changes.Reason, 300)
	if !t.res.Changes.Known {
		t.note("changed files are not known: %s", t.res.Changes.Reason)
	}
	return nil
}

// guard puts back what makes git run programs.
func (t *try) guard(ctx context.Context, before view) {
	if !t.cage.opensRepository() {
		return // what has changed there was somebody else's doing, and is not ours to put back
	}
	if what, lost := before.git.lost(t.cage.gitLink()); lost {
		t.violation("the worker cut the project off from its repository", Violation{What: what})
	}
	if t.run.plan.Request.AllowGitConfig {
		return
	}
	violations, err := repocode.Check(ctx, before.code, t.dir.File(record.Kept))
	t.evidence.note(t.dir.Redact(record.Kept))
	var list []Violation
	for _, v := range violations {
		list = append(list, Violation{What: v.What, Kept: v.Kept})
	}
	t.violation("the worker changed code that git would run", list...)
	if len(list) > 0 {
		t.res.Hints = append(t.res.Hints, "--allow-git-config permits such a change")
	}
	if err != nil {
		t.against(fault.New(fault.WriteViolation, "the repository's hooks and configuration could not be checked: %w", err))
	}
}

// lookAfterCheck looks once more at the caller's repository when checks have run in place: they run the worker's code, which can do there what the worker
// could, and the caller's next git would run what it has planted. list are the checks; one that has done so proves nothing.
func (t *try) lookAfterCheck(ctx context.Context, before view, list []Check) {
	if t.place.copy != nil || t.place.base == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookTime)
	defer cancel()
	known := len(t.res.Violations)
	t.guard(ctx, before)
	cage, done, err := t.gitCage()
	if err == nil {
		defer done()
		t.noteWritten(ctx, cage)
		err = t.place.base.EndHistory()
	}
	if err != nil {
		t.note("what the check has done to the repository's history is not known: %v", err)
	} else {
		t.history(ctx, worktree.HistoryOptions{Environ: t.run.plan.host.Environ, Cage: cage})
	}
	if len(t.res.Violations) == known {
		return
	}
	for i := range list {
		if list[i].Verdict == string(verify.Pass) {
			list[i].Verdict, list[i].Reason = string(verify.CouldNotRun), plain.Line("the repository was changed while it ran: "+t.res.Violations[known].What, 300)
		}
	}
}

// noteWritten says what checks in place have left in the caller's tree: it is no part of the work, and no undo knows it.
func (t *try) noteWritten(ctx context.Context, cage worktree.Cage) {
	if t.left == nil {
		return
	}
	now, err := tree.Take(ctx, t.place.dir, tree.Options{Since: t.left, Cage: cage})
	if err != nil {
		return
	}
	if c := tree.Compare(ctx, t.left, now); c.Known && len(c.Files) > 0 {
		t.note("the check itself has changed %s; that is no part of the work, and oc-job undo leaves it", name(c.Files))
	}
}

// sweep takes away what the run left in opencode's own directories to be run by the user's next session, outside of any
// cage: the kernel cannot spare it, since opencode has to write there.
func (t *try) sweep(ctx context.Context, before view) {
	found, err := planted.Check(ctx, before.planted, t.dir.File(record.Kept))
	t.evidence.note(t.dir.Redact(record.Kept))
	var list []Violation
	for _, v := range found {
		if v.Download {
			// ripgrep, a language server or a plugin, fetched by opencode itself perhaps; nobody can tell.
			t.note("a download of this run was taken away, since the next session would run it: %s", plain.Line(v.What, 160))
			t.res.Hints = append(t.res.Hints, "what opencode needs is best there before: install ripgrep, or use opencode itself once")
			continue
		}
		list = append(list, Violation{What: v.What, Kept: v.Kept})
	}
	t.violation("the worker planted code for the next session of opencode", list...)
	if err != nil {
		t.note("opencode's own directories could not be examined: %v", err)
	}
}

// violation takes changes that were not granted into account: what it is, and each of them.
func (t *try) violation(what string, list ...Violation) {
	if len(list) == 0 {
		return
	}
	t.res.Violations = append(t.res.Violations, list...)
	f := fault.New(fault.WriteViolation, "%s: %s", what, plain.Line(list[0].What, 160))
	if n := len(list); n > 1 {
		f.Reason += fmt.Sprintf(" and %d more", n-1)
	}
	if list[0].Kept != "" {
		f = f.With("it was put back; the worker's version is in " + t.dir.File(record.Kept))
	}
	t.against(f)
}

// judge lets the tree speak: a read-only run that changed something, a writing run that changed nothing.
func (t *try) judge() {
	if t.res.Sandbox != sandboxOn {
		t.note("without the sandbox only changes below %s are seen", t.place.dir)
	}
	changes := &t.res.Changes
	writes := t.cage.profile.Writes()
	switch {
	case !changes.Known:
	case !writes && t.res.Sandbox == sandboxOn:
		// The kernel has closed every file to the worker, so that another hand has changed their content; modes it leaves open.
		modes := changes.Files[:0:0]
		for _, f := range changes.Files {
			if f.Kind == tree.Mode {
				modes = append(modes, f)
			}
		}
		if n := len(changes.Files) - len(modes); n > 0 {
			t.note("%d file(s) were changed by somebody else meanwhile", n)
		}
		if len(modes) > 0 {
			t.note("the mode of %s was changed; the sandbox leaves modes open", modes[0].Path)
		}
		*changes = tree.Changes{Known: true, Files: modes}
	case !writes && len(changes.Files) > 0:
		t.against(fault.New(fault.WriteViolation, "a read-only run changed %s", name(changes.Files)))
	case writes && t.idle && len(t.run.plan.Request.AllowWrite) > 0:
		t.note("no file of --dir has changed; what --allow-write opened was not compared")
	case writes && t.idle && t.worst == nil && !t.run.plan.Request.AllowNoChanges:
		t.against(fault.New(fault.NoChanges, "the worker reports success, and no file has changed").
			With("say in the task which file has to change; what lies outside of --dir is closed to the worker unless --allow-write opens it",
				"--allow-no-changes accepts a run without a change"))
	}
	if n := t.res.Commands.Failed; n > 0 && t.worst == nil {
		t.note("%d of the worker's %d commands failed", n, t.res.Commands.Run)
	}
}

// name is the first of some changed files, and how many more there are.
func name(files []tree.Change) string {
	s := plain.Line(files[0].Path, 120)
	if n := len(files); n > 1 {
		s += fmt.Sprintf(" and %d more", n-1)
	}
	return s
}

// reason is one line of at most 300 code points.
func reason(s string) string { return plain.Line(strings.TrimSpace(s), 300) }
