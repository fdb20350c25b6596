package job

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/lock"
)

func tried(t *testing.T, j *Job) (bool, string) {
	t.Helper()
	went, ahead, err := j.tryTurn(t.Context(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return went, ahead
}

func TestTurnsWithRecords(t *testing.T) {
	s := open(t)
	limited := func() *Job {
		o := order()
		o.Launch.MaxJobs = 1
		return supervised(t, s, o)
	}
	first := limited()
	time.Sleep(2 * time.Millisecond)
	second := limited()
	time.Sleep(2 * time.Millisecond)
	third := limited()
	if went, ahead := tried(t, third); went || ahead != second.state.ID {
		t.Errorf("the third: %v behind %s", went, ahead)
	}
	if went, _ := tried(t, first); !went {
		t.Error("the first has no turn")
	}
	if v := look(t, s, first.state.ID); v.State.State != Running || v.StartedAt == nil || time.Since(*v.StartedAt) > time.Minute {
		t.Errorf("%+v", v.State)
	}
	if went, ahead := tried(t, second); went || ahead != "" {
		t.Errorf("the second: %v behind %q", went, ahead)
	}
	first.finish(ended(first, fault.OK))
	if !s.stillQueued(second.state.ID) || s.stillQueued(first.state.ID) {
		t.Error("who still waits is not known")
	}
	// The second dies in the queue, and is passed over.
	second.dies()
	if s.stillQueued(second.state.ID) {
		t.Error("a dead one waits")
	}
	if went, _ := tried(t, third); !went {
		t.Error("the third has no turn")
	}
	if v := look(t, s, second.state.ID); v.State.State != Lost {
		t.Errorf("%+v", v.State)
	}
	// A foreground run counts, and waits for nobody.
	third.finish(ended(third, fault.OK))
	fore := made(t, s, foreground())
	at := time.Now()
	fore.keep(func(st *State) { st.State, st.StartedAt = Running, &at })
	fourth := limited()
	if went, _ := tried(t, fourth); went {
		t.Error("a foreground run does not count")
	}
	fore.finish(ended(fore, fault.OK))
	if went, _ := tried(t, fourth); !went {
		t.Error("the fourth has no turn")
	}
	fourth.dies()
}

// turn waits, and goes when it may.
func TestTurn(t *testing.T) {
	s := open(t)
	o := order()
	o.Launch.MaxJobs = 1
	running := supervised(t, s, o)
	if err := running.turn(t.Context(), time.Now); err != nil {
		t.Fatal(err)
	}
	const waiting = 3
	turns := make(chan int, waiting)
	var jobs []*Job
	for range waiting {
		time.Sleep(2 * time.Millisecond)
		jobs = append(jobs, supervised(t, s, o))
	}
	for i, j := range slices.Backward(jobs) {
		go func() {
			if err := j.turn(t.Context(), time.Now); err != nil {
				t.Error(err)
			}
			turns <- i
		}()
	}
	time.Sleep(100 * time.Millisecond)
	if len(turns) != 0 {
		t.Error("one went while the place was taken")
	}
	for want := range waiting {
		if want == 0 {
			running.finish(ended(running, fault.OK))
		} else {
			jobs[want-1].finish(ended(jobs[want-1], fault.OK))
		}
		select {
		case got := <-turns:
			if got != want {
				t.Errorf("number %d went, want %d", got, want)
			}
		case <-time.After(5 * time.Second):
			t.Fatalf("number %d does not go", want)
		}
	}
	jobs[waiting-1].dies()
}

func TestTurnEndsWithItsContext(t *testing.T) {
	s := open(t)
	o := order()
	o.Launch.MaxJobs = 1
	first, second := supervised(t, s, o), supervised(t, s, o)
	defer second.dies()
	if err := first.turn(t.Context(), time.Now); err != nil {
		t.Fatal(err)
	}
	defer first.dies()
	cause := errors.New("cancelled")
	for _, after := range []time.Duration{0, 100 * time.Millisecond} {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(after, func() { cancel(cause) })
		if err := second.turn(ctx, time.Now); !errors.Is(err, cause) {
			t.Errorf("%v", err)
		}
		if v := look(t, s, second.state.ID); v.State.State != Queued {
			t.Errorf("%+v", v.State)
		}
	}
}

// One that waits behind another goes as soon as that waits only for its model: it looks at the whole again.
func TestTurnLooksAgain(t *testing.T) {
	t.Parallel()
	s := open(t)
	full := in(t, s, Running)
	ahead := order()
	ahead.Request.Model, ahead.Launch.MaxJobs, ahead.Launch.MaxPerModel = "mock/m", 1, 1
	first := supervised(t, s, ahead)
	defer first.dies()
	time.Sleep(2 * time.Millisecond)
	second := supervised(t, s, order())
	defer second.dies()
	went := make(chan error, 1)
	go func() { went <- second.turn(t.Context(), time.Now) }()
	time.Sleep(300 * time.Millisecond)
	if len(went) != 0 {
		t.Fatal("it passed one that waits for a place")
	}
	o := foreground()
	o.Request.Model = "mock/m"
	fore := made(t, s, o)
	defer fore.dies()
	at := time.Now()
	fore.keep(func(st *State) { st.State, st.StartedAt = Running, &at })
	defer full.dies()
	select {
	case err := <-went:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(reconsider + 2*time.Second):
		t.Error("it waits for one that waits for its model")
	}
}

// A process that was stopped while it held queue.lock keeps nobody from running.
func TestQueueLockOfAStoppedProcess(t *testing.T) {
	t.Parallel()
	s := open(t)
	l, err := lock.Try(filepath.Join(s.root, queueLock))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release()
	j := supervised(t, s, order())
	defer j.dies()
	began := time.Now()
	if went, _ := tried(t, j); !went || time.Since(began) > lockTime+time.Second {
		t.Errorf("went %v after %v", went, time.Since(began))
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errors.New("enough"))
	defer cancel()
	other := supervised(t, s, order())
	defer other.dies()
	began = time.Now()
	if _, _, err := other.tryTurn(ctx, time.Now); err == nil || err.Error() != "enough" || time.Since(began) > time.Second {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}

func TestAfter(t *testing.T) {
	s := open(t)
	one, two := in(t, s, Running), in(t, s, Running)
	o := order()
	o.After = []string{one.state.ID, two.state.ID}
	waits := supervised(t, s, o)
	done := make(chan error, 1)
	go func() { done <- waits.await(t.Context(), time.Now) }()
	one.finish(ended(one, fault.OK))
	time.Sleep(50 * time.Millisecond)
	if v := look(t, s, waits.state.ID); v.State.State != Waiting || len(done) != 0 {
		t.Errorf("it does not wait for the second: %+v", v.State)
	}
	before := time.Now()
	two.finish(ended(two, fault.OK))
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	v := look(t, s, waits.state.ID)
	if v.State.State != Queued || v.QueuedAt == nil || v.QueuedAt.Before(before) {
		t.Errorf("its place is that of the moment in which it was ready: %+v", v.State)
	}
	waits.dies()

	for name, end := range map[string]func(*Job){
		"failed": func(j *Job) { j.finish(ended(j, fault.RunFailed)) },
		"lost":   func(j *Job) { j.dies() },
	} {
		before := in(t, s, Running)
		o.After = []string{before.state.ID}
		j := supervised(t, s, o)
		end(before)
		err := j.await(t.Context(), time.Now)
		if kindOf(err) != fault.Skipped || !strings.Contains(err.Error(), before.state.ID) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		j.dies()
	}
	o.After = []string{"20261129-193015-0k7u2m"}
	j := supervised(t, s, o)
	if err := j.await(t.Context(), time.Now); kindOf(err) != fault.Skipped || !strings.Contains(err.Error(), "not there any more") {
		t.Errorf("%v", err)
	}
	cause := errors.New("cancelled")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	live := in(t, s, Running)
	defer live.dies()
	j.state.After = []string{live.state.ID}
	if err := j.await(ctx, time.Now); !errors.Is(err, cause) {
		t.Errorf("%v", err)
	}
	j.dies()
}
