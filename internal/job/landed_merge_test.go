package job

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/record"
	"opencode-delegate/internal/worktree"
)

// committing is a worker that commits the one half of its work.
func committing(s *site) func(tree string) {
	return func(tree string) {
		edit(tree)
		for _, args := range [][]string{{"add", "new"}, {"commit", "-q", "-m", "the worker's"}} {
			cmd := exec.Command("git", args...)
			cmd.Dir, cmd.Env = tree, s.env
			if out, err := cmd.CombinedOutput(); err != nil {
				s.t.Fatalf("%v: %s", err, out)
			}
		}
	}
}

func TestMergeBringsCommits(t *testing.T) {
	s := newSite(t)
	id := s.isolated(fault.OK, "pass", committing(s))
	h, err := s.Commits(t.Context(), id)
	if err != nil || h.All != 1 || h.Commits[0].Subject != "the worker's" {
		t.Fatalf("%+v %v", h, err)
	}
	s.write("mine", "mine\n")
	s.git("add", "mine")
	if _, _, _, err := s.Merge(t.Context(), id, s.call()); kindOf(err) != fault.Usage || !strings.Contains(err.Error(), "clean") {
		t.Fatalf("%v", err)
	}
	s.fateIs(id, Unlanded)
	s.git("commit", "-q", "-m", "mine")
	l, m, again, err := s.Merge(t.Context(), id, s.call())
	if err != nil || again || m.Commits != 1 || !m.Rest || m.FastForward || l.Commit != s.git("rev-parse", "HEAD") {
		t.Fatalf("%+v %+v %v %v", l, m, again, err)
	}
	log := s.git("log", "--format=%s")
	for _, want := range []string{"the worker's", "do it", "mine", "Merge branch"} {
		if !strings.Contains(log, want) {
			t.Errorf("no %q in\n%s", want, log)
		}
	}
	if s.read("new") != "new\n" || s.read("a.txt") != lines(map[int]string{2: "theirs"}) || s.git("status", "--porcelain") != "" {
		t.Error(s.tree(), s.git("status", "--porcelain"))
	}
	s.fateIs(id, Merged)
	head := s.git("rev-parse", "HEAD")
	if _, _, again, err := s.Merge(t.Context(), id, s.call()); err != nil || !again || s.git("rev-parse", "HEAD") != head {
		t.Errorf("a second time: %v %v", again, err)
	}
	if _, again, err := s.Apply(t.Context(), id, s.call()); err != nil || !again {
		t.Errorf("applied after: %v %v", again, err)
	}
	if _, _, err := s.Undo(t.Context(), id, s.call()); kindOf(err) != fault.Usage || !strings.Contains(fault.Of(err).Hints[0], "reset --keep") {
		t.Errorf("%v", err)
	}
}

// A merge whose process died after git had merged is not made twice.
func TestAMergeThatWasCutOff(t *testing.T) {
	s := newSite(t)
	id := s.isolated(fault.OK, "pass", committing(s))
	s.write("mine", "mine\n")
	s.git("add", "mine")
	s.git("commit", "-q", "-m", "mine")
	c := s.call()
	_, _, _, err := s.Merge(t.Context(), id, c)
	s.must(err)
	head := s.git("rev-parse", "HEAD")
	time.Sleep(1100 * time.Millisecond) // commits of another second are others
	l, err := s.readLanded(id)
	s.must(err)
	l.Done, l.Commit = false, ""
	s.must(s.keepLanded(id, l))
	s.fateIs(id, CutOff)
	if _, _, err := s.Apply(t.Context(), id, s.call()); kindOf(err) != fault.Usage || !strings.Contains(fault.Of(err).Hints[0], "oc-job merge "+id) {
		t.Errorf("apply in between: %v", err)
	}
	later := s.call()
	later.Now = later.Now.AddDate(0, 0, 1)
	got, m, again, err := s.Merge(t.Context(), id, later)
	if err != nil || again || !m.Already || s.git("rev-parse", "HEAD") != head || got.Commit != head {
		t.Errorf("%+v %v %v: HEAD %s, was %s", m, again, err, s.git("rev-parse", "HEAD"), head)
	}
	s.fateIs(id, Merged)
}

func TestMergeThatConflictsChangesNothing(t *testing.T) {
	s := newSite(t)
	id := s.isolated(fault.OK, "pass", edit)
	s.write("a.txt", lines(map[int]string{2: "mine"}))
	s.git("commit", "-q", "-a", "-m", "mine")
	before, head := s.tree(), s.git("rev-parse", "HEAD")
	_, _, _, err := s.Merge(t.Context(), id, s.call())
	if kindOf(err) != fault.Conflict || !strings.Contains(err.Error(), "a.txt") || s.tree() != before || s.git("rev-parse", "HEAD") != head {
		t.Fatalf("%v\n%s", err, s.tree())
	}
	s.fateIs(id, Unlanded)
	if l, _, err := s.Apply(t.Context(), id, s.call()); err != nil || len(l.Conflicts) != 1 {
		t.Errorf("%+v %v", l, err)
	}
}

func TestApplyStagesOrCommits(t *testing.T) {
	s := newSite(t)
	s.write("staged before", "x\n")
	s.git("add", "staged before")
	id := s.isolated(fault.OK, "pass", edit)
	c := s.call()
	c.Index = true
	_, _, err := s.Apply(t.Context(), id, c)
	s.must(err)
	if got := s.git("diff", "--cached", "--name-only"); got != "a.txt\nnew\nstaged before" {
		t.Errorf("staged: %s", got)
	}
	u, _, err := s.Undo(t.Context(), id, s.call())
	if err != nil || !u.Index || s.read("new") != "(none)" {
		t.Errorf("%+v %v", u, err)
	}
	s.git("reset", "-q")
	c = s.call()
	c.Commit, c.Message = true, "from the job"
	l, _, err := s.Apply(t.Context(), id, c)
	if err != nil || l.Commit != s.git("rev-parse", "HEAD") || s.git("show", "--format=%s", "--name-only", "HEAD") != "from the job\n\na.txt\nnew" {
		t.Errorf("%+v %v\n%s", l, err, s.git("show", "--format=%s", "--name-only", "HEAD"))
	}
	if _, _, err := s.Undo(t.Context(), id, s.call()); kindOf(err) != fault.Usage || !strings.Contains(fault.Of(err).Hints[0], "revert "+l.Commit[:12]) {
		t.Errorf("%v", err)
	}
}

// A worker in place that commits and resets: the files come back with undo, the history with --history.
func TestUndoOfHistory(t *testing.T) {
	s := newSite(t)
	s.write("a.txt", lines(map[int]string{9: "second"}))
	s.git("commit", "-q", "-a", "-m", "second")
	s.write("dirty", "uncommitted\n")
	s.git("add", "dirty")
	before, head := s.tree(), s.git("rev-parse", "HEAD")
	id := s.inPlace(func(string) {
		s.git("reset", "-q", "--hard", "HEAD~1")
		s.git("commit", "-q", "--allow-empty", "-m", "the worker's")
	})
	c := s.call()
	c.History = true
	u, _, err := s.Undo(t.Context(), id, c)
	if err != nil || !slices.Contains(u.Past, "refs/heads/main") || s.tree() != before || s.git("rev-parse", "HEAD") != head {
		t.Errorf("%+v %v: HEAD %s, was %s\n%s", u, err, s.git("rev-parse", "HEAD"), head, s.tree())
	}
	if got := s.git("diff", "--cached", "--name-only"); got != "dirty" {
		t.Errorf("staged: %q", got)
	}
}

// Whatever of an apply was done before its process died, the next one comes to the same end.
func TestAnApplyThatWasCutOff(t *testing.T) {
	whole := newSite(t)
	wid := whole.isolated(fault.OK, "pass", edit)
	whole.write("a.txt", lines(map[int]string{2: "mine"}))
	_, _, err := whole.Apply(t.Context(), wid, whole.call())
	whole.must(err)
	want := strings.ReplaceAll(whole.tree(), whole.dir, "")
	for name, half := range map[string]func(s *site, id string){
		"nothing":         func(*site, string) {},
		"half a snapshot": func(s *site, id string) { s.must(os.MkdirAll(s.Record(id).File(record.Apply), 0o700)) },
		"a snapshot": func(s *site, id string) {
			_, err := worktree.Take(t.Context(), s.dir, s.Record(id).File(record.Apply), worktree.Options{Environ: s.env})
			s.must(err)
		},
		"the files": func(s *site, id string) {
			_, _, err := s.Apply(t.Context(), id, s.call())
			s.must(err)
			s.must(s.keepLanded(id, Landed{What: Applied, Dir: s.dir}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			id := s.isolated(fault.OK, "pass", edit)
			s.write("a.txt", lines(map[int]string{2: "mine"}))
			before := s.tree()
			s.must(s.keepLanded(id, Landed{What: Applied, Dir: s.dir}))
			half(s, id)
			s.fateIs(id, CutOff)
			if r := s.gc(false); len(r.Gone) > 0 {
				t.Errorf("%+v", r)
			}
			v, err := s.Survey(t.Context(), s.call().Now)
			if err != nil || len(v.CutOff) != 1 || v.CutOff[0] != (Begun{id, "apply"}) {
				t.Errorf("%+v %v", v.CutOff, err)
			}
			l, again, err := s.Apply(t.Context(), id, s.call())
			if err != nil || again || len(l.Conflicts) != 1 || s.tree() != want {
				t.Errorf("%+v %v %v\n%s\nwant\n%s", l, again, err, s.tree(), want)
			}
			if _, _, err := s.Undo(t.Context(), id, s.call()); err != nil || s.tree() != before {
				t.Errorf("undone: %v\n%s", err, s.tree())
			}
		})
	}
}

// The same for what removes it, and for what takes it out.
func TestADiscardAndAnUndoThatWereCutOff(t *testing.T) {
	s := newSite(t)
	id := s.isolated(fault.OK, "pass", edit)
	s.must(s.keepLanded(id, Landed{What: Discarded}))
	s.must(s.releaseRef(t.Context(), id))
	s.fateIs(id, CutOff)
	if _, _, err := s.Apply(t.Context(), id, s.call()); kindOf(err) != fault.NotFound {
		t.Errorf("%v", err)
	}
	if _, again, err := s.Discard(t.Context(), id, s.call()); err != nil || again || exists(s.Record(id).File(record.Copies)) {
		t.Errorf("%v %v", again, err)
	}

	before := s.tree()
	id = s.inPlace(edit)
	s.must(s.keepLanded(id, Landed{What: Undone, Of: InPlace, Dir: s.dir}))
	s.must(os.Remove(filepath.Join(s.dir, "new"))) // as far as it came
	if _, again, err := s.Undo(t.Context(), id, s.call()); err != nil || again || s.tree() != before {
		t.Errorf("%v %v\n%s", again, err, s.tree())
	}
	s.fateIs(id, Undone)
}

// Two landings do not meet in one work tree, and who cannot wait is told.
func TestLandingsWaitForEachOther(t *testing.T) {
	s := newSite(t)
	one, two := s.isolated(fault.OK, "pass", edit), s.isolated(fault.OK, "pass", edit)
	_, unlock, err := s.landing(t.Context(), one)
	s.must(err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := s.Apply(ctx, two, s.call()); err == nil || s.read("new") != "(none)" {
		t.Errorf("%v\n%s", err, s.tree())
	}
	done := make(chan error, 1)
	go func() { _, _, err := s.Apply(t.Context(), two, s.call()); done <- err }()
	unlock()
	if err := <-done; err != nil || s.read("new") != "new\n" {
		t.Errorf("%v\n%s", err, s.tree())
	}
}
