package job

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"opencode-delegate/internal/fault"
)

func TestFind(t *testing.T) {
	s := open(t)
	at := time.Date(2026, 11, 29, 19, 30, 15, 0, time.UTC)
	named := func(name string, at time.Time) string {
		o := foreground()
		o.Name = name
		j := madeAt(t, s, o, at)
		if err := j.finish(ended(j, fault.RunFailed)); err != nil {
			t.Fatal(err)
		}
		return j.state.ID
	}
	a := named("alpha", at)
	if id, _, err := s.Find(t.Context(), ""); kindOf(err) != fault.NotFound {
		t.Errorf("nothing names the only job: %q, %v", id, err)
	}
	b := named("twice", at.Add(time.Hour))
	c := named("twice", at.AddDate(0, 0, 1))
	for word, want := range map[string]string{
		a: a, a[:15]: a, b[:13]: b, "alpha": a, "20261130": c, c[:9]: c,
		"20261129": "", "twice": "", "": "", "x": "", "2025": "", "alph": "", "ALPHA": "", "..": "", "*": "", "/": "", "20261129-193015-zzzzzz": "", "\x1b[31m": "",
	} {
		id, exact, err := s.Find(t.Context(), word)
		if id != want || exact != (word == a) || (err == nil) != (want != "") || err != nil && kindOf(err) != fault.NotFound {
			t.Errorf("%q: %q %v, %v", word, id, exact, err)
		}
	}
	_, _, err := s.Find(t.Context(), "twice")
	if f := fault.Of(err); !strings.Contains(f.Reason, "names 2 jobs") || !strings.Contains(strings.Join(f.Hints, ""), c+" "+b) {
		t.Errorf("%+v", f)
	}
	for i := range 9 {
		named(fmt.Sprint("n", i), at.Add(time.Duration(i)*time.Second))
	}
	_, _, err = s.Find(t.Context(), "20261129")
	if f := fault.Of(err); !strings.Contains(f.Reason, "names 11 jobs") || !strings.HasSuffix(f.Hints[0], "and 3 more") || strings.Count(f.Hints[0], "20261129-") != 8 {
		t.Errorf("%+v", f)
	}
}

func TestNewestOfACallerHere(t *testing.T) {
	s := open(t)
	at := time.Now().Add(-time.Hour)
	add := func(caller, dir string) string {
		at = at.Add(time.Second)
		o := foreground()
		o.Request.Caller, o.Request.Dir = caller, dir
		j := madeAt(t, s, o, at)
		j.finish(ended(j, fault.RunFailed))
		return j.state.ID
	}
	add("a", "/p")
	want := add("a", "/p")
	add("b", "/p")
	add("a", "/q")
	if v, err := s.NewestOf(t.Context(), "a", "/p"); err != nil || v.ID != want {
		t.Errorf("%+v, %v", v, err)
	}
	if _, err := s.NewestOf(t.Context(), "c", "/p"); kindOf(err) != fault.NotFound {
		t.Errorf("%v", err)
	}
	dead := in(t, s, Running)
	id := dead.dies()
	if v, err := s.NewestOf(t.Context(), "shell", "/project"); err != nil || v.ID != id || v.State.State != Lost {
		t.Errorf("the newest is not decided about: %+v, %v", v.State, err)
	}
}

func TestFindSession(t *testing.T) {
	s := open(t)
	at := time.Now().Add(-time.Hour)
	add := func(caller, dir, session, dead string) {
		at = at.Add(time.Second)
		o := foreground()
		o.Request.Caller, o.Request.Dir = caller, dir
		j := madeAt(t, s, o, at)
		j.keep(func(st *State) { st.Session, st.Dead = session, dead })
		j.finish(ended(j, fault.RunFailed))
	}
	add("a", "/p", "ses_old", "")
	add("a", "/p", "ses_new", "")
	add("a", "/p", "ses_dead", "it is full")
	add("a", "/p", "", "")
	add("b", "/p", "ses_b", "")
	add("a", "/q", "ses_q", "")
	for _, c := range []struct {
		dir, session string
		newest       bool
		want         string
		known        bool
		kind         fault.Kind
		hint         string
	}{
		{"/p", "", true, "ses_new", true, "", ""},
		{"/nowhere", "", true, "", false, fault.NotFound, "leave -c out"},
		{"/p", "", false, "", false, "", ""},
		{"/p", "ses_old", false, "ses_old", true, "", ""},
		{"/p", "ses_b", false, "ses_b", true, "", ""},
		{"/p", "ses_stranger", false, "ses_stranger", false, "", ""},
		{"/p", "ses_q", false, "ses_q", false, fault.NotFound, "--dir /q"},
		{"/p", "ses_dead", false, "ses_dead", false, fault.NotFound, "leave -s out"},
		{"/p", "../x", false, "../x", false, fault.NotFound, ""},
	} {
		req := order().Request
		req.Caller, req.Dir, req.Session = "a", c.dir, c.session
		known, err := s.FindSession(t.Context(), &req, c.newest)
		if known != c.known || req.Session != c.want || (err == nil) != (c.kind == "") {
			t.Errorf("%+v: %q known %v, %v", c, req.Session, known, err)
		}
		if err != nil && (fault.Of(err).Kind != c.kind || !strings.Contains(strings.Join(fault.Of(err).Hints, ""), c.hint)) {
			t.Errorf("%+v: %+v", c, fault.Of(err))
		}
	}
}
