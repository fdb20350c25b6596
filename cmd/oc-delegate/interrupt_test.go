package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// While the task is still being read nothing has started: an interrupt ends the call at once and leaves no record.
func TestInterruptWhileReading(t *testing.T) {
	p := fakePlace(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	cmd := p.command("", "-")
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = r, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r.Close()
	w.WriteString("half a task")
	time.Sleep(300 * time.Millisecond)
	start := time.Now()
	cmd.Process.Signal(syscall.SIGINT)
	cmd.Wait()
	if d := time.Since(start); d > time.Second {
		t.Errorf("took %v", d)
	}
	if s := signalOf(t, stderr.String()); s["status"] != "INTERRUPTED" || cmd.ProcessState.ExitCode() != 130 {
		t.Errorf("%v, exit %d", s, cmd.ProcessState.ExitCode())
	}
	if jobs, _ := filepath.Glob(filepath.Join(p.Root, "state", "jobs", "*")); len(jobs) != 0 {
		t.Errorf("records: %v", jobs)
	}
}

// Whoever does not read our output cannot keep the call from being ended, nor the run from being recorded.
func TestNobodyReads(t *testing.T) {
	for name, c := range map[string]struct {
		mode  string
		args  []string
		state string
	}{
		"stdout": {"bigline:3", nil, "succeeded"},
		"stderr": {"many-events:3000,hang", []string{"--progress", "plain", "--timeout", "3s", "--grace", "1s"}, "timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			p := fakePlace(t, "OC_FAKE="+c.mode)
			r, w, err := os.Pipe() // which nobody reads
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			cmd := p.command("", append(c.args, "x")...)
			if cmd.Stdout, cmd.Stderr = w, nil; name == "stderr" {
				cmd.Stdout, cmd.Stderr = nil, w
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			w.Close()
			var state []byte
			for deadline := time.Now().Add(20 * time.Second); !bytes.Contains(state, []byte(`"state": "`+c.state)); time.Sleep(50 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatalf("not recorded as %s: %s", c.state, state)
				}
				if names, _ := filepath.Glob(filepath.Join(p.Root, "state/jobs/*/state.json")); len(names) == 1 {
					state, _ = os.ReadFile(names[0])
				}
			}
			time.Sleep(200 * time.Millisecond)
			cmd.Process.Signal(syscall.SIGTERM)
			done := make(chan struct{})
			go func() { cmd.Wait(); close(done) }()
			select {
			case <-done:
			case <-time.After(3 * time.Second):
				cmd.Process.Kill()
				t.Error("SIGTERM does not end it")
			}
		})
	}
}

// A follower heeds a signal at whatever moment it comes: before there is a job it ends, afterwards it leaves the job alone.
func TestInterruptWhileStarting(t *testing.T) {
	for i := range 12 {
		t.Run(time.Duration(i).String(), func(t *testing.T) {
			p := fakePlace(t, "OC_FAKE=slowfirst", "OC_FAKE_SEC=1")
			cmd := p.command("", "--max-wait", "60s", "x")
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Duration(4+3*i) * time.Millisecond)
			start := time.Now()
			cmd.Process.Signal(syscall.SIGTERM)
			cmd.Wait()
			if d := time.Since(start); d > 900*time.Millisecond {
				t.Errorf("took %v", d)
			}
			if s, _ := strings.CutPrefix(stderr.String(), ""); s != "" && !strings.Contains(s, `"status":"INTERRUPTED"`) {
				t.Errorf("said %s", s)
			}
			for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
				if left, _ := filepath.Glob(filepath.Join(p.Root, "state/active/*")); len(left) == 0 {
					return
				}
			}
			t.Error("the job does not end")
		})
	}
}
