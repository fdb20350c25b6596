package realclaude

import (
	"context"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestLeftovers: a process that went away into a session of its own is found, fails the test and is ended.
func TestLeftovers(t *testing.T) {
	p := New(t, Claude{}, "")
	p.Claude.Path = p.Program("claude", "#!/bin/sh\nsetsid sleep 77 >/dev/null 2>&1 &\necho gone\n")
	if r := p.Run(context.Background(), ""); r.Stdout != "gone\n" || r.Exit != 0 {
		t.Fatalf("%+v", r)
	}
	other := exec.Command("sleep", "77")
	other.Env = []string{"CLAUDE_CONFIG_DIR=" + p.Config + "2"}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		other.Process.Kill()
		other.Wait()
	}()
	for end := time.Now().Add(10 * time.Second); len(p.Processes()) == 0 && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
	}
	p.grace = 200 * time.Millisecond
	said := failing(p, p.end)
	p.grace = 5 * time.Second
	if len(said) != 1 || !strings.Contains(said[0], "left running") || !strings.Contains(said[0], "sleep 77") {
		t.Errorf("with a process left the test says %q", said)
	}
	if left := p.Settle(5 * time.Second); len(left) != 0 {
		t.Errorf("still there: %v", left)
	}
	if other.Process.Signal(syscall.Signal(0)) != nil {
		t.Error("a process of another place was ended")
	}
}

// TestDeadline: a run that does not end fails its test, and says what it had printed.
func TestDeadline(t *testing.T) {
	p := New(t, Claude{}, "")
	p.Claude.Path = p.Program("claude", "#!/bin/sh\necho so far\nexec sleep 60\n")
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	started := time.Now()
	said := failing(p, func() { p.Run(ctx, "", "-p") })
	if len(said) != 1 || !strings.Contains(said[0], "deadline exceeded") || !strings.Contains(said[0], "so far") || time.Since(started) > 10*time.Second {
		t.Errorf("after %v the test says %q", time.Since(started), said)
	}
}
