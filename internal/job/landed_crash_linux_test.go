package job

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/redact"
)

// landForTests does one thing with the work of a job: JOB_TEST_ACT has the verb, the state directory and the job.
func landForTests() {
	act := strings.Split(os.Getenv("JOB_TEST_ACT"), "\n")
	s, err := OpenStore(act[1], redact.New(nil))
	if err == nil {
		err = s.doForTests(act[0], act[2], Call{By: "shell", Environ: os.Environ(), Now: time.Now()})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (s *Store) doForTests(verb, id string, c Call) (err error) {
	ctx := context.Background()
	switch verb {
	case "diff":
		_, err = s.Patch(ctx, id, c.Environ)
	case "apply", "apply --commit":
		c.Commit, c.Message = verb != "apply", "from the job"
		_, _, err = s.Apply(ctx, id, c)
	case "merge":
		_, _, _, err = s.Merge(ctx, id, c)
	case "undo":
		_, _, err = s.Undo(ctx, id, c)
	case "discard":
		_, _, err = s.Discard(ctx, id, c)
	case "gc":
		zero := time.Duration(0)
		_, err = s.Remove(ctx, Limits{Older: &zero, Unlanded: true}, c.Now.Add(time.Hour), false)
	}
	return err
}

// A landWalk is a call that is ended after each thing that it does.
type landWalk struct {
	verb  string
	first []string // what is done before, whole
	lost  bool     // the job's supervisor died
	whole func(s *site, id, before, head string)
}

var landWalks = []landWalk{
	{verb: "diff", lost: true, whole: func(s *site, id, before, _ string) { s.fateIs(id, Unlanded) }},
	{verb: "apply", whole: func(s *site, id, before, _ string) {
		s.landedIs(id, Applied)
		if _, _, err := s.Undo(s.t.Context(), id, s.call()); err != nil || s.tree() != before {
			s.t.Errorf("undone: %v\n%s", err, s.tree())
		}
	}},
	{verb: "apply --commit", whole: func(s *site, id, _, head string) {
		s.landedIs(id, Applied)
		if s.git("rev-parse", "HEAD~1") != head || s.git("status", "--porcelain") != "" {
			s.t.Errorf("commits: %s; %s", s.git("log", "--format=%s"), s.git("status", "--porcelain"))
		}
	}},
	{verb: "merge", whole: func(s *site, id, _, head string) {
		s.landedIs(id, Merged)
		if s.git("rev-parse", "HEAD~2") != head || s.git("status", "--porcelain") != "" { // fast forward: the worker's, and the rest
			s.t.Errorf("commits: %s; %s", s.git("log", "--format=%s"), s.git("status", "--porcelain"))
		}
	}},
	{verb: "undo", first: []string{"apply"}, whole: func(s *site, id, before, _ string) {
		s.fateIs(id, Undone)
		if s.tree() != before {
			s.t.Errorf("undone:\n%s", s.tree())
		}
	}},
	{verb: "discard", whole: func(s *site, id, before, _ string) {
		s.fateIs(id, Discarded)
		if s.refs() != "" || s.tree() != before {
			s.t.Errorf("refs %q\n%s", s.refs(), s.tree())
		}
	}},
	{verb: "gc", whole: func(s *site, id, before, _ string) {
		s.ReleaseRefs(s.t.Context(), s.orphanRefs(time.Now().Add(time.Hour)))
		if exists(s.Store.dir(id)) || s.refs() != "" || s.tree() != before || len(s.leftovers(time.Now())) > 0 {
			s.t.Errorf("left: %q, refs %q\n%s", s.leftovers(time.Now()), s.refs(), s.tree())
		}
	}},
}

func (s *site) landedIs(id string, want Fate) {
	s.t.Helper()
	s.fateIs(id, want)
	if s.read("new") != "new\n" || s.read("a.txt") != lines(map[int]string{2: "theirs"}) {
		s.t.Errorf("it has not landed:\n%s", s.tree())
	}
}

// Kill at every moment: nothing is lost, whoever looks is told where the work is, and the same call comes to its end.
func TestACrashLosesNoWork(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "crash.test")
	build := exec.Command("go", "test", "-c", "-tags", "crashpoints", "-o", bin, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, w := range landWalks {
		t.Run(w.verb, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			var id string
			if w.lost {
				id = s.lost(committing(s))
				look(t, s.Store, id)
			} else {
				id = s.isolated(fault.OK, "pass", committing(s))
				s.patch(id)
			}
			before, head := s.tree(), s.git("rev-parse", "HEAD")
			for _, verb := range w.first {
				s.must(s.doForTests(verb, id, s.call()))
			}
			roots := []string{s.root, filepath.Dir(s.dir)}
			kept := t.TempDir()
			for i, r := range roots {
				copyAll(t, r, filepath.Join(kept, fmt.Sprint(i)))
			}
			log, scratch := filepath.Join(t.TempDir(), "points"), t.TempDir() // who is killed leaves something there
			do := func(at string) error {
				cmd := exec.Command(bin)
				cmd.Env = append(slices.Clone(s.env), "TMPDIR="+scratch, "JOB_TEST_ROLE=land", "JOB_TEST_ACT="+strings.Join([]string{w.verb, s.root, id}, "\n"), "OC_CRASH_LOG="+log, "OC_CRASH_POINT="+at)
				out, err := cmd.CombinedOutput()
				if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
					return errKilled
				}
				if err != nil {
					return fmt.Errorf("%w: %s", err, out)
				}
				return nil
			}
			s.must(do(""))
			w.whole(s, id, before, head)
			text, err := os.ReadFile(log)
			s.must(err)
			points := strings.Split(strings.TrimSpace(string(text)), "\n")
			if len(points) < 3 {
				t.Fatalf("only %d points: %q", len(points), points)
			}
			t.Logf("%d points", len(points))
			for _, point := range points {
				for i, r := range roots {
					s.must(removeTree(r))
					copyAll(t, filepath.Join(kept, fmt.Sprint(i)), r)
				}
				if err := do(point); err != errKilled {
					t.Errorf("it did not die: %v", err)
				}
				s.afterCrash(w.verb, id)
				s.must(do(""))
				w.whole(s, id, before, head)
				if t.Failed() {
					t.Fatalf("at %s", point)
				}
			}
		})
	}
}

var errKilled = errors.New("killed")

// afterCrash checks that the work is where somebody finds it.
func (s *site) afterCrash(verb, id string) {
	s.t.Helper()
	views, err := s.List(s.t.Context(), func(View) bool { return true })
	s.must(err)
	if len(views) == 0 && verb == "gc" { // what is left of it is nobody's
		return
	}
	if len(views) != 1 || views[0].Work == NoWork {
		s.t.Fatalf("the list: %+v", views)
	}
	if verb != "diff" {
		if p := s.patch(id); !strings.Contains(p, "+theirs") || !strings.Contains(p, "b/new") {
			s.t.Errorf("the patch: %s", p)
		}
	}
	landed := views[0].Work == Applied || views[0].Work == Merged || views[0].Work == Discarded || verb == "discard" && views[0].Work == CutOff
	if r, err := s.Remove(s.t.Context(), Limits{Older: new(time.Duration)}, time.Now().Add(time.Hour), true); err != nil || len(r.Gone) > 0 && !landed {
		s.t.Errorf("gc would take it: %+v %v", r.Gone, err)
	}
}

func copyAll(t *testing.T, from, to string) {
	t.Helper()
	if out, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
