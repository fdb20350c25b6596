package job

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/lock"
	"opencode-delegate/internal/record"
)

func TestABackgroundJobBeforeItsSupervisor(t *testing.T) {
	s := open(t)
	o := order()
	o.Name, o.RetryOf, o.ContinueOf, o.Launch.MaxJobs, o.Launch.MaxPerModel = "nightly", "20261129-193015-0k7u2m", "20261129-193015-0k7u2n", 7, 3
	o.Prompt = "two\nlines"
	now := time.Now()
	j := madeAt(t, s, o, now)
	v := look(t, s, j.state.ID)
	if v.State.State != Queued || v.Supervisor != nil || !v.Background || v.Name != "nightly" || v.RetryOf != o.RetryOf || v.ContinueOf != o.ContinueOf ||
		v.MaxJobs != 7 || v.MaxPerModel != 3 || !v.CreatedAt.Equal(now) || v.QueuedAt == nil || v.StartedAt != nil || v.Task != "two lines" || len(v.Prompt) != 64 || v.Schema != 1 {
		t.Errorf("%+v", v)
	}
	if held, _ := lock.Held(j.Record.File(record.Lock)); !held {
		t.Error("record.lock is not held: a reader could take it for dead")
	}
	if exists(s.lease(v.ID)) {
		t.Error("whoever starts a supervisor must not touch the lease")
	}
	l, err := s.ReadLaunch(v.ID)
	if err != nil || l != *o.Launch {
		t.Errorf("%+v, %v", l, err)
	}
	if req, err := s.ReadRequest(v.ID); err != nil || req.Dir != "/project" || req.Model != "mock/worker" {
		t.Errorf("%+v, %v", req, err)
	}
	// Whoever starts it dies: it is lost at once, and its end is news.
	id := j.dies()
	if v = look(t, s, id); v.State.State != Lost || !strings.Contains(v.Reason, "before its run began") {
		t.Errorf("%+v", v)
	}
	if told := news(t, s, "shell", 9); len(told) != 1 || told[0] != id {
		t.Errorf("told %v", told)
	}
}

func TestAWaitingJobHasNoPlaceInTheQueueYet(t *testing.T) {
	s := open(t)
	j := in(t, s, Waiting)
	defer j.dies()
	if held, err := lock.Held(j.Record.File(record.Lock)); held || err != nil {
		t.Errorf("the supervisor keeps record.lock, which is for those who decide: %v, %v", held, err)
	}
	if v := look(t, s, j.state.ID); v.State.State != Waiting || v.QueuedAt != nil || len(v.After) != 1 {
		t.Errorf("%+v", v)
	}
}

func TestDiscardLeavesNothing(t *testing.T) {
	s := open(t)
	made(t, s, order()).dies() // what the first job makes for all stays
	for name, o := range map[string]Order{"background": order(), "foreground": foreground()} {
		before := snapshot(t, s.root)
		j := made(t, s, o)
		if f, err := j.Record.Create(record.Events); err != nil {
			t.Fatal(err)
		} else {
			f.Close()
		}
		os.MkdirAll(filepath.Join(j.Record.File(record.Tmp), "deep", "er"), 0o700)
		j.discard()
		t.Run(name, func(t *testing.T) { same(t, before, snapshot(t, s.root)) })
		if _, err := s.Look(t.Context(), j.state.ID); kindOf(err) != fault.NotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A job that cannot be made is refused, and leaves no record.
func TestAFailedCreationLeavesNothing(t *testing.T) {
	s := open(t)
	if err := os.WriteFile(filepath.Join(s.root, newsDir), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	before := snapshot(t, s.root)
	_, _, err := s.create(t.Context(), order(), time.Now())
	if kindOf(err) != fault.Usage || !strings.Contains(err.Error(), newsDir) || strings.Count(err.Error(), "state directory") > 1 {
		t.Errorf("%v", err)
	}
	same(t, before, snapshot(t, s.root))
	os.RemoveAll(filepath.Join(s.root, jobsDir))
	if _, _, err := s.create(t.Context(), foreground(), time.Now()); kindOf(err) != fault.Usage {
		t.Errorf("%v", err)
	}
	if ids, err := s.ids(activeDir); err != nil || len(ids) != 0 {
		t.Errorf("active: %v %v", ids, err)
	}
}

func TestReuse(t *testing.T) {
	s := open(t)
	base := order()
	base.Request.Session = "ses_1"
	live := in(t, s, Running)
	defer live.dies()
	again := func(change func(*Order)) string {
		o := order()
		o.Reuse = true
		change(&o)
		j, twin, err := s.create(t.Context(), o, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if twin == nil {
			j.discard()
			return ""
		}
		return twin.ID
	}
	for name, c := range map[string]struct {
		change func(*Order)
		want   bool
	}{
		"the same":          {func(*Order) {}, true},
		"another caller":    {func(o *Order) { o.Request.Caller = "b" }, true},
		"not asked for":     {func(o *Order) { o.Reuse = false }, false},
		"another prompt":    {func(o *Order) { o.Prompt += " " }, false},
		"another directory": {func(o *Order) { o.Request.Dir += "2" }, false},
		"another model":     {func(o *Order) { o.Request.Model = "mock/other" }, false},
		"another grant":     {func(o *Order) { o.Request.Profile = "standard" }, false},
		"another session":   {func(o *Order) { o.Request.Session = "ses_9" }, false},
	} {
		if got := again(c.change); (got == live.state.ID) != c.want || !c.want && got != "" {
			t.Errorf("%s: reused %q, want %v", name, got, c.want)
		}
	}
	// The model that was asked for, after opencode has resolved it.
	if err := live.Update(func(st *State) { st.Model, st.Requested = "mock/resolved", "mock/worker" }); err != nil {
		t.Fatal(err)
	}
	if got := again(func(*Order) {}); got != live.state.ID {
		t.Errorf("reused %q", got)
	}
	live.finish(ended(live, fault.OK))
	if got := again(func(*Order) {}); got != "" {
		t.Errorf("reused %q, which has ended", got)
	}
}

// Of two who go on in one session at the same time one wins, and the other is told.
func TestOneSessionOneJob(t *testing.T) {
	s := open(t)
	continuation := func() Order {
		o := order()
		o.Request.Session, o.ContinueOf = "ses_1", "20261129-193015-0k7u2m"
		return o
	}
	const callers = 8
	jobs, errs := make([]*Job, callers), make([]error, callers)
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() { jobs[i], _, errs[i] = s.create(t.Context(), continuation(), time.Now()) })
	}
	all.Wait()
	var won *Job
	for i, err := range errs {
		switch {
		case err == nil && won == nil:
			won = jobs[i]
		case err == nil:
			t.Error("two won")
		case kindOf(err) != fault.JobRunning:
			t.Errorf("%v", err)
		}
	}
	if won == nil {
		t.Fatal("nobody won")
	}
	_, _, err := s.create(t.Context(), continuation(), time.Now())
	if kindOf(err) != fault.JobRunning || !strings.Contains(err.Error(), won.state.ID) {
		t.Errorf("%v", err)
	}
	fork := continuation()
	fork.Request.Fork = true
	j := made(t, s, fork)
	if j.state.Session != "" {
		t.Error("a copy has the session of the original")
	}
	j.discard()
	other := continuation()
	other.Request.Session = "ses_2"
	made(t, s, other).discard()
	fore := continuation()
	fore.Launch = nil
	if _, _, err := s.create(t.Context(), fore, time.Now()); kindOf(err) != fault.JobRunning {
		t.Errorf("in the foreground: %v", err)
	}
	won.discard()
	made(t, s, continuation()).discard()
}

// A process that was stopped while it held create.lock is told of, and hangs nobody.
func TestCreateLockOfAStoppedProcess(t *testing.T) {
	t.Parallel()
	s := open(t)
	l, err := lock.Try(filepath.Join(s.root, createLock))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release()
	o := order()
	o.Reuse = true
	began := time.Now()
	_, _, err = s.create(t.Context(), o, time.Now())
	if kindOf(err) != fault.RunFailed || !strings.Contains(err.Error(), createLock) {
		t.Errorf("%v", err)
	}
	if d := time.Since(began); d < lockTime || d > lockTime+time.Second {
		t.Errorf("took %v", d)
	}
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if _, _, err = s.create(ctx, o, time.Now()); !errors.Is(err, cause) {
		t.Errorf("%v", err)
	}
	made(t, s, order()).discard() // who has no rival needs no lock
}

// Whoever makes a job and is stopped for so long that it was given up does not write over what was decided.
func TestAStoppedCreatorComesTooLate(t *testing.T) {
	s := open(t)
	for _, o := range []Order{order(), foreground()} {
		st := o.state()
		st.ID = NewID(time.Now().Add(-time.Minute))
		j := &Job{Record: s.Record(st.ID), store: s, state: st}
		if err := os.Mkdir(j.Record.Path(), 0o700); err != nil {
			t.Fatal(err)
		}
		if v := look(t, s, st.ID); v.State.State != Lost {
			t.Errorf("%+v", v)
		}
		if err := j.write(o); kindOf(err) != fault.RunFailed {
			t.Errorf("written over: %v", err)
		}
		if v := look(t, s, st.ID); v.State.State != Lost {
			t.Errorf("%+v", v)
		}
	}
}

// A foreground job for whose lease there was no room takes it before it writes, unless a reader was first.
func TestALeaseThatHadNoRoom(t *testing.T) {
	s := open(t)
	at := time.Now()
	roomless := func() *Job {
		j := made(t, s, foreground())
		j.release()
		os.Remove(s.lease(j.state.ID))
		os.Remove(j.Record.File(record.State))
		return j
	}
	j := roomless()
	j.keep(func(st *State) { st.State, st.StartedAt = Running, &at })
	if held, err := lock.Held(s.lease(j.state.ID)); !held || err != nil || j.lost != nil || look(t, s, j.state.ID).State.State != Running {
		t.Errorf("held %v, %v, %v", held, err, j.lost)
	}
	j.finish(ended(j, fault.OK))

	j = roomless()
	j.Record.WriteJSON(record.State, State{Schema: 1, ID: j.state.ID, State: Queued, CreatedAt: at.Add(-time.Hour)})
	if v := look(t, s, j.state.ID); v.State.State != Lost {
		t.Errorf("%+v", v.State)
	}
	j.keep(func(st *State) { st.State, st.StartedAt = Running, &at })
	if v := look(t, s, j.state.ID); v.State.State != Lost || j.lost == nil {
		t.Errorf("%+v, %v", v.State, j.lost)
	}
}

// A supervisor that dies on its very last step leaves an entry among the living; it goes with the next look.
func TestALeftOverEntryOfTheLiving(t *testing.T) {
	s := open(t)
	j := in(t, s, Running)
	j.finish(ended(j, fault.OK))
	if err := s.activate(j.state.ID); err != nil {
		t.Fatal(err)
	}
	if live, err := s.Live(t.Context()); err != nil || len(live) != 0 {
		t.Errorf("%v %v", live, err)
	}
	if ids, _ := s.ids(activeDir); len(ids) != 0 {
		t.Errorf("active: %v", ids)
	}
}

// An entry of the living without a record is passed over, and goes when nobody can be about to make one.
func TestCutOffBeforeTheRecord(t *testing.T) {
	s := open(t)
	young, old := NewID(time.Now()), NewID(time.Now().Add(-2*abandoned))
	for _, id := range []string{young, old} {
		if err := s.activate(id); err != nil {
			t.Fatal(err)
		}
	}
	if live, err := s.Live(t.Context()); err != nil || len(live) != 0 {
		t.Errorf("%v %v", live, err)
	}
	if ids, _ := s.ids(activeDir); len(ids) != 1 || ids[0] != young {
		t.Errorf("active: %v", ids)
	}
}
