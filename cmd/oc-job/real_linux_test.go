package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"opencode-delegate/internal/job"
	"opencode-delegate/internal/proc"
	"opencode-delegate/internal/testplace"
)

// A person starts a job, waits for it, reads it, and goes on in its session.
func TestRealJob(t *testing.T) {
	t.Parallel()
	p := &place{testplace.Real(t)}
	id := p.begin("--write", "--digest", "Please do it. [[mock:write]]")
	p.job("wait", "--timeout", "300s", id).want(t, 0, id+" succeeded OK")
	p.job("result", id).want(t, 0, "mock-out.txt")
	p.job("result", "--diff", id).want(t, 0, "A\tmock-out.txt")
	p.job("logs", id).want(t, 0, "write mock-out.txt")
	session := p.state(id).Session
	more := strings.TrimSpace(p.job("continue", id, "--timeout", "300s", "And now? [[mock:text]]").want(t, 0, "").stdout)
	// Without a change a writing run is NO_CHANGES: the job is the same in all but the task.
	p.job("wait", more).want(t, 7, more+" failed NO_CHANGES")
	if got := p.state(more).Session; got != session || session == "" {
		t.Errorf("continued in %s, want %s", got, session)
	}
	p.job("notify").want(t, 0, more+" failed")
}

// An isolated job goes on in its session, in a copy with its work, also where it was cut off: the session moves with it, and the worker's tools with the session.
func TestRealIsolatedJobGoesOn(t *testing.T) {
	t.Parallel()
	p := &place{testplace.Real(t)}
	id := p.begin("--write", "--isolate", "--verify", "test -e one",
		`Begin. [[mock:[{"tool":"bash","args":{"command":"echo 1 >one","description":"one"}},{"text":"half of it"}]]]`)
	p.job("wait", "--timeout", "300s", id).want(t, 0, id+" succeeded OK")
	more := strings.TrimSpace(p.job("continue", id, "--timeout", "300s",
		`Go on. [[mock:[{"tool":"bash","args":{"command":"cat one && pwd >two && sleep 300","description":"two"}},{"text":"all of it"}]]]`).want(t, 0, "").stdout)
	two := filepath.Join(p.Root, "state/jobs", more, "copies/1/tree/two")
	p.until("the second half", func() bool { _, err := os.Stat(two); return err == nil })
	p.job("cancel", more).want(t, 0, more+" cancelled")
	last := strings.TrimSpace(p.job("continue", more, "--timeout", "300s",
		`Go on. [[mock:[{"tool":"bash","args":{"command":"cat one two && echo 3 >three","description":"three"}},{"text":"all of it"}]]]`).want(t, 0, "").stdout)
	p.job("wait", "--timeout", "300s", last).want(t, 0, last+" succeeded OK")
	if a, b := p.state(id).Session, p.state(last).Session; a != b || a == "" {
		t.Errorf("sessions %q and %q", a, b)
	}
	p.job("diff", "--stat", last).want(t, 0, "three")
	p.job("apply", last).want(t, 0, "")
	for name, want := range map[string]string{"one": "1\n", "two": filepath.Dir(two) + "\n", "three": "3\n"} {
		if got, err := os.ReadFile(filepath.Join(p.Project, name)); string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// Cancelled in the middle of a command that has a child in a session of its own: nothing lives on, and the session can be continued.
func TestRealCancelInACommand(t *testing.T) {
	t.Parallel()
	p := &place{testplace.Real(t)}
	id := p.begin("--write", "--allow-no-changes", "--grace", "2s",
		`Do it. [[mock:[{"tool":"bash","args":{"command":"(trap '' TERM; setsid sleep 301) & touch started; sleep 302","description":"long"}},{"text":"done"}]]]`)
	p.until("the command", func() bool { _, err := os.Stat(filepath.Join(p.Project, "started")); return err == nil })
	start := time.Now()
	p.job("cancel", id).want(t, 0, id+" cancelled")
	if took := time.Since(start); took > 15*time.Second {
		t.Errorf("cancel took %v", took)
	}
	if left := proc.Marked(id); len(left) > 0 {
		t.Errorf("alive: %+v", left)
	}
	p.job("result", id).want(t, 6, "")
	more := strings.TrimSpace(p.job("continue", id, "Say hello. [[mock:text]]").want(t, 0, "").stdout)
	p.job("wait", more).want(t, 0, more+" succeeded OK")
	if a, b := p.state(id).Session, p.state(more).Session; a != b || a == "" {
		t.Errorf("sessions %q and %q", a, b)
	}
	if st := p.state(id); st.State != job.Cancelled {
		t.Errorf("state is %s", st.State)
	}
}

// The supervisor dies in the middle of a command: the truth is told at once, nothing lives on, and recover goes on in the session.
func TestRealSupervisorDies(t *testing.T) {
	t.Parallel()
	p := &place{testplace.Real(t)}
	id := p.begin("--write", "--allow-no-changes",
		`Do it. [[mock:[{"tool":"bash","args":{"command":"touch started; sleep 303","description":"long"}},{"text":"done"}]]]`)
	p.until("the command", func() bool { _, err := os.Stat(filepath.Join(p.Project, "started")); return err == nil })
	st := p.state(id)
	if err := syscall.Kill(st.Supervisor.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	p.until("the end of the supervisor", func() bool { return !st.Supervisor.Lives() }) // it holds what it held until its last thread has gone
	p.job("result", id).want(t, 18, "")
	if left := proc.Marked(id); len(left) > 0 {
		t.Errorf("alive: %+v", left)
	}
	again := p.job("recover", id, "--timeout", "300s").want(t, 0, "")
	if !strings.Contains(again.stderr, "resuming session "+st.Session) {
		t.Errorf("recover said: %s", again.stderr)
	}
	p.job("cancel", strings.TrimSpace(again.stdout)).want(t, 0, "cancelled")

	// What opencode does not have any more is refused, with the reason.
	if err := os.RemoveAll(filepath.Join(p.Root, "home/.local/share/opencode")); err != nil {
		t.Fatal(err)
	}
	refused := p.job("recover", id)
	if refused.exit != 4 || !strings.Contains(refused.stderr, st.Session) {
		t.Errorf("exit %d: %s", refused.exit, refused.stderr)
	}
}

// Six real runs, three at a time: every one has its result.
func TestRealJobsAtOnce(t *testing.T) {
	t.Parallel()
	p := &place{testplace.Real(t)}
	var ids []string
	for range 6 {
		ids = append(ids, p.begin("--max-jobs", "3", "Say it. [[mock:text]]"))
	}
	ended := p.job(append([]string{"wait", "--timeout", "300s"}, ids...)...)
	for _, id := range ids { // the reason of one that failed is said here
		p.job("result", id).want(t, 0, "")
	}
	ended.want(t, 0, ids[5]+" succeeded OK")
}

// A host that kills tools after minutes: in time it is a run like any other, else the job goes on and keeps its result.
func TestRealMaxWait(t *testing.T) {
	t.Parallel()
	p := &place{testplace.Real(t)}
	dir, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	delegate := func(wait string) answer {
		cmd := exec.Command(filepath.Join(dir, "oc-delegate"), "--max-wait", wait, "Say it. [[mock:text]]")
		cmd.Dir, cmd.Env = p.Project, p.Env
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		_ = cmd.Run() // the exit code tells
		return answer{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
	}
	said := delegate("170s").want(t, 0, "").stdout
	if said == "" {
		t.Fatal("no answer")
	}
	late := delegate("1s").want(t, 17, "")
	if late.stdout != "" || !strings.Contains(late.stderr, `"status":"JOB_RUNNING"`) {
		t.Errorf("stdout %q, stderr %s", late.stdout, late.stderr)
	}
	p.job("wait", "--timeout", "300s").want(t, 0, "succeeded OK")
	p.job("result").want(t, 0, said)
}
