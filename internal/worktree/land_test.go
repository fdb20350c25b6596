package worktree

import (
	"os"
	"strings"
	"testing"
	"time"

	"opencode-delegate/internal/fault"
)

func (w *world) land(c *Copy, index bool, message string) (Landed, error) {
	w.t.Helper()
	return Land(w.t.Context(), c.Base(), w.result(c), w.dir, w.store(), LandOptions{Options: w.options(), Index: index, Message: message})
}

// worked is a repository with work of the user's in it, staged and not, and a copy with work of a worker's.
func worked(t *testing.T) (*world, *Copy) {
	w := newWorld(t)
	for _, name := range []string{"edited", "gone", "tool", "staged", "dirty", "d/x"} {
		w.write(name, name+"\n")
	}
	w.commit()
	c := w.newCopy(w.copyOptions())
	w.write(c.Tree()+"/edited", "by the worker\n")
	w.write(c.Tree()+"/new", "by the worker\n")
	w.must(os.Remove(c.Tree() + "/gone"))
	w.must(os.Chmod(c.Tree()+"/tool", 0o755))
	w.must(os.RemoveAll(c.Tree() + "/d"))
	w.write(c.Tree()+"/d", "a file now\n")
	w.write("staged", "by the user\n")
	w.git("add", "staged")
	w.write("dirty", "by the user\n")
	w.write("untracked", "by the user\n")
	return w, c
}

const brought = "M\tedited\nD\tgone\nA\tnew\nM\ttool\n"

func TestLandingInTheIndex(t *testing.T) {
	w, c := worked(t)
	head := w.head()
	done, err := w.land(c, true, "")
	w.must(err)
	if got := w.git("status", "--porcelain"); got != "A  d\nD  d/x\n M dirty\nM  edited\nD  gone\nA  new\nM  staged\nM  tool\n?? untracked\n" || done.Commit != "" || w.head() != head {
		t.Errorf("%+v\n%s", done, got)
	}
	later := time.Now().Add(time.Minute)
	w.must(os.Chtimes(w.path("edited"), later, later)) // staged, and not changed by that
	if _, err := w.land(c, true, ""); err != nil || w.git("diff", "--name-only") != "dirty\n" {
		t.Errorf("again: %v", err)
	}
}

func TestLandingAsACommit(t *testing.T) {
	w, c := worked(t)
	head := w.head()
	w.hook("commit-msg", "echo '\nby a hook' >>\"$1\"")
	done, err := w.land(c, false, "what was brought")
	w.must(err)
	if done.Commit != w.head() || strings.TrimSpace(w.git("rev-parse", "HEAD~1")) != head {
		t.Errorf("%+v", done)
	}
	if got := w.git("show", "--no-renames", "--format=%B", "--name-status"); got != "what was brought\n\nby a hook\n\n\nA\td\nD\td/x\n"+brought {
		t.Errorf("the commit: %q", got)
	}
	if got := w.git("status", "--porcelain"); got != " M dirty\nM  staged\n?? untracked\n" {
		t.Errorf("what is left: %q", got)
	}
	if again, err := w.land(c, false, "again"); err != nil || again.Commit != "" || w.head() != done.Commit {
		t.Errorf("again: %+v %v", again, err)
	}
}

func TestLandingThatCannotBeACommit(t *testing.T) {
	w, c := worked(t)
	w.write("edited", "by the user\n")
	before, index := look(t, w.dir, false), w.read(".git/index")
	if _, err := w.land(c, false, "m"); fault.Of(err).Kind != fault.Usage || !strings.Contains(err.Error(), "uncommitted work in edited would be part") {
		t.Errorf("%v", err)
	}
	if got := look(t, w.dir, false); got != before || w.read(".git/index") != index {
		t.Errorf("%s", differs(before, got))
	}
	w.git("add", "edited")
	if _, err := w.land(c, false, "m"); fault.Of(err).Kind != fault.Usage {
		t.Errorf("staged: %v", err)
	}
	w.git("commit", "-q", "-m", "of the user", "edited")
	head := w.head()
	done, err := w.land(c, false, "m")
	w.must(err)
	if len(done.Conflicts) != 1 || done.Commit != "" || w.head() != head {
		t.Errorf("with a conflict: %+v", done)
	}
	if got := w.git("status", "--porcelain", "edited", "new"); got != " M edited\n?? new\n" {
		t.Errorf("with a conflict: %q", got)
	}

	w, c = worked(t)
	head = w.head()
	w.hook("pre-commit", "echo not today >&2; exit 1")
	done, err = w.land(c, false, "m")
	if err == nil || !strings.Contains(err.Error(), "not today") || w.head() != head || done.Commit != "" || w.read("new") != "by the worker\n" {
		t.Errorf("a hook: %+v %v", done, err)
	}
	if got := w.git("diff", "--cached", "--name-only"); got != "staged\n" {
		t.Errorf("a hook: the index has %q", got)
	}
	w, c = worked(t)
	w.hook("pre-commit", "exit 3")
	if _, err = w.land(c, false, "m"); err == nil || !strings.Contains(err.Error(), "said nothing") {
		t.Errorf("a hook without a word: %v", err)
	}
}

// What is staged and stands nowhere else is not replaced: neither in the file nor in HEAD anybody would find it again.
func TestLandingLeavesWhatOnlyTheIndexHas(t *testing.T) {
	w, c := worked(t)
	w.write("edited", "staged\n")
	w.git("add", "edited")
	w.write("edited", "edited\nand more\n")
	before, index := look(t, w.dir, false), w.read(".git/index")
	if _, err := w.land(c, true, ""); fault.Of(err).Kind != fault.Usage || !strings.Contains(err.Error(), "what is staged of edited is neither in HEAD nor in the file") {
		t.Errorf("%v", err)
	}
	if got := look(t, w.dir, false); got != before || w.read(".git/index") != index {
		t.Errorf("%s", differs(before, got))
	}
	done, err := w.land(c, false, "")
	w.must(err)
	if len(done.Conflicts) != 1 || w.git("show", ":edited") != "staged\n" {
		t.Errorf("%+v, and staged is %q", done, w.git("show", ":edited"))
	}
}
