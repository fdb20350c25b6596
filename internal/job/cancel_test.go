package job

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"opencode-delegate/internal/call"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/lock"
	"opencode-delegate/internal/proc"
	"opencode-delegate/internal/record"
)

func TestWaitReturnsAtTheEnd(t *testing.T) {
	s := open(t)
	j := in(t, s, Running)
	type end struct {
		v   View
		err error
		at  time.Time
	}
	ends := make(chan end, 5)
	for range cap(ends) {
		go func() {
			v, err := s.Wait(t.Context(), j.State().ID)
			ends <- end{v, err, time.Now()}
		}()
	}
	time.Sleep(50 * time.Millisecond)
	if len(ends) != 0 {
		t.Fatal("it did not wait")
	}
	j.finish(ended(j, fault.VerifyFailed))
	finished := time.Now()
	for range cap(ends) {
		if e := <-ends; e.err != nil || e.v.State.State != Failed || e.at.Sub(finished) > 500*time.Millisecond {
			t.Errorf("after %v: %+v, %v", e.at.Sub(finished), e.v.State, e.err)
		}
	}
	if v, err := s.Wait(t.Context(), j.state.ID); err != nil || v.State.State != Failed {
		t.Errorf("%+v, %v", v.State, err)
	}
	if _, err := s.Wait(t.Context(), "20261129-193015-0k7u2m"); kindOf(err) != fault.NotFound {
		t.Errorf("%v", err)
	}
	if _, err := s.Wait(t.Context(), "../x"); kindOf(err) != fault.NotFound {
		t.Errorf("%v", err)
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	s := open(t)
	supervised, starting := in(t, s, Running), made(t, s, order())
	defer supervised.dies()
	defer starting.dies()
	for _, j := range []*Job{supervised, starting} {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		v, err := s.Wait(ctx, j.state.ID)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || v.ID != j.state.ID || v.State.State != j.state.State {
			t.Errorf("%+v, %v", v.State, err)
		}
	}
}

func TestCancelIsHeeded(t *testing.T) {
	s := open(t)
	j := in(t, s, Running)
	id := j.State().ID
	ctx, stop := j.heed(t.Context())
	defer stop()
	go func() {
		<-ctx.Done()
		f := fault.Of(context.Cause(ctx))
		j.finish(ended(j, f.Kind))
	}()
	time.Sleep(2 * heedEvery)
	if ctx.Err() != nil {
		t.Fatal("nobody wanted it to end")
	}
	began := time.Now()
	v, err := s.Cancel(t.Context(), id, "shell", began)
	if err != nil || v.State.State != Cancelled || *v.Exit != 6 || time.Since(began) > time.Second {
		t.Errorf("after %v: %+v, %v", time.Since(began), v.State, err)
	}
	before := snapshot(t, s.root)
	if v, err = s.Cancel(t.Context(), id, "another", time.Now()); err != nil || v.State.State != Cancelled {
		t.Errorf("again: %+v, %v", v.State, err)
	}
	same(t, before, snapshot(t, s.root))
	done := in(t, s, Running)
	done.finish(ended(done, fault.OK))
	if v, err = s.Cancel(t.Context(), done.state.ID, "shell", time.Now()); err != nil || v.State.State != Succeeded || exists(done.Record.File(record.Cancel)) {
		t.Errorf("of what had ended: %+v, %v", v.State, err)
	}
	if _, err := s.Cancel(t.Context(), "20261129-193015-0k7u2m", "shell", time.Now()); kindOf(err) != fault.NotFound {
		t.Errorf("%v", err)
	}
}

// The first wish stands, and a dead job's becomes cancelled at once.
func TestCancelOfADeadJob(t *testing.T) {
	s := open(t)
	j := in(t, s, Running)
	s.mark(j.state.ID, wish{By: "first"})
	before := snapshot(t, j.Record.Path())
	s.mark(j.state.ID, wish{By: "second"})
	same(t, before, snapshot(t, j.Record.Path()))
	if v, err := s.Cancel(t.Context(), j.dies(), "shell", time.Now()); err != nil || v.State.State != Cancelled {
		t.Errorf("%+v, %v", v.State, err)
	}
	if err := s.mark("20261129-193015-0k7u2m", wish{}); kindOf(err) != fault.NotFound {
		t.Errorf("%v", err)
	}
}

// A job that does not end and whose record names nobody is not killed by guess.
func TestCancelOfWhatCannotBeEnded(t *testing.T) {
	t.Parallel()
	s := open(t)
	stuck, gone := supervised(t, s, order()), supervised(t, s, order())
	defer stuck.dies()
	defer gone.dies()
	stuck.keep(func(st *State) { st.Supervisor = nil })
	// One that is named but is another process by now: the pid is ours, the start is not.
	self := proc.Self()
	self.Start++
	gone.keep(func(st *State) { st.Supervisor = &self })
	began := time.Now()
	errs := make(chan error, 2)
	for _, j := range []*Job{stuck, gone} {
		go func() {
			_, err := s.Cancel(t.Context(), j.state.ID, "shell", time.Now())
			errs <- err
		}()
	}
	var all []string
	for range 2 {
		all = append(all, (<-errs).Error())
	}
	text := strings.Join(all, "\n")
	if d := time.Since(began); !strings.Contains(text, "names no supervisor") || !strings.Contains(text, "deadline") || d < reaction || d > 3*reaction {
		t.Errorf("after %v: %s", d, text)
	}
	if held, _ := lock.Held(s.lease(gone.state.ID)); !held {
		t.Error("the lease is lost")
	}
}

func TestMayCancel(t *testing.T) {
	s := open(t)
	a := View{State: State{ID: "20261129-193015-0k7u2m", Caller: "a", State: Running}}
	over := a
	over.State.State = Failed
	for _, c := range []struct {
		v            View
		caller       string
		exact, force bool
		want         bool
	}{
		{a, "a", false, false, true},
		{a, "b", false, false, false},
		{a, "b", true, false, false},
		{a, "b", false, true, false},
		{a, "b", true, true, true},
		{a, call.Shell, false, false, false},
		{a, call.Shell, true, false, true},
		{a, call.Shell, false, true, false},
		{over, "b", false, false, true},
	} {
		err := s.MayCancel(c.v, c.caller, c.exact, c.force)
		if (err == nil) != c.want || err != nil && kindOf(err) != fault.Usage {
			t.Errorf("%+v: %v", c, err)
		}
		if err != nil && c.caller != call.Shell && !strings.Contains(strings.Join(fault.Of(err).Hints, ""), "--force "+a.ID) {
			t.Errorf("%+v: %q", c, fault.Of(err).Hints)
		}
	}
}

func TestCheckName(t *testing.T) {
	for name, want := range map[string]bool{
		"a": true, "nightly-2.x_Y": true, strings.Repeat("a", 64): true,
		"": false, strings.Repeat("a", 65): false, "2x": false, "-x": false, "a b": false, "a/b": false, "é": false, "a\x1b": false, "_a": false, ".a": false,
	} {
		if err := CheckName(name); (err == nil) != want {
			t.Errorf("%q: %v", name, err)
		}
	}
}
