package job

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/lock"
	"opencode-delegate/internal/record"
)

// A starter that was stopped for long may say what became of its job only when nobody has taken or ended it meanwhile.
func TestAStarterThatSlept(t *testing.T) {
	t.Parallel()
	s := open(t)
	j := made(t, s, order())
	lease, err := lock.Try(s.lease(j.state.ID)) // its supervisor has come after all
	if err != nil {
		t.Fatal(err)
	}
	if j.mine() {
		t.Error("a job that has a supervisor is its starter's")
	}
	lease.Release()

	st := j.state
	st.end(ended(j, fault.OK))
	if err := j.Record.WriteLast(record.State, st); err != nil { // and has ended it
		t.Fatal(err)
	}
	if j.mine() {
		t.Error("a job that has ended is its starter's")
	}
	j.release()
	if v := look(t, s, st.ID); v.State.State != Succeeded {
		t.Errorf("%+v", v.State)
	}

	free := made(t, s, order())
	if !free.mine() {
		t.Error("a job that nobody has is not its starter's")
	}
	free.guardedEnd(errors.New("no room"), time.Now())
	if v := look(t, s, free.state.ID); v.State.State != Failed || !strings.Contains(v.Reason, "no room") {
		t.Errorf("%+v", v.State)
	}
}

// What a reader makes of a job that a stopped starter holds is no end yet: no notice is spent on it, and nobody stops waiting for it.
func TestAHeldRecordIsUndecided(t *testing.T) {
	t.Parallel()
	s := open(t)
	j := made(t, s, order())
	id := j.state.ID
	st := j.state
	st.CreatedAt = st.CreatedAt.Add(-time.Minute) // too old to be on its way
	if err := j.Record.WriteJSON(record.State, st); err != nil {
		t.Fatal(err)
	}
	if v := look(t, s, id); v.State.State != Lost || !v.Undecided || v.Ended() {
		t.Errorf("%+v", v)
	}
	err := s.News(t.Context(), "shell", 9, func(ended []View, _ int) error {
		if len(ended) > 0 {
			t.Errorf("told of %+v", ended)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	j.release()
	if v := look(t, s, id); v.State.State != Lost || !v.Ended() {
		t.Errorf("%+v", v)
	}
}

// Too few descriptors say nothing of a record, and a record that cannot be read nothing of its job.
func TestWhatCannotBeReadNow(t *testing.T) {
	t.Parallel()
	if !transient(&os.PathError{Err: syscall.EMFILE}) || transient(&os.PathError{Err: syscall.ENOENT}) || transient(nil) {
		t.Error("which errors pass by")
	}
	s := open(t)
	j := in(t, s, Running)
	id := j.state.ID
	if err := j.Record.WriteExact(record.State, []byte(`{"schema":7}`)); err != nil {
		t.Fatal(err)
	}
	if v := look(t, s, id); v.State.State != Unreadable || !v.Held || v.Ended() {
		t.Errorf("held: %+v", v)
	}
	j.dies()
	if v := look(t, s, id); v.State.State != Unreadable || v.Held || !v.Ended() {
		t.Errorf("free: %+v", v)
	}
}

// A call that a supervisor could not be told exactly is refused, and leaves nothing.
func TestWhatCannotBeKept(t *testing.T) {
	t.Parallel()
	s := open(t)
	bad := order()
	bad.Request.Dir = "/d\xff"
	many := order()
	for range afterLimit + 1 {
		many.After = append(many.After, NewID(time.Now()))
	}
	for _, o := range []Order{bad, many} {
		_, _, err := s.Start(t.Context(), "/nonexistent", o, time.Now())
		if f := fault.Of(err); f == nil || f.Kind != fault.Usage {
			t.Errorf("%v", err)
		}
	}
	if ids, err := s.IDs(); err != nil || len(ids) != 0 {
		t.Errorf("%v, %v", ids, err)
	}
	twice := order()
	id := NewID(time.Now())
	twice.After = []string{id, id}
	if got := twice.state().After; len(got) != 1 {
		t.Errorf("%v", got)
	}
}

// A job that is about to be cancelled is as good as none.
func TestReuseOfACancelledJob(t *testing.T) {
	t.Parallel()
	s := open(t)
	o := order()
	o.Reuse = true
	first := supervised(t, s, o)
	if err := s.mark(first.state.ID, wish{"shell", time.Now()}); err != nil {
		t.Fatal(err)
	}
	second, twin, err := s.create(t.Context(), o, time.Now())
	if err != nil || twin != nil || second == nil {
		t.Errorf("%v, twin %+v", err, twin)
	}
}
