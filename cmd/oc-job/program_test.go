package main

import (
	"bytes"
	"encoding/json"
	"opencode-delegate/internal/job"
	"opencode-delegate/internal/testplace"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// programs are both commands as they are shipped.
var programs = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "oc-job-built-")
	if err != nil {
		return "", err
	}
	return dir, buildInto(dir, "", ".", "../oc-delegate")
})

// A place is a user's machine on which the programs are called.
type place struct{ *testplace.Place }

// An answer is what one call came to.
type answer struct {
	stdout, stderr string
	exit           int
}

// job runs oc-job.
func (p *place) job(args ...string) answer {
	p.T.Helper()
	dir, err := programs()
	if err != nil {
		p.T.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(dir, "oc-job"), args...)
	cmd.Dir, cmd.Env = p.Project, p.Env
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	_ = cmd.Run() // the exit code tells
	return answer{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

func (a answer) want(t *testing.T, exit int, in string) answer {
	t.Helper()
	if a.exit != exit || !strings.Contains(a.stdout, in) {
		t.Fatalf("exit %d, want %d; stdout %q, want %q in it; stderr: %s", a.exit, exit, a.stdout, in, a.stderr)
	}
	return a
}

// begin starts a job and returns its id.
func (p *place) begin(args ...string) string {
	p.T.Helper()
	return strings.TrimSpace(p.job(append([]string{"start"}, args...)...).want(p.T, 0, "").stdout)
}

func (p *place) state(id string) (st job.State) {
	p.T.Helper()
	data, err := os.ReadFile(filepath.Join(p.Root, "state/jobs", id, "state.json"))
	if err == nil {
		err = json.Unmarshal(data, &st)
	}
	if err != nil {
		p.T.Fatal(err)
	}
	return st
}

// until waits until a file that the worker's command writes is there.
func (p *place) until(what string, ok func() bool) {
	p.T.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.T.Fatalf("%s did not come", what)
		}
	}
}

// command is a call that has not been started.
func (p *place) command(args ...string) *exec.Cmd {
	p.T.Helper()
	dir, err := programs()
	if err != nil {
		p.T.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(dir, "oc-job"), args...)
	cmd.Dir, cmd.Env = p.Project, p.Env
	return cmd
}

func fakePlace(t *testing.T, env ...string) *place {
	t.Helper()
	p := &place{testplace.Fake(t, env...)}
	t.Cleanup(func() { p.endAll() })
	return p
}

// endAll cancels what a test has left running, before its directory is removed.
func (p *place) endAll() {
	records, _ := filepath.Glob(filepath.Join(p.Root, "state/jobs/2*"))
	for _, r := range records {
		if id := filepath.Base(r); p.state(id).Live() {
			p.job("cancel", id)
		}
	}
}
