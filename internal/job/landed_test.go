package job

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/record"
	"opencode-delegate/internal/worktree"
)

func TestApplyLandsOnceAndIsUndone(t *testing.T) {
	s := newSite(t)
	id := s.isolated(fault.OK, "pass", edit)
	s.write("a.txt", lines(map[int]string{27: "mine"})) // not committed
	s.write("mine", "mine\n")
	before, index := s.tree(), s.read(".git/index")
	l, again, err := s.Apply(t.Context(), id, s.call())
	if err != nil || again || !slices.Equal(l.Files, []string{"a.txt", "new"}) || len(l.Conflicts) > 0 || l.Dir != s.dir {
		t.Fatalf("%+v %v %v", l, again, err)
	}
	if s.read("a.txt") != lines(map[int]string{2: "theirs", 27: "mine"}) || s.read("new") != "new\n" {
		t.Error(s.tree())
	}
	if fi, err := os.Stat(filepath.Join(s.dir, "new")); err != nil || fi.Mode().Perm()&0o100 == 0 {
		t.Error(fi, err)
	}
	if s.read(".git/index") != index {
		t.Error("the index was touched")
	}
	s.fateIs(id, Applied)
	landed := s.tree()
	if l, again, err := s.Apply(t.Context(), id, s.call()); err != nil || !again || l.Changed != 2 || s.tree() != landed {
		t.Errorf("a second time: %+v %v %v", l, again, err)
	}

	u, again, err := s.Undo(t.Context(), id, s.call())
	if err != nil || again || u.Changed != 2 || s.tree() != before {
		t.Fatalf("%+v %v %v\n%s", u, again, err, s.tree())
	}
	s.fateIs(id, Undone)
	if _, again, err := s.Undo(t.Context(), id, s.call()); err != nil || !again || s.tree() != before {
		t.Errorf("undone a second time: %v %v", again, err)
	}
	if _, again, err := s.Apply(t.Context(), id, s.call()); err != nil || again || s.tree() != landed {
		t.Errorf("applied after an undo: %v %v", again, err)
	}
	if _, _, err := s.Undo(t.Context(), id, s.call()); err != nil || s.tree() != before {
		t.Errorf("undone once more: %v\n%s", err, s.tree())
	}
}

func TestApplyNamesConflicts(t *testing.T) {
	s := newSite(t)
	id := s.isolated(fault.OK, "none", func(tree string) {
		edit(tree)
		os.Remove(filepath.Join(tree, "sub/b.txt"))
	})
	s.write("a.txt", lines(map[int]string{2: "mine"}))
	s.write("sub/b.txt", "mine\n")
	s.git("commit", "-q", "-a", "-m", "mine")
	l, _, err := s.Apply(t.Context(), id, s.call())
	want := []Clash{{"a.txt", "changed on both sides in the same place", true}, {"sub/b.txt", "changed here, deleted there", false}}
	if err != nil || !slices.Equal(l.Conflicts, want) || !strings.Contains(s.read("a.txt"), "<<<<<<<") || s.read("sub/b.txt") != "mine\n" || s.read("new") != "new\n" {
		t.Fatalf("%+v %v\n%s", l, err, s.tree())
	}
	s.fateIs(id, Conflict)
	if r := s.gc(false); len(r.Gone) != 0 || len(r.Stays) != 1 { // a file that was left is nowhere else
		t.Errorf("%+v", r)
	}
}

// Only a verdict that speaks for the work lets it land unasked; and a job that was to be checked and was not has none.
func TestOnlyApprovedWorkLands(t *testing.T) {
	for _, c := range []struct {
		name    string
		status  fault.Kind
		verdict string
		asked   bool
		refused fault.Kind
	}{
		{"passed", fault.OK, "pass", true, ""},
		{"unchecked", fault.OK, "none", false, ""},
		{"timed out, and nobody asked for a check", fault.Timeout, "none", false, ""},
		{"failed", fault.VerifyFailed, "fail", true, fault.VerifyFailed},
		{"could not run", fault.VerifyFailed, "could_not_run", true, fault.VerifyFailed},
		{"cut off before its check", fault.Cancelled, "none", true, fault.VerifyFailed},
		{"a rule was broken", fault.WriteViolation, "pass", true, fault.WriteViolation},
		{"a verdict that nobody knows", fault.OK, "splendid", true, fault.VerifyFailed},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t)
			j := s.begun(true, func(o *Order) {
				if c.asked {
					o.Request.Verify = []string{"make test"}
				}
			})
			from := s.try(j, 1, edit)
			id := s.end(j, c.status, c.verdict, from.Tree())
			before := s.tree()
			_, _, err := s.Apply(t.Context(), id, s.call())
			if c.refused == "" {
				if err != nil || s.read("new") != "new\n" {
					t.Errorf("%v\n%s", err, s.tree())
				}
				return
			}
			if kindOf(err) != c.refused || s.tree() != before {
				t.Errorf("%v\n%s", err, s.tree())
			}
			s.fateIs(id, Unlanded)
			force := s.call()
			force.Force = true
			if _, _, err := s.Apply(t.Context(), id, force); err != nil || s.read("new") != "new\n" {
				t.Errorf("by force: %v\n%s", err, s.tree())
			}
		})
	}
}

func TestApplyWithoutTheRepository(t *testing.T) {
	s := newSite(t)
	id := s.isolated(fault.OK, "pass", edit)
	s.must(os.Rename(s.dir, s.dir+" moved"))
	if _, _, err := s.Apply(t.Context(), id, s.call()); kindOf(err) != fault.NotFound || !strings.Contains(err.Error(), "not there any more") {
		t.Errorf("%v", err)
	}
	s.must(os.MkdirAll(filepath.Join(s.dir, ".git"), 0o755)) // another one took its place
	if _, _, err := s.Apply(t.Context(), id, s.call()); kindOf(err) != fault.NotFound || !strings.Contains(err.Error(), "another repository") {
		t.Errorf("%v", err)
	}
	s.fateIs(id, Unlanded)
	if p := s.patch(id); !strings.Contains(p, "+theirs") {
		t.Errorf("its patch: %q", p)
	}
}

func TestDiscardKeepsTheRecord(t *testing.T) {
	s := newSite(t)
	id := s.isolated(fault.OK, "fail", edit)
	if s.refs() != "refs/opencode-delegate/"+id {
		t.Fatal(s.refs())
	}
	w, again, err := s.Discard(t.Context(), id, s.call())
	if err != nil || again || len(w.Tries) != 1 || exists(w.place(1)) || exists(w.rec.File(record.Copies)) {
		t.Fatalf("%+v %v %v", w, again, err)
	}
	if s.refs() != "" {
		t.Errorf("left: %s", s.refs())
	}
	s.fateIs(id, Discarded)
	if p := s.patch(id); !strings.Contains(p, "+theirs") {
		t.Errorf("its patch: %q", p)
	}
	if _, again, err := s.Discard(t.Context(), id, s.call()); err != nil || !again {
		t.Errorf("a second time: %v %v", again, err)
	}
	if _, _, err := s.Apply(t.Context(), id, s.call()); kindOf(err) != fault.NotFound || !strings.Contains(err.Error(), "was discarded") {
		t.Errorf("%v", err)
	}
	if _, err := s.Result(look(t, s.Store, id)); err != nil {
		t.Error(err)
	}
}

func TestUndoOfARunInPlace(t *testing.T) {
	s := newSite(t)
	before := s.tree()
	id := s.inPlace(edit)
	s.fateIs(id, InPlace)
	if _, _, err := s.Apply(t.Context(), id, s.call()); kindOf(err) != fault.Usage || !strings.Contains(err.Error(), "wrote in place") {
		t.Errorf("%v", err)
	}
	if _, _, err := s.Discard(t.Context(), id, s.call()); kindOf(err) != fault.Usage {
		t.Errorf("%v", err)
	}
	s.write("new", "changed since\n")
	s.write("later", "later\n")
	now := s.tree()
	_, _, err := s.Undo(t.Context(), id, s.call())
	if kindOf(err) != fault.Conflict || !strings.Contains(err.Error(), "new") || s.tree() != now {
		t.Fatalf("%v\n%s", err, s.tree())
	}
	s.fateIs(id, InPlace)
	force := s.call()
	force.Force = true
	u, _, err := s.Undo(t.Context(), id, force)
	s.must(err)
	if got := strings.Replace(s.tree(), "/later \"later\\n\" <nil>\n", "", 1); got != before || s.read("later") != "later\n" {
		t.Errorf("%s\nwant\n%s", got, before)
	}
	saved, err := worktree.Open(u.Saved)
	s.must(err)
	if _, err := saved.Restore(t.Context(), worktree.Undo{}); err != nil || s.tree() != now {
		t.Errorf("what was saved: %v\n%s", err, s.tree())
	}
	s.fateIs(id, Undone)
	if u, again, err := s.Undo(t.Context(), id, force); err != nil || !again || u.Saved == "" {
		t.Errorf("%+v %v %v", u, again, err)
	}
	if r := s.gc(false); len(r.Gone) != 1 || r.Gone[0].Work != Undone {
		t.Errorf("%+v", r)
	}
}

func TestThereIsNothingToUndo(t *testing.T) {
	s := newSite(t)
	id := s.isolated(fault.OK, "pass", edit)
	if _, _, err := s.Undo(t.Context(), id, s.call()); kindOf(err) != fault.NotFound || !strings.Contains(err.Error(), "has not landed") {
		t.Errorf("%v", err)
	}
}

// A landed.json that is not as we write it lets nothing land, and its record stays.
func TestDamagedLanded(t *testing.T) {
	s := newSite(t)
	id := s.isolated(fault.OK, "pass", edit)
	for _, text := range []string{"", "{", `{"schema":9,"what":"applied"}`, `{"schema":1,"what":"eaten","done":true}`} {
		s.write(s.Record(id).File(record.Landed), text)
		before := s.tree()
		_, _, err := s.Apply(t.Context(), id, s.call())
		if kindOf(err) != fault.JobLost || s.tree() != before {
			t.Errorf("%q: %v", text, err)
		}
		s.fateIs(id, Unlanded)
		if r := s.gc(false); len(r.Gone) > 0 {
			t.Errorf("%q: %+v", text, r.Gone)
		}
	}
}

func TestGcKeepsWorkThatIsNowhereElse(t *testing.T) {
	s := newSite(t)
	unlanded, lost := s.isolated(fault.Timeout, "none", edit), s.lost(edit)
	applied, discarded, undone := s.isolated(fault.OK, "pass", edit), s.isolated(fault.OK, "pass", edit), s.isolated(fault.OK, "pass", edit)
	look(t, s.Store, lost)
	for _, id := range []string{applied, undone} {
		_, _, err := s.Apply(t.Context(), id, s.call())
		s.must(err)
	}
	_, _, err := s.Undo(t.Context(), undone, s.call())
	s.must(err)
	_, _, err = s.Discard(t.Context(), discarded, s.call())
	s.must(err)
	foreign := "refs/opencode-delegate/20260101-000000-000000" // of another state directory
	s.git("update-ref", foreign, "HEAD")

	r := s.gc(false)
	slices.Sort(r.ids())
	if got := r.ids(); len(got) != 2 || !slices.Contains(got, applied) || !slices.Contains(got, discarded) || len(r.Stays) != 3 {
		t.Fatalf("gone %v, stay %+v", got, r.Stays)
	}
	for _, stay := range r.Stays {
		if !strings.Contains(stay.Why, "has not landed") {
			t.Errorf("%+v", stay)
		}
	}
	if strings.Contains(s.refs(), applied) || !strings.Contains(s.refs(), unlanded) || !strings.Contains(s.refs(), lost) || !strings.Contains(s.refs(), undone) {
		t.Errorf("refs: %s", s.refs())
	}
	if p := s.patch(unlanded); !strings.Contains(p, "+theirs") {
		t.Error(p)
	}
	r = s.gc(true)
	if len(r.Gone) != 3 || s.refs() != foreign {
		t.Errorf("gone %v, refs %s", r.ids(), s.refs())
	}
	if left, _ := os.ReadDir(filepath.Join(s.root, refsDir)); len(left) > 0 {
		t.Errorf("notes: %v", left)
	}
}

// A ref whose record went without it, by hand or since gc was killed, is found by its note.
func TestRefsOfRecordsThatHaveGone(t *testing.T) {
	s := newSite(t)
	id, stays := s.isolated(fault.OK, "pass", edit), s.isolated(fault.OK, "pass", edit)
	s.must(removeTree(s.Record(id).Path()))
	later := time.Now().Add(time.Hour)
	v, err := s.Survey(t.Context(), later)
	if err != nil || len(v.Refs) != 1 || v.Refs[0].ID != id || v.Refs[0].Repo != filepath.Join(s.dir, ".git") {
		t.Fatalf("%+v %v", v.Refs, err)
	}
	if v, err := s.Survey(t.Context(), time.Now()); err != nil || len(v.Refs) != 0 { // it may be on its way
		t.Errorf("%+v %v", v.Refs, err)
	}
	zero := time.Duration(0)
	r, err := s.Remove(t.Context(), Limits{Older: &zero}, later, true)
	if err != nil || r.Refs != 1 || !strings.Contains(s.refs(), id) {
		t.Errorf("a dry run: %+v %v", r, err)
	}
	if n := s.ReleaseRefs(t.Context(), v.Refs); n != 1 || s.refs() != "refs/opencode-delegate/"+stays {
		t.Errorf("%d, left %s", n, s.refs())
	}
	s.must(os.RemoveAll(s.dir)) // a repository that is gone has none
	s.must(removeTree(s.Record(stays).Path()))
	if r, err := s.Remove(t.Context(), Limits{Older: &zero}, later, false); err != nil || r.Refs != 1 || exists(s.note(stays)) {
		t.Errorf("%+v %v", r, err)
	}
}
