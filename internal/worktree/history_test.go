package worktree

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func (w *world) history(c *Copy) History {
	w.t.Helper()
	began := time.Now()
	h, err := c.Commits(w.t.Context())
	w.must(err)
	if took := time.Since(began); took > 20*time.Second {
		w.t.Errorf("it took %s", took)
	}
	return h
}

func (h History) subjects() string {
	var all []string
	for _, c := range h.Commits {
		all = append(all, c.Subject)
	}
	return strings.Join(all, ", ")
}

// based is a repository with two commits and a copy of it.
func based(t *testing.T) (*world, *Copy) {
	w := newWorld(t)
	w.write("a", "one\n")
	w.commit()
	w.write("a", "two\n")
	w.write("d/b", "b\n")
	w.commit()
	return w, w.newCopy(w.copyOptions())
}

// in does something in the copy as the worker would.
func (w *world) in(c *Copy, file, text string, git ...[]string) {
	w.t.Helper()
	if file != "" {
		w.write(filepath.Join(c.Tree(), file), text)
	}
	for _, args := range git {
		w.gitIn(c.Tree(), args...)
	}
}

func commitAs(message string) [][]string {
	return [][]string{{"add", "-A"}, {"-c", "user.name=The Worker", "-c", "user.email=w@example.org", "commit", "-q", "--allow-empty", "-m", message, "--date=2020-01-02T03:04:05Z"}}
}

func TestCommitsAreListedAndBundled(t *testing.T) {
	for _, packed := range []bool{false, true} {
		w, c := based(t)
		if h := w.history(c); h.Head != c.BaseCommit() || h.All != 0 || h.Rewritten || h.Lost != "" || h.Branch != "refs/heads/"+c.Branch() || len(h.Elsewhere) > 0 {
			t.Errorf("without a commit: %+v", h)
		}
		var out bytes.Buffer
		if some, err := c.Bundle(t.Context(), &out, 1<<20); some || err != nil || out.Len() > 0 {
			t.Errorf("without a commit: %v %v", some, err)
		}
		w.in(c, "a", "three\n", commitAs("first of the worker\n\nwith a body")...)
		w.in(c, "", "", []string{"checkout", "-q", "-b", "side", c.BaseCommit()})
		w.in(c, "bin", "\x00\x01", commitAs("on a side \x1b[31m")...)
		w.in(c, "", "", []string{"checkout", "-q", c.Branch()}, []string{"merge", "-q", "--no-edit", "side"})
		if packed {
			w.in(c, "", "", []string{"gc", "-q", "--prune=now"})
		}
		h := w.history(c)
		if h.All != 3 || h.Rewritten || h.Lost != "" || h.Head != strings.TrimSpace(w.gitIn(c.Tree(), "rev-parse", "HEAD")) || strings.Join(h.Elsewhere, " ") != "refs/heads/side" {
			t.Errorf("%+v", h)
		}
		if got := h.subjects(); got != "first of the worker, on a side, Merge branch 'side' into "+c.Branch() && got != "on a side, first of the worker, Merge branch 'side' into "+c.Branch() {
			t.Errorf("subjects: %q", got)
		}
		for i, one := range h.Commits {
			if merge := i == 2; one.SeveralParents != merge || !merge && (one.Author != "The Worker" || one.Email != "w@example.org" || !one.Time.Equal(time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC))) {
				t.Errorf("%+v", one)
			}
		}
		some, err := c.Bundle(t.Context(), &out, 1<<20)
		w.must(err)
		w.write(w.root+"/b", out.String())
		w.must(c.Discard(t.Context()))
		w.git("bundle", "verify", "-q", w.root+"/b")
		w.git("pull", "-q", "--ff-only", w.root+"/b", c.Branch())
		if !some || strings.TrimSpace(w.git("rev-parse", "HEAD")) != h.Head || w.read("a") != "three\n" || w.read("bin") != "\x00\x01" {
			t.Error("the bundle does not hold the commits")
		}
		if _, err := w.newCopy(w.copyOptions()).Bundle(t.Context(), &out, 10); err != nil {
			t.Errorf("nothing, bounded: %v", err)
		}
	}
}

// However history was rewritten: it is said, and the patch is the one against the base.
func TestRewrittenHistoryIsSaid(t *testing.T) {
	for name, c := range map[string]struct {
		git      [][]string
		file     string
		then     [][]string
		subjects string
		lost     string
	}{
		"reset":           {git: [][]string{{"reset", "-q", "--hard", "HEAD~1"}}},
		"reset, commit":   {git: [][]string{{"reset", "-q", "--hard", "HEAD~1"}}, file: "new", then: commitAs("x"), subjects: "x"},
		"amend":           {file: "new", git: nil, then: [][]string{{"add", "-A"}, {"commit", "-q", "--amend", "-m", "amended"}}, subjects: "amended"},
		"orphan":          {git: [][]string{{"checkout", "-q", "--orphan", "other"}}, file: "new", then: commitAs("alone"), subjects: "alone"},
		"unborn":          {git: [][]string{{"checkout", "-q", "--orphan", "other"}}, lost: "the branch refs/heads/other of the copy has no commit"},
		"detached":        {git: [][]string{{"checkout", "-q", "HEAD~1"}}, file: "d/new", then: commitAs("y"), subjects: "y"},
		"replaced":        {git: [][]string{{"replace", "--graft", "HEAD"}, {"reset", "-q", "--hard", "HEAD"}}, file: "new", then: commitAs("z"), subjects: "z"},
		"a shallow point": {git: [][]string{{"commit", "-q", "--allow-empty", "-m", "s"}}, file: ".git/shallow", subjects: "s"},
	} {
		t.Run(name, func(t *testing.T) {
			w, cp := based(t)
			w.in(cp, "", "", c.git...)
			if c.file == ".git/shallow" {
				w.write(cp.Tree()+"/.git/shallow", w.gitIn(cp.Tree(), "rev-parse", "HEAD"))
			} else if c.file != "" {
				w.in(cp, c.file, "new\n")
			}
			w.in(cp, "", "", c.then...)
			want := patchLook(t, cp.Tree())
			h := w.history(cp)
			if rewritten := name != "replaced" && name != "a shallow point"; h.Rewritten != rewritten || h.subjects() != c.subjects || h.Lost != c.lost {
				t.Errorf("%+v", h)
			}
			after, err := cp.Result(t.Context(), w.store(), w.environ())
			w.must(err)
			if patch := w.patch(cp.Base(), after); patch != "" {
				w.write(w.root+"/p", patch)
				w.git("apply", w.root+"/p")
			}
			if got := patchLook(t, w.dir); got != want {
				t.Errorf("%s", differs(want, got))
			}
		})
	}
}
