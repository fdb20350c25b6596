package worktree

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"opencode-delegate/internal/fault"
)

// crashAct is the variable by which a test binary that was built with the tag crashpoints is told to do one thing: the act, and the places it needs.
const crashAct = "OC_WORKTREE_ACT"

// TestMain is also the process that is ended in the middle.
func TestMain(m *testing.M) {
	act := strings.Split(os.Getenv(crashAct), "\n")
	if act[0] == "" {
		os.Exit(m.Run())
	}
	if err := carryOutAct(act); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func carryOutAct(act []string) (err error) {
	ctx, o := context.Background(), Options{Environ: os.Environ()}
	dir, store, more := act[1], act[2], act[3:]
	s, err := Open(store)
	switch {
	case act[0] == "take" && err != nil:
		_, err = Take(ctx, dir, store, o)
		return err
	case err != nil:
		return err
	}
	switch act[0] {
	case "end":
		return s.End(ctx)
	case "restore":
		_, err = s.Restore(ctx, Undo{Save: more[0], History: true})
	case "apply":
		var after *Snapshot
		if after, err = Open(more[0]); err == nil {
			_, err = Apply(ctx, s, after, dir, more[1], o)
		}
	}
	return err
}

// A crash is an act that is ended after each thing that it does.
type crash struct {
	name    string
	prepare func(w *world) (act []string) // what goes before
	half    func(w *world)                // what has to be so after each crash; nil = nothing beside what always has
	whole   func(w *world)                // what has to be so when the act was repeated
}

// crashed is what the acts have in common: a world, as it was before the run and as the run left it.
func crashed() []crash {
	var before, beforeGit, after, afterGit string
	start := func(w *world) {
		for i := range 3 {
			w.write(fmt.Sprintf("d%d/x", i), fmt.Sprintf("%d\n", i))
		}
		w.write("changed", "one\ntwo\nthree\n")
		w.write("closed/x", "before\n")
		w.commit()
		w.write("changed", "one\ntwo\nthree\nfour\n")
		w.git("commit", "-qam", "second")
		w.git("branch", "other")
		w.write("changed", "mine\n")
		w.write("untracked", "mine\n")
		w.must(os.Chmod(w.path("closed"), 0o555))
		before, beforeGit = look(w.t, w.dir, false), w.gitLook()
	}
	run := func(w *world) {
		w.git("stash", "-q", "-u")
		w.git("reset", "-q", "--hard", "HEAD~1")
		w.git("branch", "-q", "-D", "other")
		w.git("checkout", "-q", "-b", "new")
		w.must(os.RemoveAll(w.path("d0")))
		w.write("d0", "a file now\n")
		w.must(os.Remove(w.path("d1/x")))
		w.write("made/deep/y", "new\n")
		w.must(os.Chmod(w.path("closed"), 0o755))
		w.write("closed/x", "run\n")
		w.must(os.Chmod(w.path("closed"), 0o555))
		after, afterGit = look(w.t, w.dir, false), w.gitLook()
	}
	is := func(w *world, what, tree, git string) {
		w.t.Helper()
		if got := look(w.t, w.dir, false); got != tree {
			w.t.Errorf("%s: the tree is not as it was:\n%s", what, differs(tree, got))
		}
		if got := w.gitLook(); got != git {
			w.t.Errorf("%s: the repository is not as it was:\n%s", what, differs(git, got))
		}
		if all := look(w.t, w.dir, true); strings.Contains(all, unfinished) || strings.Contains(all, ".lock") || strings.Contains(all, ".oc-tmp") {
			w.t.Errorf("%s: something unfinished was left", what)
		}
	}
	open := func(w *world, store string) *Snapshot {
		w.t.Helper()
		s, err := Open(w.root + store)
		w.must(err)
		return s
	}
	taken := func(w *world) {
		start(w)
		_, err := Take(w.t.Context(), w.dir, w.root+"/s", w.options())
		w.must(err)
		run(w)
	}
	return []crash{
		{name: "take", prepare: func(w *world) []string { start(w); return []string{"take", w.dir, w.root + "/s"} },
			half: func(w *world) {
				is(w, "after the crash", before, beforeGit)
				if _, err := Open(w.root + "/s"); err != nil && fault.Of(err).Kind != fault.NotFound {
					w.t.Errorf("an unfinished snapshot: %v", err)
				}
			},
			whole: func(w *world) {
				run(w)
				s := open(w, "/s")
				w.end(s)
				w.restore(s, Undo{History: true})
				is(w, "undone", before, beforeGit)
			}},
		{name: "end", prepare: func(w *world) []string { taken(w); return []string{"end", w.dir, w.root + "/s"} },
			half: func(w *world) { is(w, "after the crash", after, afterGit) },
			whole: func(w *world) {
				w.restore(open(w, "/s"), Undo{History: true})
				is(w, "undone", before, beforeGit)
			}},
		{name: "restore", prepare: func(w *world) []string {
			taken(w)
			w.end(open(w, "/s"))
			return []string{"restore", w.dir, w.root + "/s", w.root + "/saved"}
		}, whole: func(w *world) {
			is(w, "undone", before, beforeGit)
			w.restore(open(w, "/saved"), Undo{History: true})
			is(w, "undone twice", after, afterGit)
		}},
		{name: "apply", prepare: func(w *world) []string {
			start(w)
			for _, name := range []string{"/base", "/after"} {
				_, err := Take(w.t.Context(), w.dir, w.root+name, w.options())
				w.must(err)
				if name == "/base" {
					run(w)
				}
			}
			s := open(w, "/base")
			w.end(s)
			w.restore(s, Undo{History: true})
			w.write("d2/x", "mine\n")
			before = look(w.t, w.dir, false)
			beforeGit = w.gitLook()
			return []string{"apply", w.dir, w.root + "/base", w.root + "/after", w.root + "/saved"}
		}, whole: func(w *world) {
			if w.read("d2/x") != "mine\n" || w.read("made/deep/y") != "new\n" || w.read("d0") != "a file now\n" || w.read("closed/x") != "run\n" {
				w.t.Error("it has not landed")
			}
			w.restore(open(w, "/saved"), Undo{})
			is(w, "undone", before, beforeGit)
		}},
	}
}

// After a crash at any moment nothing is lost, and doing it again succeeds.
func TestACrashLosesNothing(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "crash.test")
	build := exec.Command("go", "test", "-c", "-tags", "crashpoints", "-o", bin, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for i, c := range crashed() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c := crashed()[i] // each with variables of its own
			w := newWorld(t)
			act := c.prepare(w)
			kept := t.TempDir()
			w.copyTree(w.root, kept)
			log := filepath.Join(t.TempDir(), "points")
			do := func(at string) error {
				cmd := exec.Command(bin)
				cmd.Env = append(w.environ(), crashAct+"="+strings.Join(act, "\n"), "OC_CRASH_LOG="+log, "OC_CRASH_POINT="+at)
				out, err := cmd.CombinedOutput()
				if err != nil {
					return fmt.Errorf("%w: %s", err, out)
				}
				return nil
			}
			w.must(do(""))
			c.whole(w)
			points := strings.Fields(strings.ReplaceAll(w.read(log), " ", "\x00"))
			if len(points) < 5 {
				t.Fatalf("only %d points: %q", len(points), points)
			}
			t.Logf("%d points", len(points))
			for _, point := range points {
				point = strings.ReplaceAll(point, "\x00", " ")
				w.empty()
				w.copyTree(kept, w.root)
				if err := do(point); err == nil || !strings.Contains(err.Error(), "killed") {
					t.Errorf("at %s: %v", point, err)
				}
				if c.half != nil {
					c.half(w)
				}
				if err := do(""); err != nil {
					t.Errorf("again, after %s: %v", point, err)
				}
				c.whole(w)
				if t.Failed() {
					t.Fatalf("at %s", point)
				}
			}
		})
	}
}

// copyTree copies all of a directory with all that belongs to it.
func (w *world) copyTree(from, to string) {
	w.t.Helper()
	if out, err := exec.Command("cp", "-a", from+"/.", to).CombinedOutput(); err != nil {
		w.t.Fatalf("%v: %s", err, out)
	}
}

// empty removes everything in the world.
func (w *world) empty() {
	w.t.Helper()
	w.must(os.Chmod(w.path("closed"), 0o755))
	names, err := os.ReadDir(w.root)
	w.must(err)
	for _, n := range names {
		w.must(os.RemoveAll(filepath.Join(w.root, n.Name())))
	}
}
