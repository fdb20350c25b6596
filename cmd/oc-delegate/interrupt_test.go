package main

import (
	"bytes"
	"os"
	"path/filepath"
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
	if jobs, _ := filepath.Glob(filepath.Join(p.root, "state", "jobs", "*")); len(jobs) != 0 {
		t.Errorf("records: %v", jobs)
	}
}
