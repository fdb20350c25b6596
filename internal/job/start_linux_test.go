package job

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/lock"
	"opencode-delegate/internal/proc"
	"opencode-delegate/internal/record"
)

func started(t *testing.T, s *Store, o Order) State {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	st, reused, err := s.Start(t.Context(), self, o, time.Now())
	if err != nil || reused {
		t.Fatalf("%v, reused %v", err, reused)
	}
	t.Cleanup(func() {
		if v := look(t, s, st.ID); v.Live() { // nothing of it may write while its directory is removed
			if _, err := s.Cancel(context.Background(), st.ID, "a test", time.Now()); err != nil {
				t.Error(err)
			}
		}
	})
	return st
}

func waited(t *testing.T, s *Store, id string) View {
	t.Helper()
	v, err := s.Wait(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// until waits for a job to be as it is to be.
func until(t *testing.T, s *Store, id string, is func(View) bool) View {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		v := look(t, s, id)
		if is(v) {
			return v
		}
		if time.Now().After(deadline) || !v.Live() {
			log, _ := os.ReadFile(s.Record(id).File(record.Panic))
			t.Fatalf("it does not become what it is to be: %+v; %s", v.State, log)
		}
	}
}

func TestAJobFromItsStartToItsEnd(t *testing.T) {
	s := open(t)
	project, program := fakeHome(t, "OC_FAKE=slowfirst", "OC_FAKE_SEC=0.4", "OC_FAKE_TEXT=Hello from the background.")
	// Whoever reads our output sees its end although the job lives, even through a descriptor that we were to leave to our children.
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	loose, err := unix.Dup(int(w.Fd())) // inheritable
	if err != nil {
		t.Fatal(err)
	}
	st := started(t, s, real(project, program))
	if held, err := lock.Held(s.lease(st.ID)); !held || err != nil {
		t.Errorf("it returned before the supervisor held the lease: %v, %v", held, err)
	}
	unix.Close(loose)
	w.Close()
	eof := make(chan error, 1)
	go func() { _, err := io.ReadAll(r); eof <- err }()
	select {
	case err := <-eof:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(200 * time.Millisecond):
		t.Error("the job holds our output")
	}
	v := until(t, s, st.ID, func(v View) bool { return v.State.State == Running && v.Session != "" })
	if held, err := lock.Held(s.Record(st.ID).File(record.Lock)); held || err != nil {
		t.Errorf("record.lock is still held: %v, %v", held, err)
	}
	if sid, err := unix.Getsid(v.Supervisor.PID); err != nil || sid != v.Supervisor.PID || v.Supervisor.PID == os.Getpid() {
		t.Errorf("the supervisor %d is in session %d, %v", v.Supervisor.PID, sid, err)
	}
	if cwd, err := os.Readlink("/proc/" + strconv.Itoa(v.Supervisor.PID) + "/cwd"); err != nil || cwd != s.root {
		t.Errorf("it holds the directory %s, %v", cwd, err)
	}
	if len(proc.Marked(st.ID)) == 0 {
		t.Error("no process carries the marker of a job that runs")
	}
	v = waited(t, s, st.ID)
	res, err := s.Result(v)
	if v.State.State != Succeeded || err != nil || res.Text != "Hello from the background." || !slices.Contains(res.Notes, "delivered OK") {
		t.Errorf("%+v, %+v, %v", v.State, res, err)
	}
	if v.StartedAt == nil || v.EndedAt == nil || !v.StartedAt.After(v.CreatedAt) || v.Dead != "" {
		t.Errorf("%+v", v.State)
	}
	if log, err := os.ReadFile(s.Record(st.ID).File(record.Panic)); err != nil || len(log) != 0 {
		t.Errorf("the supervisor said %q, %v", log, err)
	}
	for _, name := range []string{record.Reserve, record.Tmp} {
		if exists(s.Record(st.ID).File(name)) {
			t.Errorf("%s is still there", name)
		}
	}
	if told := news(t, s, "shell", 9); len(told) != 1 || told[0] != st.ID {
		t.Errorf("told %v", told)
	}
}

func TestTheTwinOfAStart(t *testing.T) {
	s := open(t)
	project, program := fakeHome(t, "OC_FAKE=hang")
	o := real(project, program)
	o.Reuse = true
	st := started(t, s, o)
	self, _ := os.Executable()
	again, reused, err := s.Start(t.Context(), self, o, time.Now())
	if err != nil || !reused || again.ID != st.ID {
		t.Errorf("%+v, %v, %v", again, reused, err)
	}
	if ids, err := s.IDs(); err != nil || len(ids) != 1 {
		t.Errorf("%v, %v", ids, err)
	}
}

func TestCancelLeavesNoProcess(t *testing.T) {
	s := open(t)
	project, program := fakeHome(t, "OC_FAKE=child:deaf,ignore-term")
	st := started(t, s, real(project, program))
	until(t, s, st.ID, func(v View) bool { return v.Session != "" && len(proc.Marked(st.ID)) >= 3 })
	began := time.Now()
	v, err := s.Cancel(t.Context(), st.ID, "shell", began)
	if err != nil || v.State.State != Cancelled || v.Session == "" || v.Dead != "" {
		t.Errorf("%+v, %v", v.State, err)
	}
	if left := proc.Marked(st.ID); len(left) != 0 || time.Since(began) > 4*time.Second {
		t.Errorf("after %v: %v", time.Since(began), left)
	}
	if res, err := s.Result(v); err != nil || res.Status != fault.Cancelled {
		t.Errorf("%+v, %v", res, err)
	}
}

// The kill of a supervisor ends its worker too, and the session of the run is known.
func TestTheKillOfASupervisor(t *testing.T) {
	s := open(t)
	project, program := fakeHome(t, "OC_FAKE=child:deaf,ignore-term")
	st := started(t, s, real(project, program))
	v := until(t, s, st.ID, func(v View) bool { return v.Session != "" && len(proc.Marked(st.ID)) >= 3 })
	if err := v.Supervisor.Kill(); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	v = waited(t, s, st.ID)
	if v.State.State != Lost || v.Session == "" || time.Since(killed) > 3*time.Second {
		t.Errorf("after %v: %+v", time.Since(killed), v.State)
	}
	if left := proc.Marked(st.ID); len(left) != 0 {
		t.Errorf("%v", left)
	}
}

func TestWhatEndsBeforeItsRun(t *testing.T) {
	s := open(t)
	project, program := fakeHome(t)
	blocker := in(t, s, Running)
	defer blocker.dies()
	waiting := real(project, program)
	waiting.After = []string{blocker.state.ID}
	queued := real(project, program)
	queued.Launch.MaxJobs = 1
	missing := real(project, filepath.Join(project, "none"))
	for name, c := range map[string]struct {
		o      Order
		before Phase
		act    func(id string)
		want   Phase
		exit   int
	}{
		"cancelled while it waits": {waiting, Waiting, func(id string) { s.Cancel(t.Context(), id, "shell", time.Now()) }, Cancelled, 6},
		"cancelled in the queue":   {queued, Queued, func(id string) { s.Cancel(t.Context(), id, "shell", time.Now()) }, Cancelled, 6},
		"opencode is not there":    {missing, "", func(string) {}, Failed, 13},
		"killed while it waits":    {waiting, Waiting, func(id string) { look(t, s, id).Supervisor.Kill() }, Lost, 18},
		"killed in the queue":      {queued, Queued, func(id string) { look(t, s, id).Supervisor.Kill() }, Lost, 18},
	} {
		t.Run(name, func(t *testing.T) {
			st := started(t, s, c.o)
			if c.before != "" {
				until(t, s, st.ID, func(v View) bool { return v.State.State == c.before && v.Supervisor != nil })
			}
			c.act(st.ID)
			if v := waited(t, s, st.ID); v.State.State != c.want || *v.Exit != c.exit || c.before != "" && v.StartedAt != nil {
				t.Errorf("%+v", v.State)
			} else if res, err := s.Result(v); err != nil || res.ID != st.ID || res.Exit != c.exit {
				t.Errorf("%+v, %v", res, err)
			}
		})
	}
	skipped, gone := started(t, s, waiting), started(t, s, queued)
	os.Remove(s.Record(gone.ID).File(record.Prompt))
	blocker.finish(ended(blocker, fault.RunFailed))
	if v := waited(t, s, skipped.ID); v.State.State != Skipped || *v.Exit != 20 {
		t.Errorf("%+v", v.State)
	}
	if v := waited(t, s, gone.ID); v.State.State != Lost || v.StartedAt == nil || !strings.Contains(v.Reason, "the task of job") {
		t.Errorf("%+v", v.State)
	}
}

// A supervisor that does not come up is told of, and the job has failed.
func TestNoSupervisor(t *testing.T) {
	s := open(t)
	project, program := fakeHome(t)
	self, _ := os.Executable()
	for how, want := range map[string]string{"dies": "ended before it had the lease", "complains": "the disk is on fire", "": "no such file"} {
		t.Setenv("JOB_TEST_SUPERVISOR", how)
		binary := self
		if how == "" {
			binary = filepath.Join(project, "none")
		}
		st, _, err := s.Start(t.Context(), binary, real(project, program), time.Now())
		f := fault.Of(err)
		if f == nil || f.Kind != fault.RunFailed || !strings.Contains(f.Reason, want) || !strings.Contains(strings.Join(f.Hints, ""), "oc-job retry "+st.ID) {
			t.Errorf("%q: %v", how, err)
		}
		v := look(t, s, st.ID)
		if v.State.State != Failed || *v.Exit != 2 || !strings.Contains(v.Reason, want) || exists(filepath.Join(s.root, activeDir, st.ID)) {
			t.Errorf("%q: %+v", how, v.State)
		}
		if res, err := s.Result(v); err != nil || !strings.Contains(res.Reason, want) {
			t.Errorf("%q: %+v, %v", how, res, err)
		}
	}
}

// A supervisor does nothing without its pipes.
func TestSuperviseWithoutAnAssignment(t *testing.T) {
	for _, args := range [][]string{nil, {"oc-job"}, {"oc-job", supervisorRole}, {"oc-job", supervisorRole, "../x"}, {"oc-job", supervisorRole, "20261129-193015-0k7u2m", "x"}, {"oc-job", "list", "20261129-193015-0k7u2m"}} {
		if _, ok, err := Supervise(args, nil, nil); ok || err != nil {
			t.Errorf("%v: %v %v", args, ok, err)
		}
	}
	for _, text := range []string{"", `{"root":"/x"`, "null and more"} {
		in, out, _ := os.Pipe()
		out.WriteString(text)
		out.Close()
		hear, say, _ := os.Pipe()
		if _, ok, err := Supervise([]string{"oc-job", supervisorRole, "20261129-193015-0k7u2m"}, in, say); !ok || err == nil {
			t.Errorf("%q: %v %v", text, ok, err)
		}
		if said, err := io.ReadAll(hear); len(said) != 0 || err != nil {
			t.Errorf("%q: said %q, %v", text, said, err)
		}
	}
}

// Whoever started it has died: the supervisor that has the lease goes on.
func TestTheStarterDiesBeforeTheLease(t *testing.T) {
	s := open(t)
	j := made(t, s, order())
	id := j.dies()
	r, w, _ := os.Pipe()
	r.Close() // nobody listens any more
	a, err := s.adopt(t.Context(), Supervision{ID: id, say: w})
	if err != nil || a == nil {
		t.Fatalf("%v, %v", a, err)
	}
	if v := look(t, s, id); v.State.State != Queued || v.Supervisor == nil {
		t.Errorf("%+v", v.State)
	}
	a.dies()
}
