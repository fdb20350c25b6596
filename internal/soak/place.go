package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

// A place is a user's machine of its own: programs, home, project, state, temporary directory. Everything that runs there is found by the
// path of its program, by its environment, or by its parent.
type place struct {
	root, bin, project, state, tmp string

	mu    sync.Mutex
	calls map[int]*call // of the processes that were started from here, by pid
	log   *os.File
	began time.Time
}

func newPlace(toolDir string) (*place, error) {
	// Not below /tmp, where a writing run may write.
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return nil, err
	}
	root, err := os.MkdirTemp(cache, "oc-delegate-soak-")
	if err != nil {
		return nil, err
	}
	p := &place{root: root, calls: map[int]*call{}, began: time.Now()}
	p.bin, p.project, p.state, p.tmp = p.at("bin"), p.at("project"), p.at("state"), p.at("tmp")
	if err := p.furnish(toolDir); err != nil {
		return nil, errors.Join(err, p.remove())
	}
	return p, nil
}

func (p *place) at(names ...string) string {
	return filepath.Join(append([]string{p.root}, names...)...)
}

func (p *place) furnish(toolDir string) error {
	for _, d := range []string{p.bin, p.project, p.tmp, p.at("home")} {
		if err := os.Mkdir(d, 0o755); err != nil {
			return err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	// Copies: a process is known to be ours by the path of its program, and the checkout may be built anew meanwhile.
	for name, from := range map[string]string{"opencode": self, "oc-job": filepath.Join(toolDir, "oc-job"), "oc-delegate": filepath.Join(toolDir, "oc-delegate")} {
		data, err := os.ReadFile(from)
		if errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("%w: run `make build` first", err)
		}
		if err != nil {
			return err
		}
		if err := os.WriteFile(p.program(name), data, 0o755); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(p.project, "a.txt"), []byte("hello\n"), 0o644); err != nil {
		return err
	}
	p.log, err = os.Create(p.at("log"))
	return err
}

func (p *place) program(name string) string { return filepath.Join(p.bin, name) }

func (p *place) remove() error {
	if p.log != nil {
		p.log.Close()
	}
	return os.RemoveAll(p.root)
}

// note writes a line to the log.
func (p *place) note(format string, args ...any) {
	line := fmt.Sprintf("%9.3f ", time.Since(p.began).Seconds()) + fmt.Sprintf(format, args...) + "\n"
	p.mu.Lock()
	defer p.mu.Unlock()
	p.log.WriteString(line)
}

// marker is in the environment of everything that runs here.
func (p *place) marker() string { return "OC_SOAK=" + p.root }

// taskEnv says in the environment of a process to which task it belongs.
const taskEnv = "OC_SOAK_TASK"

func (p *place) environ(caller string, task int, add []string) []string {
	env := []string{
		"HOME=" + p.at("home"), "PATH=" + os.Getenv("PATH"), "TMPDIR=" + p.tmp, p.marker(), taskEnv + "=" + strconv.Itoa(task),
		"OC_DELEGATE_STATE=" + p.state, "OC_DELEGATE_OPENCODE=" + p.program("opencode"),
	}
	if caller != "" {
		env = append(env, "CLAUDE_CODE_SESSION_ID="+caller)
	}
	return append(env, add...)
}

// A call is one call of a program, and what came of it.
type call struct {
	words          []string
	stdout, stderr string
	exit           int
	begun, ended   time.Time
	open           bool // somebody held its output open after its end

	mu  sync.Mutex
	hit []string // the signals that it got from us
}

// untouched reports whether nothing was done to the process itself.
func (c *call) untouched() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.hit) == 0
}

func (c *call) strike(signal string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hit = append(c.hit, signal)
}

// callTime is after what time a call that has to come back is given up.
const callTime = 3 * time.Minute

// call runs a program to its end. task is that to which it belongs; 0 = none.
func (p *place) call(ctx context.Context, caller string, task int, env []string, program string, words ...string) *call {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	c := &call{words: append([]string{program}, words...), begun: time.Now(), exit: -1}
	cmd := exec.CommandContext(ctx, p.program(program), words...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = p.project, p.environ(caller, task, env), 5*time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Start()
	if err == nil {
		p.mu.Lock()
		p.calls[cmd.Process.Pid] = c
		p.mu.Unlock()
		err = cmd.Wait()
		p.mu.Lock()
		delete(p.calls, cmd.Process.Pid)
		p.mu.Unlock()
		c.exit = cmd.ProcessState.ExitCode()
	}
	c.ended, c.stdout, c.stderr, c.open = time.Now(), stdout.String(), stderr.String(), errors.Is(err, exec.ErrWaitDelay)
	p.note("[%s] task %d %q exit %d after %v hit %v: %.300q %.600q", caller, task, c.words, c.exit, c.ended.Sub(c.begun).Round(time.Millisecond), c.hit, c.stdout, c.stderr)
	return c
}

// started is the call that a process is; nil = it is none.
func (p *place) started(pid int) *call {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls[pid]
}

// endAll kills what is left here.
func (p *place) endAll() {
	for range 20 {
		list := p.processes()
		if len(list) == 0 {
			return
		}
		for _, q := range list {
			_ = q.signal("KILL")
		}
		time.Sleep(50 * time.Millisecond)
	}
}
