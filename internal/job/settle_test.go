package job

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/lock"
	"opencode-delegate/internal/proc"
	"opencode-delegate/internal/record"
)

// aged makes a record older, as far as its id and its state tell.
func aged(t testing.TB, s *Store, o Order) *Job {
	t.Helper()
	return madeAt(t, s, o, time.Now().Add(-time.Hour))
}

// A supervisor dies in each phase, with and without what it may have left.
func TestADeadSupervisorIsSeenAtOnce(t *testing.T) {
	s := open(t)
	for _, from := range []Phase{Waiting, Queued, Running} {
		for _, c := range []struct {
			name   string
			left   func(*Job)
			want   Phase
			exit   int
			reason string
		}{
			{"nothing", func(*Job) {}, Lost, 18, "supervisor"},
			{"a result", func(j *Job) { j.Record.WriteLast(record.Result, ended(j, fault.NoChanges)) }, Failed, 7, "as the test wants"},
			{"a success", func(j *Job) { j.Record.WriteLast(record.Result, ended(j, fault.OK)) }, Succeeded, 0, ""},
			{"a wish", func(j *Job) { s.mark(j.state.ID, wish{By: "shell"}) }, Cancelled, 6, "cancelled"},
			{"a wish that came too late", func(j *Job) {
				s.mark(j.state.ID, wish{By: "shell"})
				j.Record.WriteLast(record.Result, ended(j, fault.OK))
			}, Succeeded, 0, ""},
			{"half a result", func(j *Job) { os.WriteFile(j.Record.File(record.Result), []byte(`{"schema":1,"sta`), 0o600) }, Lost, 18, "supervisor"},
			{"another's result", func(j *Job) {
				res := ended(j, fault.OK)
				res.ID = "20261129-193015-0k7u2m"
				j.Record.WriteLast(record.Result, res)
			}, Lost, 18, "supervisor"},
			{"a later version's result", func(j *Job) {
				res := ended(j, fault.OK)
				res.Schema = Schema + 1
				j.Record.WriteLast(record.Result, res)
			}, Lost, 18, "supervisor"},
			{"the machine's restart", func(j *Job) { j.keep(func(st *State) { st.Supervisor = &proc.ID{PID: 1, Start: 1, Boot: "another"} }) }, Lost, 18, "the machine was restarted"},
		} {
			t.Run(fmt.Sprint(from, " ", c.name), func(t *testing.T) {
				j := in(t, s, from)
				if v := look(t, s, j.state.ID); v.State.State != from {
					t.Fatalf("alive: %+v", v)
				}
				os.MkdirAll(filepath.Join(j.Record.File(record.Tmp), "deep"), 0o700)
				c.left(j)
				id := j.dies()
				written, _ := os.ReadFile(j.Record.File(record.Result))
				whole := false
				if _, err := s.ReadResult(id); err == nil { // by a supervisor that may have known more than we do
					written = bytes.Replace(written, []byte("{"), []byte(`{"from_a_later_version": 1, `), 1)
					whole = os.WriteFile(j.Record.File(record.Result), written, 0o600) == nil
				}
				before := time.Now()
				v := look(t, s, id)
				if now, err := os.ReadFile(j.Record.File(record.Result)); err != nil || whole && !bytes.Equal(now, written) {
					t.Errorf("the result was written over: %s", now)
				}
				if d := time.Since(before); d > time.Second {
					t.Errorf("took %v", d)
				}
				if v.State.State != c.want || v.Exit == nil || *v.Exit != c.exit || v.EndedAt == nil || !strings.Contains(v.Reason, c.reason) {
					t.Errorf("%+v", v.State)
				}
				if before := strings.Contains(v.Reason, "before its run began"); c.reason == "supervisor" && before != (from != Running) {
					t.Errorf("%s: %s", from, v.Reason)
				}
				st, err := readState(s.dir(id), id)
				if err != nil || st.State != c.want {
					t.Errorf("written down: %+v, %v", st, err)
				}
				res, err := s.Result(v)
				if err != nil || res.Status != v.Status || res.Exit != c.exit || res.ID != id {
					t.Errorf("%+v, %v", res, err)
				}
				if exists(j.Record.File(record.Tmp)) || exists(j.Record.File(record.Reserve)) || exists(filepath.Join(s.root, activeDir, id)) {
					t.Error("what only the living need is still there")
				}
				if again := look(t, s, id); again.State.State != c.want || !again.EndedAt.Equal(*v.EndedAt) {
					t.Errorf("then %+v", again.State)
				}
			})
		}
	}
}

// What a lost job leaves tells how to go on.
func TestTheResultOfALostJob(t *testing.T) {
	s := open(t)
	j := in(t, s, Running)
	if err := j.Update(func(st *State) { st.Session, st.Tier = "ses_abc", "fast" }); err != nil {
		t.Fatal(err)
	}
	event := `{"type":"text","timestamp":1,"sessionID":"ses_abc","part":{"type":"text","text":"half of the work is done"}}` + "\n"
	if err := os.WriteFile(j.Record.File(record.Events), []byte(event), 0o600); err != nil {
		t.Fatal(err)
	}
	died := time.Now().Add(time.Hour).Truncate(time.Second)
	os.Chtimes(j.Record.File(record.Events), died, died)
	res, err := s.Result(look(t, s, j.dies()))
	if err != nil || res.Session == nil || *res.Session != "ses_abc" || res.Text != "half of the work is done" || res.Model != "mock/worker" || res.Dir != "/project" || res.Tier == nil || *res.Tier != "fast" {
		t.Errorf("%+v, %v", res, err)
	}
	if len(res.Hints) != 1 || !strings.Contains(res.Hints[0], "oc-job recover "+j.state.ID) || !strings.Contains(res.Hints[0], "oc-job retry "+j.state.ID) {
		t.Errorf("hints %q", res.Hints)
	}
	if !res.EndedAt.Equal(died) || !res.StartedAt.Equal(j.state.StartedAt.Truncate(time.Millisecond)) {
		t.Errorf("from %v to %v; it died about %v", res.StartedAt, res.EndedAt, died)
	}
	without := in(t, s, Running)
	if res, err = s.Result(look(t, s, without.dies())); err != nil || len(res.Hints) != 1 || strings.Contains(res.Hints[0], "recover") {
		t.Errorf("%q, %v", res.Hints, err)
	}
}

func TestAStillbornRecord(t *testing.T) {
	s := open(t)
	make := func(at time.Time) string {
		id := NewID(at)
		if err := os.Mkdir(s.dir(id), 0o700); err != nil {
			t.Fatal(err)
		}
		return id
	}
	young, old, tomorrow := make(time.Now()), make(time.Now().Add(-birth-time.Second)), make(time.Now().AddDate(0, 0, 1))
	for _, id := range []string{young, tomorrow} {
		if _, err := s.Look(t.Context(), id); kindOf(err) != fault.NotFound {
			t.Errorf("%s is about to be made: %v", id, err)
		}
	}
	if v := look(t, s, old); v.State.State != Lost || v.CreatedAt.IsZero() || v.Schema != 1 {
		t.Errorf("%+v", v)
	}
	if v := look(t, s, old); v.State.State != Lost {
		t.Errorf("%+v", v)
	}
	// What it was to be is told as far as it was written down.
	o, known := order(), make(time.Now().Add(-birth-2*time.Second))
	if err := errors.Join(s.Record(known).WriteExact(record.Prompt, []byte(o.Prompt)), s.Record(known).WriteJSON(record.Request, o.Request),
		s.Record(known).WriteJSON(record.Launch, o.Launch)); err != nil {
		t.Fatal(err)
	}
	want := o.state()
	if v := look(t, s, known); v.State.State != Lost || v.Caller != want.Caller || v.Dir != want.Dir || v.Repo != want.Repo || v.Task != want.Task || v.Prompt != want.Prompt ||
		v.Model != want.Model || !v.Background || v.CreatedAt.IsZero() || v.QueuedAt != nil {
		t.Errorf("%+v, want what there is of %+v", v, want)
	}
	// One that is still being made after that time is not decided about.
	st := order().state()
	st.ID = make(time.Now().Add(-time.Minute))
	guard, err := lock.Try(s.Record(st.ID).File(record.Lock))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Look(t.Context(), st.ID); kindOf(err) != fault.NotFound {
		t.Errorf("%v", err)
	}
	guard.Release()
	if v := look(t, s, st.ID); v.State.State != Lost {
		t.Errorf("%+v", v)
	}
}

// Twenty who find the same dead jobs at once say the same, and write it once.
func TestManyReadersAgree(t *testing.T) {
	s := open(t)
	var ids []string
	for range 5 {
		ids = append(ids, in(t, s, Running).dies())
	}
	var mu sync.Mutex
	said := map[string]int{}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			other := &Store{root: s.root, set: s.set}
			views, err := other.List(t.Context(), func(View) bool { return true })
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, v := range views {
				text, _ := json.Marshal(v)
				said[string(text)]++
			}
		})
	}
	all.Wait()
	for text, n := range said {
		if n != 20 || !strings.Contains(text, `"lost"`) {
			t.Errorf("%d of 20 said %s", n, text)
		}
	}
	if len(said) != len(ids) {
		t.Errorf("%d jobs", len(said))
	}
}

// A reader that was stopped while it decided is waited for a moment; then the others say what they see.
func TestAStoppedReaderHangsNobody(t *testing.T) {
	t.Parallel()
	s := open(t)
	id := in(t, s, Running).dies()
	guard, err := lock.Try(s.Record(id).File(record.Lock))
	if err != nil {
		t.Fatal(err)
	}
	before := snapshot(t, s.root)
	began := time.Now()
	v := look(t, s, id)
	if d := time.Since(began); v.State.State != Lost || d > lockTime+time.Second {
		t.Errorf("after %v: %+v", d, v.State)
	}
	if res := s.remains(v.State); res.Status != fault.JobLost {
		t.Errorf("%+v", res)
	}
	same(t, before, snapshot(t, s.root)) // it alone may write
	guard.Release()
	if v = look(t, s, id); v.State.State != Lost {
		t.Errorf("%+v", v.State)
	}
	// One that goes on in time is believed.
	id = in(t, s, Running).dies()
	if guard, err = lock.Try(s.Record(id).File(record.Lock)); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(100*time.Millisecond, func() {
		st, _ := readState(s.dir(id), id)
		exit, at := 6, time.Now().UTC()
		st.State, st.Exit, st.EndedAt = Cancelled, &exit, &at
		s.Record(id).WriteLast(record.State, st)
		guard.Release()
	})
	if v = look(t, s, id); v.State.State != Cancelled {
		t.Errorf("%+v", v.State)
	}
}

// Who is stopped for long while it starts a job is given up only when nobody can be starting it any more.
func TestAStoppedStarter(t *testing.T) {
	t.Parallel()
	s := open(t)
	j := made(t, s, order())
	began := time.Now()
	if v := look(t, s, j.state.ID); v.State.State != Queued || time.Since(began) > time.Second {
		t.Errorf("after %v: %+v", time.Since(began), v.State)
	}
	j.dies()
	j = aged(t, s, order())
	if v := look(t, s, j.state.ID); v.State.State != Lost {
		t.Errorf("%+v", v.State)
	}
	j.dies()
}

// A supervisor that comes while a reader decides: whoever has the lease is right.
func TestASupervisorThatComesLate(t *testing.T) {
	s := open(t)
	j := made(t, s, order())
	id := j.dies()
	lease, err := lock.Try(s.lease(id))
	if err != nil {
		t.Fatal(err)
	}
	before := snapshot(t, s.dir(id))
	st, _, err := s.settle(t.Context(), id) // as a reader that has looked at the lease before
	if err != nil || st.State != Queued {
		t.Errorf("%+v, %v", st, err)
	}
	same(t, before, snapshot(t, s.dir(id)))
	lease.Release()
	// One that comes after the decision finds that there is nothing to do.
	if v := look(t, s, id); v.State.State != Lost {
		t.Errorf("%+v", v.State)
	}
	var said strings.Builder
	late, err := s.adopt(t.Context(), Supervision{ID: id, say: closed{&said}})
	if late != nil || err != nil {
		t.Errorf("%v, %v", late, err)
	}
	if held, _ := lock.Held(s.lease(id)); held {
		t.Error("it keeps the lease")
	}
}

func TestResultOfWhatHasNone(t *testing.T) {
	s := open(t)
	j := in(t, s, Running)
	_, err := s.Result(look(t, s, j.state.ID))
	if kindOf(err) != fault.JobRunning || !strings.Contains(err.Error(), "still running") {
		t.Errorf("%v", err)
	}
	j.finish(ended(j, fault.OK))
	os.Remove(j.Record.File(record.Result))
	_, err = s.Result(look(t, s, j.state.ID))
	if f := fault.Of(err); f.Kind != fault.JobLost || !strings.Contains(strings.Join(f.Hints, ""), s.dir(j.state.ID)) {
		t.Errorf("%v", f)
	}
	os.Remove(j.Record.File(record.Prompt))
	if _, err := s.ReadPrompt(j.state.ID); kindOf(err) != fault.JobLost {
		t.Errorf("%v", err)
	}
}
