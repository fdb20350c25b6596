package worktree

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"opencode-delegate/internal/fault"
)

// gitLook describes all of a repository that a user sees of its history.
func (w *world) gitLook() string {
	w.t.Helper()
	head := w.read(".git/HEAD")
	refs := w.git("for-each-ref", "--format=%(refname) %(objectname)")
	stash, _ := w.tryGit(w.dir, "stash", "list")
	state, _ := os.ReadFile(w.path(".git/MERGE_HEAD"))
	return head + refs + stash + string(state) + w.git("ls-files", "-s") + w.git("status", "--porcelain") + w.git("log", "--oneline", "--all")
}

// Who hides a change from git is found, also by a later look; what was hidden before, as by a sparse checkout, is the user's, and so are files that came since.
func TestHiddenFilesAreSaid(t *testing.T) {
	for name, hide := range map[string][]string{"assume": {"update-index", "--assume-unchanged", "a"}, "skip": {"update-index", "--skip-worktree", "a"}, "sparse": {"sparse-checkout", "set", "--no-cone", "b"}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			for _, f := range []string{"a", "b", "mine"} {
				w.write(f, f+"\n")
			}
			w.commit()
			w.git("update-index", "--skip-worktree", "mine")
			s := w.take()
			w.write("a", "changed\n")
			if name == "sparse" {
				w.git("checkout", "-q", "a")
			}
			w.git(hide...)
			w.end(s)
			told := ""
			for _, r := range w.historyOf(s) {
				if told += r.What; r.Kind == Hidden && (!r.Kind.Violation() || strings.Join(r.Paths, " ") != "a" && name != "sparse") {
					t.Errorf("%+v", r)
				}
			}
			if !strings.Contains(told, "overlook 1 tracked file: a") {
				t.Errorf("%q", told)
			}
			w.restore(s, Undo{History: true})
			if got := w.git("-c", "core.sparseCheckout=false", "ls-files", "-v"); got != "H a\nH b\nS mine\n" {
				t.Errorf("after undo %s", got)
			}
		})
	}
}

func (w *world) historyOf(s *Snapshot) []Rewrite {
	w.t.Helper()
	told, err := s.History(w.t.Context(), HistoryOptions{Environ: w.environ()})
	w.must(err)
	return told
}

func kindsOf(told []Rewrite) []string {
	var kinds []string
	for _, r := range told {
		kinds = append(kinds, string(r.Kind)+" "+r.Ref)
	}
	return kinds
}

// grown is a repository with a history, a second branch, a tag, a stash, uncommitted work and untracked files.
func grown(t *testing.T) *world {
	w := newWorld(t)
	for i := range 3 {
		w.write("a", fmt.Sprintf("%d\n", i))
		w.write(fmt.Sprintf("f%d", i), "x\n")
		w.commit()
	}
	w.git("branch", "other", "HEAD~1")
	w.git("tag", "-a", "-m", "x", "v1", "HEAD~2")
	w.write("a", "stashed\n")
	w.git("stash", "-q")
	w.git("pack-refs", "--all")
	w.write(".gitignore", "out/\n.env\n")
	w.git("add", ".gitignore")
	w.git("commit", "-q", "-m", "ignore")
	w.write("a", "uncommitted\n")
	w.write("f0", "staged\n")
	w.git("add", "f0")
	w.write("new1", "untracked\n")
	w.write("d/new2", "untracked too\n")
	w.write(".env", "SECRET=1\n")
	w.write("out/x", "built\n")
	return w
}

// emptyTree is one that git knows without having it; fsck misses it.
const emptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

var rewrites = []struct {
	name string
	run  func(w *world)
	want []string // kinds and refs
	says string   // part of the first sentence
}{
	{"nothing", func(w *world) { w.write("f1", "edited\n"); w.git("add", "f1") }, nil, ""},
	{"commits on top", func(w *world) {
		w.git("commit", "-q", "-am", "one")
		w.git("commit", "-q", "--allow-empty", "-m", "two")
	}, []string{"committed refs/heads/main"}, "2 commits were made on branch main"},
	{"reset --hard to an older commit", func(w *world) { w.git("reset", "-q", "--hard", "HEAD~2") }, []string{"reset refs/heads/main", "discarded "}, "moved back by 2 commits"},
	{"reset --hard of a changed file", func(w *world) { w.git("reset", "-q", "--hard", "HEAD~3") }, []string{"reset refs/heads/main", "discarded "}, "uncommitted changes of 2 tracked files are gone, they are as committed: a, f0"},
	{"reset --soft", func(w *world) { w.git("reset", "-q", "--soft", "HEAD~1") }, []string{"reset refs/heads/main"}, "nothing leads to 1 commit any more"},
	{"reset --hard in place", func(w *world) { w.git("reset", "-q", "--hard") }, []string{"discarded "}, "uncommitted changes of 2 tracked files are gone, they are as committed: a, f0"},
	{"checkout of one file", func(w *world) { w.git("checkout", "-q", "--", "a") }, []string{"discarded "}, "1 tracked file are gone, it is as committed: a"},
	{"amend", func(w *world) { w.git("commit", "-q", "--amend", "-m", "other") }, []string{"rewritten refs/heads/main"}, "branch main was rewritten: 1 commit was replaced by 1"},
	{"rebase", func(w *world) {
		w.git("stash", "-q", "-u")
		w.git("rebase", "-q", "--root", "-x", "git commit -q --amend --no-edit --date=2001-01-01T00:00:00Z") // the same second makes the same commits otherwise
		w.git("stash", "pop", "-q", "--index")
	}, []string{"rewritten refs/heads/main"}, "replaced by 4"},
	{"branch deleted", func(w *world) { w.git("branch", "-q", "-D", "other") }, []string{"deleted refs/heads/other"}, "its commits are still reachable"},
	{"tag moved and one deleted", func(w *world) { w.git("tag", "-f", "v1"); w.git("tag", "v2") }, []string{"rewritten refs/tags/v1", "created refs/tags/v2"}, "leads to"},
	{"stash", func(w *world) { w.git("stash", "-q") }, []string{"stashed refs/stash", "discarded "}, "1 stash was made and left"},
	{"stash and pop", func(w *world) { w.git("stash", "-q"); w.git("stash", "pop", "-q", "--index") }, nil, ""},
	{"stash dropped", func(w *world) { w.git("stash", "drop", "-q") }, []string{"unstashed refs/stash"}, "1 stash was dropped or applied"},
	{"clean", func(w *world) { w.git("clean", "-qfd") }, []string{"cleaned "}, "2 untracked files of 2 are gone: d/new2, new1"},
	{"one untracked file removed", func(w *world) { w.must(os.Remove(w.path("new1"))) }, []string{"removed "}, "1 untracked file of 2"},
	{"untracked files moved and committed", func(w *world) {
		w.must(os.Rename(w.path("new1"), w.path("moved")))
		w.git("add", "moved", "d")
		w.git("commit", "-qm", "x")
	}, []string{"committed refs/heads/main"}, ""},
	{"another branch, with a commit", func(w *world) { w.git("checkout", "-q", "-b", "feature"); w.git("commit", "-q", "-am", "x") }, []string{"created refs/heads/feature", "switched HEAD"}, "branch feature was made"},
	{"detached", func(w *world) { w.git("checkout", "-q", "--detach") }, []string{"switched HEAD"}, "no longer at branch main"},
	{"merge left unfinished", func(w *world) {
		w.git("commit", "-qam", "x")
		w.git("checkout", "-q", "-b", "side", "HEAD~1")
		w.write("a", "side\n")
		w.git("commit", "-qam", "side")
		w.tryGit(w.dir, "merge", "main")
	},
		[]string{"committed refs/heads/main", "created refs/heads/side", "switched HEAD", "unfinished "}, ""},
	{"a replacement", func(w *world) { w.git("replace", "HEAD", "HEAD~1") }, []string{"rewritten refs/replace/"}, "replacement"},
	{"a history of its own", func(w *world) {
		w.git("update-ref", "refs/heads/main", strings.TrimSpace(w.git("commit-tree", "-m", "x", "HEAD^{tree}")))
	}, []string{"rewritten refs/heads/main"}, "4 commits were replaced by 1"},
	{"the repository removed", func(w *world) { w.must(os.RemoveAll(w.path(".git"))) }, []string{"broken "}, "cannot be read any more"},
	{"HEAD broken", func(w *world) { w.write(".git/HEAD", "rubbish\n") }, []string{"broken "}, "HEAD is not as git writes it"},
	{"lost objects", func(w *world) {
		w.git("reset", "-q", "--hard", "HEAD~2")
		w.git("branch", "-q", "-D", "other")
		w.git("stash", "clear")
		w.git("reflog", "expire", "--expire=now", "--all")
		w.git("gc", "-q", "--prune=now")
	}, []string{"deleted refs/heads/other", "reset refs/heads/main", "unstashed refs/stash", "discarded "}, "nothing leads to"},
}

// What a run did to the history is named, and an undo that is asked for it gives everything back, a gc or not.
func TestHistoryIsNamedAndUndone(t *testing.T) {
	for _, r := range rewrites {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			w := grown(t)
			before, tree := w.gitLook(), look(t, w.dir, false)
			s := w.take()
			r.run(w)
			w.end(s)
			told := w.historyOf(s)
			got := kindsOf(told)
			for i := range got {
				if strings.HasPrefix(got[i], "rewritten refs/replace/") {
					got[i] = "rewritten refs/replace/"
				}
			}
			slices.Sort(got)
			want := slices.Sorted(slices.Values(r.want))
			if !slices.Equal(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
			if len(told) > 0 && !strings.Contains(fmt.Sprint(told), r.says) {
				t.Errorf("%q does not hold %q", told, r.says)
			}
			if len(told) > 0 && told[0].Kind == Broken {
				if _, err := s.Restore(t.Context(), Undo{History: true}); fault.Of(err).Kind != fault.Conflict {
					t.Errorf("%v", err)
				}
				return
			}
			after, afterTree := w.gitLook(), look(t, w.dir, false)
			save := w.store()
			w.restore(s, Undo{History: true, Save: save})
			if got := w.gitLook(); got != before {
				t.Errorf("the repository is not as it was:\n%s", differs(before, got))
			}
			if got := look(t, w.dir, false); got != tree {
				t.Errorf("the tree is not as it was:\n%s", differs(tree, got))
			}
			if out, err := w.tryGit(w.dir, "fsck", "--connectivity-only"); err != nil && strings.Count(out, "missing") != strings.Count(out, "missing tree "+emptyTree) {
				t.Errorf("fsck: %v: %s", err, out)
			}
			saved, err := Open(save)
			w.must(err)
			w.restore(saved, Undo{History: true})
			if got := w.gitLook(); got != after {
				t.Errorf("the undo was not undone:\n%s", differs(after, got))
			}
			if got := look(t, w.dir, false); got != afterTree {
				t.Errorf("%s", differs(afterTree, got))
			}
		})
	}
}

// A directory that is a part of a repository, and one that is a linked worktree, have their history too.
func TestHistoryFromElsewhere(t *testing.T) {
	w := grown(t)
	w.git("worktree", "add", "-q", "-b", "linked", w.root+"/linked")
	w.write(w.root+"/linked/sub/x", "1\n")
	w.gitIn(w.root+"/linked", "add", "-A")
	w.gitIn(w.root+"/linked", "commit", "-q", "-m", "sub")
	w.write(w.root+"/linked/sub/x", "dirty\n")
	main := w.gitLook()
	w.dir = w.root + "/linked/sub"
	s := w.take()
	w.git("checkout", "-q", "--", "x")
	w.git("reset", "-q", "--soft", "HEAD~1")
	w.end(s)
	if got := kindsOf(w.historyOf(s)); !slices.Equal(got, []string{"reset refs/heads/linked", "discarded "}) {
		t.Errorf("%q", got)
	}
	w.restore(s, Undo{History: true})
	if w.read("x") != "dirty\n" || w.git("log", "-1", "--format=%s") != "sub\n" || w.git("status", "--porcelain") != " M sub/x\n" {
		t.Errorf("%q %q", w.git("log", "-1", "--format=%s"), w.git("status", "--porcelain"))
	}
	w.dir = w.root + "/a work"
	if got := w.gitLook(); got != main {
		t.Errorf("the main work tree:\n%s", differs(main, got))
	}
	w.dir = filepath.Join(w.root, "plain")
	w.write("x", "1")
	if s = w.take(); w.historyOf(s) != nil {
		t.Error("a directory without a repository has a history")
	}
	w.git("init", "-q")
	w.end(s)
	if got := kindsOf(w.historyOf(s)); !slices.Equal(got, []string{"created "}) {
		t.Errorf("%q", got)
	}
}
