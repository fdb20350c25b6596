package doctor

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"opencode-delegate/internal/job"
	"opencode-delegate/internal/lock"
	"opencode-delegate/internal/proc"
	"opencode-delegate/internal/redact"
	"opencode-delegate/internal/testplace"
)

// sleeper starts a process; marker is in its environment.
func sleeper(t *testing.T, marker string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sleep", "100")
	cmd.Env = append(os.Environ(), proc.MarkerEnv+"="+marker)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }()
	t.Cleanup(func() { cmd.Process.Kill(); <-ended })
	return cmd
}

// identityOf reads the identity of a process without the code under test.
func identityOf(t *testing.T, pid int) proc.ID {
	t.Helper()
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	start, err := strconv.ParseUint(fields[19], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return proc.ID{PID: pid, Start: start, Boot: proc.Boot()}
}

func TestOrphans(t *testing.T) {
	t.Parallel()
	p := testplace.Fake(t)
	root := filepath.Join(p.Root, "state")
	if _, err := job.OpenStore(root, redact.New(nil)); err != nil {
		t.Fatal(err)
	}
	ended, live := forge(t, root, job.Succeeded, unchanged), forge(t, root, job.Running, unchanged)
	hold(t, filepath.Join(root, "jobs", live, "lease"))
	orphan, worker := sleeper(t, ended), sleeper(t, live)
	m := machineOf(p)
	r := examine(t, m)
	f := r.want("orphans", Warn, "1 process ", strconv.Itoa(orphan.Process.Pid)+" (sleep 100) of job "+ended, "--fix")
	if strings.Contains(f.What, strconv.Itoa(worker.Process.Pid)) {
		t.Errorf("a worker counts as an orphan: %s", f.What)
	}
	m.Fix = true
	examine(t, m).want("orphans", OK, "ended 1 process: "+strconv.Itoa(orphan.Process.Pid))
	if err := orphan.Process.Signal(syscall.Signal(0)); err == nil {
		t.Error("the orphan lives")
	}
	if err := worker.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the worker of a living job: %v", err)
	}
	examine(t, m).none("orphans")
}

func TestStoppedSupervisor(t *testing.T) {
	t.Parallel()
	p := testplace.Fake(t)
	root := filepath.Join(p.Root, "state")
	if _, err := job.OpenStore(root, redact.New(nil)); err != nil {
		t.Fatal(err)
	}
	super := sleeper(t, "none")
	id := identityOf(t, super.Process.Pid)
	live := forge(t, root, job.Running, func(st *job.State) { st.Supervisor = &id })
	hold(t, filepath.Join(root, "jobs", live, "lease"))
	examine(t, machineOf(p)).none("stopped")
	if err := super.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	pid := strconv.Itoa(id.PID)
	examine(t, machineOf(p)).want("stopped", Warn, live, "process "+pid, "kill -CONT "+pid, "oc-job cancel "+live)
}

func TestHeldLocks(t *testing.T) {
	t.Parallel()
	p := testplace.Fake(t)
	root := filepath.Join(p.Root, "state")
	if _, err := job.OpenStore(root, redact.New(nil)); err != nil {
		t.Fatal(err)
	}
	live := forge(t, root, job.Running, unchanged)
	hold(t, filepath.Join(root, "jobs", live, "lease"))
	hold(t, filepath.Join(root, "jobs", live, "record.lock"))
	queue, err := lock.Try(filepath.Join(root, "queue.lock"))
	if err != nil {
		t.Fatal(err)
	}
	r := examine(t, machineOf(p))
	own := strconv.Itoa(os.Getpid())
	r.want("held", Warn, "queue.lock is held", own+" (", "kill -CONT "+own)
	r.want("held", Warn, "record.lock of job "+live, own+" (")
	queue.Release()
	for _, f := range examine(t, machineOf(p)).Findings {
		if f.Name == "held" && strings.Contains(f.What, "queue.lock") {
			t.Errorf("%+v", f)
		}
	}
}

func TestRoomFor(t *testing.T) {
	for in, want := range map[[2]uint64]int64{{0, 0}: -1, {10, 3}: 3, {10, 0}: 0, {1 << 63, 1<<64 - 1}: 1 << 62} {
		if got := roomFor(in[0], in[1]); got != want {
			t.Errorf("%v: %d, want %d", in, got, want)
		}
	}
}

func TestBoth(t *testing.T) {
	orphan := func(pid int) proc.Carrier { return proc.Carrier{Survivor: proc.Survivor{PID: pid}, Marker: "m"} }
	got := both(
		job.Survey{Jobs: 1, Locks: []string{"a", "b"}, Orphans: []proc.Carrier{orphan(1), orphan(2)}},
		job.Survey{Jobs: 2, Locks: []string{"b", "c"}, Orphans: []proc.Carrier{orphan(2), orphan(3)}, Leftovers: []string{"x"}},
	)
	if got.Jobs != 2 || len(got.Leftovers) != 1 || !slices.Equal(got.Locks, []string{"b"}) || !slices.Equal(got.Orphans, []proc.Carrier{orphan(2)}) {
		t.Errorf("%+v", got)
	}
}

func TestAfter(t *testing.T) {
	f := Finding{Name: "x", Level: Warn, What: "w", Remedy: "r"}
	if got := after(f, "did", true); got != (Finding{"x", Warn, "w", "r", "did"}) {
		t.Errorf("%+v", got)
	}
	if got := after(f, "did", false); got != (Finding{"x", OK, "w", "", "did"}) {
		t.Errorf("%+v", got)
	}
}
