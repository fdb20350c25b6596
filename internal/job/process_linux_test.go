package job

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/lock"
	"opencode-delegate/internal/proc"
	"opencode-delegate/internal/record"
)

func TestAHundredJobsFromTenProcesses(t *testing.T) {
	s := open(t)
	var mu sync.Mutex
	made := map[string]bool{}
	var all sync.WaitGroup
	for range 10 {
		cmd, line := role(t, s, "create")
		all.Go(func() {
			for range 10 {
				id := line()
				mu.Lock()
				if CheckID(id) != nil || made[id] {
					t.Errorf("made %q", id)
				}
				made[id] = true
				mu.Unlock()
			}
			cmd.Wait()
		})
	}
	all.Wait()
	views, err := s.List(t.Context(), func(View) bool { return true })
	if err != nil || len(views) != 100 {
		t.Fatalf("%d records, %v", len(views), err)
	}
	prompts := map[string]bool{}
	for _, v := range views {
		prompt, err := s.ReadPrompt(v.ID)
		if !made[v.ID] || v.State.State != Lost || err != nil || prompts[prompt] {
			t.Errorf("%+v, %q, %v", v.State, prompt, err)
		}
		prompts[prompt] = true
		if _, err := s.Result(v); err != nil {
			t.Error(err)
		}
	}
	if !slices.IsSortedFunc(views, func(a, b View) int { return compare(b.ID, a.ID) }) {
		t.Error("not the newest first")
	}
}

func TestSupervisorsOfOtherProcesses(t *testing.T) {
	s := open(t)
	cmd, line := role(t, s, "supervise")
	id := line()
	if v := look(t, s, id); v.State.State != Running || v.Supervisor.PID != cmd.Process.Pid || !v.Supervisor.Lives() {
		t.Fatalf("%+v", v.State)
	}
	// One that is stopped lives; nothing is decided by the time that it is silent.
	cmd.Process.Signal(syscall.SIGSTOP)
	time.Sleep(100 * time.Millisecond)
	if v := look(t, s, id); v.State.State != Running {
		t.Errorf("stopped: %+v", v.State)
	}
	waited := make(chan View, 1)
	go func() {
		v, err := s.Wait(t.Context(), id)
		if err != nil {
			t.Error(err)
		}
		waited <- v
	}()
	time.Sleep(50 * time.Millisecond)
	cmd.Process.Kill()
	cmd.Wait()
	killed := time.Now()
	if v := look(t, s, id); v.State.State != Lost || v.Supervisor.Lives() {
		t.Errorf("killed: %+v", v.State)
	}
	if v := <-waited; v.State.State != Lost || time.Since(killed) > time.Second {
		t.Errorf("the one who waited heard %v later of %+v", time.Since(killed), v.State)
	}
}

// Cancel ends a supervisor that is stopped, and nobody else.
func TestCancelOfAStoppedSupervisor(t *testing.T) {
	t.Parallel()
	s := open(t)
	cmd, line := role(t, s, "supervise")
	id := line()
	cmd.Process.Signal(syscall.SIGSTOP)
	began := time.Now()
	v, err := s.Cancel(t.Context(), id, "shell", began)
	if err != nil || v.State.State != Cancelled || time.Since(began) < reaction || time.Since(began) > reaction+2*time.Second {
		t.Errorf("after %v: %+v, %v", time.Since(began), v.State, err)
	}
}

func TestAReaderThatIsStoppedWithItsLock(t *testing.T) {
	t.Parallel()
	s := open(t)
	id := in(t, s, Running).dies()
	cmd, line := role(t, s, "hold", "JOB_TEST_PATH="+s.Record(id).File(record.Lock))
	if said := line(); said != "<nil>" {
		t.Fatal(said)
	}
	cmd.Process.Signal(syscall.SIGSTOP)
	ctx, cancel := context.WithTimeout(t.Context(), 2*lockTime)
	defer cancel()
	if v, err := s.Wait(ctx, id); err != nil || v.State.State != Lost {
		t.Errorf("%+v, %v", v.State, err)
	}
}

// What a dead supervisor has left of its worker is ended by the next reader, at once where it obeys.
func TestOrphansAreEnded(t *testing.T) {
	s := open(t)
	for script, grace := range map[string]time.Duration{
		"exec sleep 100": 0, `trap "" TERM; while :; do sleep 1; done`: orphanGrace,
	} {
		j := in(t, s, Running)
		orphan := exec.Command("setsid", "sh", "-c", script)
		orphan.Env = append(os.Environ(), proc.MarkerEnv+"="+j.state.ID)
		if err := orphan.Start(); err != nil {
			t.Fatal(err)
		}
		go orphan.Wait()
		defer orphan.Process.Kill()
		for deadline := time.Now().Add(5 * time.Second); len(proc.Marked(j.state.ID)) == 0 && time.Now().Before(deadline); {
			time.Sleep(5 * time.Millisecond)
		}
		time.Sleep(50 * time.Millisecond)
		if look(t, s, j.state.ID); len(proc.Marked(j.state.ID)) == 0 {
			t.Error("the process of a living job was ended")
		}
		began := time.Now()
		if v := look(t, s, j.dies()); v.State.State != Lost {
			t.Errorf("%+v", v.State)
		}
		if d := time.Since(began); d < grace || d > grace+time.Second || len(proc.Marked(j.state.ID)) != 0 {
			t.Errorf("%s: after %v it left %v", script, d, proc.Marked(j.state.ID))
		}
	}
}

// A pipe in place of any file of a record has nobody at its other end, and hangs no reader.
func TestPipesHangNobody(t *testing.T) {
	s := open(t)
	for _, name := range []string{
		record.State, record.Lease, record.Lock, record.Request, record.Launch, record.Events, record.Stderr, record.Progress, record.Prompt, record.Result,
		record.Text, record.Cancel, record.Tmp, record.Reserve,
	} {
		j := in(t, s, Running)
		path := j.Record.File(name)
		id := j.dies()
		os.RemoveAll(path)
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
		done := make(chan View, 1)
		go func() {
			v, err := s.Look(t.Context(), id)
			if err != nil {
				t.Error(name, err)
			}
			s.List(t.Context(), func(View) bool { return true })
			s.ReadPrompt(id)
			s.ReadProgress(id)
			s.ReadLaunch(id)
			s.ReadRequest(id)
			s.Result(v)
			s.Cancel(t.Context(), id, "shell", time.Now())
			done <- v
		}()
		want := Lost
		switch name {
		case record.State, record.Lease:
			want = Unreadable
		case record.Cancel:
			want = Cancelled
		}
		select {
		case v := <-done:
			if v.State.State != want {
				t.Errorf("%s: %+v %s", name, v.State, v.Problem)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("a reader hangs at %s", name)
		}
	}
}

func TestARecordOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a directory away")
	}
	s := open(t)
	id := in(t, s, Running).dies()
	if err := os.Chown(s.dir(id), 65534, 65534); err != nil {
		t.Fatal(err)
	}
	if v := look(t, s, id); v.State.State != Unreadable || !strings.Contains(v.Problem, "your own") {
		t.Errorf("%+v", v)
	}
}

// inside runs one test of this file in a mount namespace of its own, where dir is a small disk.
func inside(t *testing.T, options string) (dir string, ok bool) {
	t.Helper()
	if dir = os.Getenv("JOB_TEST_DISK"); dir != "" {
		return dir, true
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	flags := "-m"
	if os.Geteuid() != 0 {
		flags = "-rm"
	}
	dir = t.TempDir()
	cmd := exec.Command("unshare", flags, "sh", "-c", `mount -t tmpfs -o mode=700,`+options+` none "$1" && exec "$2" -test.run="^$3\$" -test.v`, "sh", dir, self, t.Name())
	cmd.Env = append(os.Environ(), "JOB_TEST_DISK="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("%v\n%s", err, out)
	}
	return "", false
}

func TestReadOnlyState(t *testing.T) {
	dir, ok := inside(t, "size=4m")
	if !ok {
		return
	}
	s, err := OpenStore(filepath.Join(dir, "state"), nil)
	if err != nil {
		t.Fatal(err)
	}
	lost, done, wanted, result := in(t, s, Running), in(t, s, Running), in(t, s, Running), in(t, s, Running)
	done.finish(ended(done, fault.OK))
	s.mark(wanted.state.ID, wish{By: "shell"})
	result.Record.WriteLast(record.Result, ended(result, fault.NoChanges))
	for _, j := range []*Job{lost, wanted, result} {
		j.dies()
	}
	if err := syscall.Mount("none", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	s, err = OpenStore(s.root, nil)
	if err != nil {
		t.Fatalf("it cannot even be read: %v", err)
	}
	for range 2 {
		for j, want := range map[*Job]Phase{lost: Lost, done: Succeeded, wanted: Cancelled, result: Failed} {
			if v := look(t, s, j.state.ID); v.State.State != want {
				t.Errorf("%+v, want %s", v.State, want)
			}
		}
	}
	if live, err := s.Live(t.Context()); err != nil || len(live) != 0 {
		t.Errorf("%v %v", live, err)
	}
	if _, _, err := s.create(t.Context(), order(), time.Now()); kindOf(err) != fault.Usage || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("%v", err)
	}
	if _, _, err := s.create(t.Context(), foreground(), time.Now()); kindOf(err) != fault.Usage {
		t.Errorf("%v", err)
	}
}

func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for b := make([]byte, 4096); ; {
		if _, err := f.Write(b); err != nil {
			return
		}
	}
}

func TestFullDisk(t *testing.T) {
	dir, ok := inside(t, "size=1m")
	if !ok {
		return
	}
	s, err := OpenStore(filepath.Join(dir, "state"), nil)
	if err != nil {
		t.Fatal(err)
	}
	ends, dies, wanted := in(t, s, Running), in(t, s, Running), in(t, s, Running)
	s.mark(wanted.state.ID, wish{By: "shell"})
	fill(t, filepath.Join(dir, "fill"))
	// A running job ends with its verdict, in the room that it has reserved.
	res := ended(ends, fault.OK)
	res.Text = strings.Repeat("long ", 20<<10)
	if err := ends.finish(res); err != nil {
		t.Errorf("a job cannot end: %v", err)
	}
	v := look(t, s, ends.state.ID)
	if got, err := s.Result(v); v.State.State != Succeeded || err != nil || got.Status != fault.OK || !got.TextTruncated {
		t.Errorf("%+v, %v", v.State, err)
	}
	dies.dies()
	wanted.dies()
	fill(t, filepath.Join(dir, "fill2"))
	for range 2 {
		if v := look(t, s, dies.state.ID); v.State.State != Lost {
			t.Errorf("%+v", v.State)
		}
		if v := look(t, s, wanted.state.ID); v.State.State != Cancelled {
			t.Errorf("%+v", v.State)
		}
	}
	fill(t, filepath.Join(dir, "fill3"))
	if _, _, err := s.create(t.Context(), order(), time.Now()); kindOf(err) != fault.Usage || !strings.Contains(err.Error(), "no space") {
		t.Errorf("in the background: %v", err)
	}
	j, _, err := s.create(t.Context(), foreground(), time.Now())
	if err != nil || j.lost == nil {
		t.Fatalf("in the foreground: %v", err)
	}
	if live, err := s.Live(t.Context()); err != nil {
		t.Errorf("%v %v", live, err)
	}
	// There is room again: the record then has what comes, under a lease.
	for _, name := range []string{"fill", "fill2", "fill3"} {
		os.Remove(filepath.Join(dir, name))
	}
	os.Mkdir(j.Record.Path(), 0o700)
	at := time.Now()
	j.keep(func(st *State) { st.State, st.StartedAt = Running, &at })
	if held, err := lock.Held(s.lease(j.state.ID)); !held || err != nil {
		t.Errorf("its record has no lease: %v, %v", held, err)
	}
	if v := look(t, s, j.state.ID); v.State.State != Running {
		t.Errorf("%+v", v.State)
	}
	if err := j.finish(ended(j, fault.OK)); err == nil {
		t.Error("that the record is not complete is not told")
	}
	if v := look(t, s, j.state.ID); v.State.State != Succeeded {
		t.Errorf("%+v", v.State)
	}
}
