package job

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"opencode-delegate/internal/call"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/lock"
	"opencode-delegate/internal/proc"
)

// runOf is a background job of a caller that runs.
func runOf(t testing.TB, s *Store, caller string) *Job {
	t.Helper()
	o := order()
	o.Request.Caller = caller
	j := supervised(t, s, o)
	at := time.Now().UTC()
	if err := j.Update(func(st *State) { st.State, st.StartedAt = Running, &at }); err != nil {
		t.Fatal(err)
	}
	return j
}

// unheard is what a caller has not been told of; to ask changes nothing.
func unheard(t testing.TB, s *Store, caller string) (ids []string) {
	t.Helper()
	before := snapshot(t, filepath.Join(s.root, newsDir))
	views, err := s.Unheard(context.Background(), caller)
	if err != nil {
		t.Error(err)
	}
	same(t, before, snapshot(t, filepath.Join(s.root, newsDir)))
	for _, v := range views {
		ids = append(ids, v.ID)
	}
	return ids
}

// News of a caller are those of all its sessions, the first to end first, and each is told once, whichever of them asks.
func TestNewsOfLinkedCallers(t *testing.T) {
	for _, sessions := range [][]string{{"a", "b", "c"}, {"c", "b", "a"}, {"b", "c", "a"}} {
		s := open(t)
		becomes(t, s, proc.Self(), sessions...)
		becomes(t, s, gone(1), "x", "y")
		now := time.Now()
		first, second, third, other := runOf(t, s, sessions[1]), runOf(t, s, sessions[0]), runOf(t, s, sessions[2]), runOf(t, s, "x")
		runs := runOf(t, s, sessions[2])
		want := []string{endAt(t, first, now), endAt(t, second, now.Add(time.Second)), endAt(t, third, now.Add(2*time.Second))}
		others := endAt(t, other, now)
		for _, asks := range sessions {
			if got := unheard(t, s, asks); !slices.Equal(got, want) {
				t.Errorf("%v: %s has not heard of %v, want %v", sessions, asks, got, want)
			}
		}
		if got := unheard(t, s, call.Shell); got != nil {
			t.Errorf("the shell has not heard of %v", got)
		}
		if got := news(t, s, sessions[2], 2); !slices.Equal(got, want[:2]) {
			t.Errorf("%v: told %v, want %v", sessions, got, want[:2])
		}
		if got := news(t, again(t, s), sessions[0], 2); !slices.Equal(got, want[2:]) {
			t.Errorf("%v: told %v, want %v", sessions, got, want[2:])
		}
		if got := news(t, s, sessions[1], 9); got != nil {
			t.Errorf("%v: told again: %v", sessions, got)
		}
		last := endAt(t, runs, now.Add(3*time.Second))
		if got := news(t, s, sessions[0], 9); !slices.Equal(got, []string{last}) {
			t.Errorf("%v: told %v, want %v", sessions, got, last)
		}
		if got := news(t, s, "y", 9); !slices.Equal(got, []string{others}) {
			t.Errorf("told the other %v, want %v", got, others)
		}
	}
}

// Who has to wait for another one who tells does not tell the same again.
func TestNewsThatAreBeingTold(t *testing.T) {
	s := open(t)
	becomes(t, s, proc.Self(), "a", "b")
	id := endAt(t, runOf(t, s, "a"), time.Now())
	other := again(t, s)
	later := make(chan []string)
	err := s.News(t.Context(), "a", 9, func(ended []View, _ int) error {
		if len(ended) != 1 || ended[0].ID != id {
			t.Errorf("told %v", ended)
		}
		go func() { later <- news(t, other, "b", 9) }()
		time.Sleep(200 * time.Millisecond) // it has seen the notice, and waits for the lock
		return nil
	})
	if got := <-later; got != nil || err != nil {
		t.Errorf("told again: %v, %v", got, err)
	}
}

// A caller that is linked while jobs of it wait to be told loses none.
func TestNewsSurviveALink(t *testing.T) {
	s := open(t)
	becomes(t, s, proc.Self(), "a")
	id := endAt(t, runOf(t, s, "a"), time.Now())
	if got := unheard(t, s, "a"); !slices.Equal(got, []string{id}) {
		t.Errorf("before: %v", got)
	}
	becomes(t, s, proc.Self(), "b")
	if got := unheard(t, s, "b"); !slices.Equal(got, []string{id}) {
		t.Errorf("after: %v", got)
	}
}

func TestHeard(t *testing.T) {
	s := open(t)
	becomes(t, s, proc.Self(), "a", "b")
	now := time.Now()
	mine, damaged, runs := runOf(t, s, "a"), runOf(t, s, "a"), runOf(t, s, "b")
	ids := []string{endAt(t, mine, now), endAt(t, damaged, now.Add(time.Second))}
	if err := os.WriteFile(filepath.Join(s.dir(ids[1]), "state.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	all := func() []string { got := unheard(t, s, "b"); slices.Sort(got); return got }
	slices.Sort(ids)
	s.Heard("x", ids[0]) // not theirs
	s.Heard(call.Shell, ids[0])
	s.Heard("a", runs.state.ID) // has not ended
	s.Heard("a", "../"+ids[0])
	s.Heard("a", NewID(now))
	lease, err := lock.Try(s.lease(damaged.state.ID)) // what cannot be read may live
	if err != nil {
		t.Fatal(err)
	}
	s.Heard("a", damaged.state.ID)
	lease.Release()
	if got := all(); !slices.Equal(got, ids) {
		t.Errorf("%v, want %v", got, ids)
	}
	s.Heard("b", mine.state.ID) // of which a began it
	s.Heard("b", mine.state.ID)
	if got := all(); !slices.Equal(got, []string{damaged.state.ID}) {
		t.Errorf("%v, want %v", got, damaged.state.ID)
	}
	s.Heard("a", damaged.state.ID)
	last := endAt(t, runs, now)
	if got := all(); !slices.Equal(got, []string{last}) {
		t.Errorf("%v, want %v", got, last)
	}
	// Who asks for everything is told of what was heard too; the others are not, and then it is told.
	for _, heard := range []bool{true, false} {
		j := runOf(t, s, "a")
		ids := []string{last, endAt(t, j, now)}
		s.Heard("a", ids[1])
		tell, want := s.FreshNews, ids[:1]
		if heard {
			tell, want = s.News, []string{last, ids[1], mine.state.ID, damaged.state.ID}
		}
		var got []string
		err := tell(t.Context(), "a", 9, func(ended []View, more int) error {
			for _, v := range ended {
				got = append(got, v.ID)
			}
			return nil
		})
		slices.Sort(got)
		slices.Sort(want)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("told %v (%v), want %v", got, err, want)
		}
		if got := news(t, s, "a", 9); got != nil {
			t.Errorf("told again: %v", got)
		}
		runs = runOf(t, s, "b")
		last = endAt(t, runs, now)
	}
}

// To ask does not forget what News would forget, and a caller of whom there is nothing is no error.
func TestUnheardOfWhatIsNotThere(t *testing.T) {
	s := open(t)
	if got, err := s.Unheard(t.Context(), "a"); got != nil || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	if err := s.announce(State{ID: NewID(time.Now()), Caller: "a"}); err != nil {
		t.Fatal(err)
	}
	if got := unheard(t, s, "a"); got != nil {
		t.Errorf("%v", got)
	}
	if err := os.RemoveAll(filepath.Join(s.root, newsDir)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.root, newsDir), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Unheard(t.Context(), "a"); err == nil {
		t.Errorf("a file in place of the directory: %v", got)
	}
}

func TestLinkedCallersAreComparedAsOne(t *testing.T) {
	s := open(t)
	becomes(t, s, proc.Self(), "a", "b")
	j := runOf(t, s, "a")
	j.keep(func(st *State) { st.Session = "ses_a" })
	id := endAt(t, j, time.Now())
	dir, repo := j.state.Dir, j.state.Repo
	runs := runOf(t, s, "a")
	defer runs.dies()
	for caller, mine := range map[string]bool{"a": true, "b": true, "c": false} {
		v, err := s.NewestOf(t.Context(), caller, repo)
		if mine && (err != nil || v.ID != runs.state.ID) || !mine && kindOf(err) != fault.NotFound {
			t.Errorf("%s: the newest is %q, %v", caller, v.ID, err)
		}
		req := order().Request
		req.Caller, req.Dir = caller, dir
		known, err := s.FindSession(t.Context(), &req, true)
		if mine && (err != nil || !known || req.Session != "ses_a") || !mine && kindOf(err) != fault.NotFound {
			t.Errorf("%s: -c is %q, %v", caller, req.Session, err)
		}
		err = s.MayCancel(look(t, s, runs.state.ID), caller, false, false)
		if mine != (err == nil) {
			t.Errorf("%s: cancel: %v", caller, err)
		}
	}
	if got := unheard(t, s, "b"); !slices.Equal(got, []string{id}) {
		t.Errorf("%v", got)
	}
}
