package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"opencode-delegate/internal/delegate"
	"opencode-delegate/internal/testplace"
)

// built is the program as it is shipped: static, without the race detector.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "oc-delegate-built-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "oc-delegate")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", errors.New(string(out))
	}
	return path, nil
})

// builtOnce tells that there is something to clean up.
var builtOnce atomic.Bool

func program(t *testing.T) string {
	t.Helper()
	builtOnce.Store(true)
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// A place is a user's machine on which the program is called.
type place struct{ *testplace.Place }

func realPlace(t *testing.T) *place {
	t.Helper()
	return &place{testplace.Real(t)}
}

func fakePlace(t *testing.T, env ...string) *place {
	t.Helper()
	return &place{testplace.Fake(t, env...)}
}

// An outcome is what one run of the program came to.
type outcome struct {
	stdout, stderr string
	signal         map[string]any
	took           time.Duration
}

func (p *place) command(stdin string, args ...string) *exec.Cmd {
	cmd := exec.Command(program(p.T), args...)
	cmd.Dir, cmd.Env, cmd.Stdin = p.Project, p.Env, strings.NewReader(stdin)
	return cmd
}

// run runs the program, with a task on stdin, and reads its signal line.
func (p *place) run(task string, args ...string) outcome {
	p.T.Helper()
	cmd := p.command(task, append(args, "-")...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	start := time.Now()
	cmd.Run() // the signal line tells more than the exit code
	o := outcome{stdout: stdout.String(), stderr: stderr.String(), took: time.Since(start)}
	lines := strings.Split(strings.TrimSpace(o.stderr), "\n")
	text, ok := strings.CutPrefix(lines[len(lines)-1], "OC_SIGNAL ")
	if !ok || json.Unmarshal([]byte(text), &o.signal) != nil {
		p.T.Fatalf("no signal line at the end of: %s", o.stderr)
	}
	if code := cmd.ProcessState.ExitCode(); float64(code) != o.signal["exit"] {
		p.T.Errorf("exit code %d, signal says %v", code, o.signal["exit"])
	}
	return o
}

// signalOf reads the signal line at the end of stderr.
func signalOf(t *testing.T, stderr string) map[string]any {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	var s map[string]any
	text, ok := strings.CutPrefix(lines[len(lines)-1], "OC_SIGNAL ")
	if !ok || json.Unmarshal([]byte(text), &s) != nil {
		t.Fatalf("no signal line: %s", stderr)
	}
	return s
}

// want checks the status.
func (o outcome) want(t *testing.T, status string) outcome {
	t.Helper()
	if o.signal["status"] != status {
		t.Fatalf("status %v, want %s\nstdout: %.2000s\nstderr: %.4000s", o.signal["status"], status, o.stdout, o.stderr)
	}
	return o
}

// result reads result.json of the run.
func (p *place) result(o outcome) delegate.Result {
	p.T.Helper()
	var r delegate.Result
	record, _ := o.signal["record"].(string)
	data, err := os.ReadFile(filepath.Join(record, "result.json"))
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err != nil {
		p.T.Fatal(err)
	}
	return r
}
