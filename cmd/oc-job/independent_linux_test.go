package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"opencode-delegate/internal/job"
)

// Nothing of a job holds what its caller had open: not stdin, stdout and stderr, and not their duplicates.
func TestStartLeavesNothingOpen(t *testing.T) {
	p := fakePlace(t, "OC_FAKE=hang")
	cmd := p.command("start", "-")
	var ends []*os.File // ours, of every descriptor that the command inherits
	pipe := func() (*os.File, *os.File) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		return r, w
	}
	stdinR, stdinW := pipe()
	cmd.Stdin = stdinR
	for range 5 {
		r, w := pipe()
		ends = append(ends, r)
		cmd.ExtraFiles = append(cmd.ExtraFiles, w)
	}
	cmd.Stdout, cmd.Stderr = cmd.ExtraFiles[0], cmd.ExtraFiles[1]
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stdinR.Close()
	for _, w := range cmd.ExtraFiles {
		w.Close()
	}
	io.WriteString(stdinW, "a task")
	stdinW.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	for i, r := range ends {
		r.SetReadDeadline(time.Now().Add(2 * time.Second))
		if _, err := io.Copy(io.Discard, r); err != nil {
			t.Errorf("descriptor %d is still open in the job: %v", i, err)
		}
	}
	// A pipe of which somebody still held the reading end would take this.
	if _, err := stdinW.Write([]byte("x")); err == nil {
		t.Error("stdin is still open")
	}
}

// The job outlives the process group and the session of its caller.
func TestStartSurvivesItsCaller(t *testing.T) {
	p := fakePlace(t, "OC_FAKE=slowfirst", "OC_FAKE_SEC=2")
	dir, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	// A shell that leads a session starts the job; then everybody in the session and the group is killed.
	shell := exec.Command("sh", "-c", `"$0" start x; sleep 100`, filepath.Join(dir, "oc-job"))
	shell.Dir, shell.Env = p.Project, p.Env
	shell.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := shell.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 64)
	n, err := out.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	id := strings.TrimSpace(string(buf[:n]))
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM, syscall.SIGKILL} {
		_ = syscall.Kill(-shell.Process.Pid, sig)
	}
	shell.Wait()
	p.job("wait", "--timeout", "300s", id).want(t, 0, id+" succeeded OK")
}

// The answer to start comes at once, whatever the worker does.
func TestLimitStart(t *testing.T) {
	p := fakePlace(t, "OC_FAKE=hang")
	var best time.Duration
	for range 5 {
		start := time.Now()
		p.begin("--max-jobs", "100", "x")
		if d := time.Since(start); best == 0 || d < best {
			best = d
		}
	}
	t.Logf("start took %v at best of five", best)
	if best > 300*time.Millisecond {
		t.Errorf("start took %v", best)
	}
}

// A hundred starts at once from ten processes: a hundred jobs, a hundred results.
func TestLimitHundredStarts(t *testing.T) {
	p := fakePlace(t, "OC_FAKE=echo")
	var mu sync.Mutex
	ids := map[string]string{}
	var wg sync.WaitGroup
	for caller := range 10 {
		wg.Go(func() {
			for i := range 10 {
				task := fmt.Sprintf("task %d of %d", i, caller)
				cmd := p.command("start", "--max-jobs", "8", task)
				var stderr bytes.Buffer
				cmd.Stderr = &stderr
				out, err := cmd.Output()
				if err != nil {
					t.Errorf("%v: %s", err, stderr.String())
					continue
				}
				mu.Lock()
				ids[strings.TrimSpace(string(out))] = task
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(ids) != 100 {
		t.Fatalf("%d jobs", len(ids))
	}
	args := []string{"wait", "--timeout", "300s"}
	for id := range ids {
		args = append(args, id)
	}
	start := time.Now()
	p.job(args...).want(t, 0, "succeeded OK")
	t.Logf("a hundred jobs, eight at a time, took %v after the last start", time.Since(start))
	for id, task := range ids {
		if got := p.job("result", id).want(t, 0, "").stdout; got != task+"\n" {
			t.Errorf("%s: %q, want %q", id, got, task)
		}
		if st := p.state(id); st.State != job.Succeeded {
			t.Errorf("%s is %s", id, st.State)
		}
	}
}

// A disk that fills up while a job runs does not swallow its verdict; one that is full from the start is said at once.
func TestDiskFullDuringAJob(t *testing.T) {
	p := fakePlace(t, "OC_FAKE=slowfirst,bigline:1", "OC_FAKE_SEC=1")
	dir, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("unshare", "-m", "sh", "-c", `mkdir -p "$OC_DELEGATE_STATE" && mount -t tmpfs -o size=1m,mode=700 none "$OC_DELEGATE_STATE" || exit 99
id=$("$0" start x) || exit 98
cat /dev/zero >"$OC_DELEGATE_STATE/jobs/fill" 2>/dev/null
"$0" wait --timeout 20s $id
"$0" result --json $id
"$0" start y || echo "refused $?"
"$0" status $id
"$0" list --json`, filepath.Join(dir, "oc-job"))
	cmd.Dir, cmd.Env = p.Project, p.Env
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s%s", err, stdout.String(), stderr.String())
	}
	for _, want := range []string{"succeeded OK", `"status":"OK"`, "refused 1", "the result is cut", `"state":"succeeded"`} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("no %q in\n%s\n%s", want, stdout.String(), stderr.String())
		}
	}
	if !strings.Contains(stderr.String(), "no space left") {
		t.Errorf("the refusal does not say why: %s", stderr.String())
	}
}
