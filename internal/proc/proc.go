// Package proc runs one child program and owns every process that comes of it.
//
// The child is started by a guardian: this binary again, in a session of its own, parent of the child and a child
// subreaper, so that no descendant can leave by double fork or setsid. The tool is a subreaper too, for the case that the
// guardian itself is killed; and when the tool dies, the guardian sees the end of a pipe and kills everything at once. The census of
// a tree is its descendants plus each process that carries the run's marker in its environment; a process is known by
// pid and start time, a zombie does not count.
//
//	tool ── control pipe ──▶ guardian ── parent of ──▶ child ──▶ its tools, daemons, servers
//	  ◀──── status pipe ────                 └─ adopts whatever is orphaned
//
// The tool sends every signal itself, so that a guardian that is stopped or slow delays nothing; the guardian reaps,
// reports, and is there for the case that the tool dies.
//
// A program that uses this package calls [Main] first of all. Being a subreaper has a price: what the tool's other
// children leave behind (a daemonised `git maintenance`) becomes a child of the tool, not of init. While a [Process]
// lives, the tool must start no other child in a session of its own, unless that child is the tool's own binary: after
// the death of a guardian it could not be told from a daemon of the tree.
//
// On macOS there is no subreaper: the census adds the process groups that the tree was seen to use, and a daemon that
// changed group, cleared its environment and lost its parent between two looks is missed. On Windows a job object holds
// the tree, without guardian, and nothing leaves it.
//
// The package knows no opencode.
package proc

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// MarkerEnv names the environment variable that every process of a run inherits. Its value is Command.Marker.
const MarkerEnv = "OC_DELEGATE_RUN"

// A Command is a program to run. Nothing of it passes through a shell.
type Command struct {
	Argv []string // Argv[0] is an absolute path
	Dir  string   // absolute
	Env  []string // the whole environment, "NAME=value"; the marker is added
	// Stdin is fed to the child through a pipe; nil means the null device. It is never the caller's own stdin. A Read
	// that blocks for ever keeps its goroutine, but delays nothing else.
	Stdin io.Reader
	// Marker is unique to the run: its job id. 1 to 200 bytes, no control characters. Runs beside each other that belong together
	// have a part of their own behind a dot, "ID.2": who looks for the marker ID finds all of them.
	Marker string
	Grace  time.Duration // from TERM to KILL; 0 means KILL follows at once
}

// An Exit says how a child ended and what it left behind.
type Exit struct {
	Code   int    // exit code; -1 when a signal ended it or it is not known
	Signal string // "SIGKILL", …; empty when it exited or it is not known
	ByUs   bool   // Stop or Kill was called, or the context was over, and the child still lived then
	// Survivors are the processes that still lived when the child had ended, and were ended by us.
	Survivors []Survivor
	// Remaining are the processes that SIGKILL did not end in time, or that belong to another user. Normally empty. The guardian goes
	// on killing what can be killed.
	Remaining []Survivor
	CPU       time.Duration // user + system of the child and all it waited for
	// MaxRSS is in bytes, of the largest single process; 0 = not known. On Linux it is never below the guardian's own
	// size, since the kernel counts the memory that the child shared with it before its exec.
	MaxRSS int64
}

// A Survivor is a process that outlived the child.
type Survivor struct {
	PID  int    // 0 when it is not known
	Name string // at most 256 bytes of its command line, or its name in brackets; control characters are replaced
}

// A Carrier is a process with the marker of a run in its environment.
type Carrier struct {
	Survivor
	Marker string
}

// Pipes are the read ends of the child's output. Both must be read to their end or closed.
type Pipes struct{ Stdout, Stderr *Output }

// A Process is a started child with everything that comes of it. Its methods may be called from any goroutine.
type Process struct {
	Pipes

	pid          int
	exited, done chan struct{}
	stop, kill   chan struct{}
	stopOnce     sync.Once
	killOnce     sync.Once
	exit         Exit // valid when done is closed
}

func newProcess(pid int, p Pipes) *Process {
	return &Process{
		Pipes: p, pid: pid,
		exited: make(chan struct{}), done: make(chan struct{}),
		stop: make(chan struct{}), kill: make(chan struct{}),
	}
}

// PID is the process id of the child itself.
func (p *Process) PID() int { return p.pid }

// Exited is closed when the child itself has ended; what it left behind is being ended from then on.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Done is closed when the tree is empty and the child's end is known.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait returns when Done is closed. It may be called any number of times.
func (p *Process) Wait() Exit {
	<-p.done
	return p.exit
}

// Stop asks the whole tree to end: TERM at once, KILL after the grace, until nothing is left. It returns at once and
// may be called at any time, any number of times; [Process.Done] says when it is over, at most a second after the grace
// unless processes arise faster than they can be killed or cannot be killed at all.
func (p *Process) Stop() { p.stopOnce.Do(func() { close(p.stop) }) }

// Kill is Stop without grace; it also cuts short the grace of an earlier Stop.
func (p *Process) Kill() {
	p.killOnce.Do(func() { close(p.kill) })
	p.Stop()
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// check refuses what exec would truncate or misread.
func (c *Command) check() error {
	if len(c.Argv) == 0 {
		return errors.New("proc: no program to start")
	}
	if !filepath.IsAbs(c.Argv[0]) {
		return fmt.Errorf("proc: program %q is not an absolute path", c.Argv[0])
	}
	if !filepath.IsAbs(c.Dir) {
		return fmt.Errorf("proc: directory %q of %s is not an absolute path", c.Dir, c.Argv[0])
	}
	if err := checkMarker(c.Marker); err != nil {
		return err
	}
	if c.Grace < 0 {
		return fmt.Errorf("proc: grace %v is negative", c.Grace)
	}
	if strings.ContainsRune(c.Dir, 0) {
		return fmt.Errorf("proc: directory %q holds a NUL", c.Dir)
	}
	for i, a := range c.Argv {
		if strings.ContainsRune(a, 0) {
			return fmt.Errorf("proc: argument %d of %s holds a NUL", i, c.Argv[0])
		}
	}
	for _, kv := range c.Env {
		name, _, ok := strings.Cut(kv, "=")
		if !ok || name == "" && !windowsDrive(kv) {
			return fmt.Errorf("proc: environment entry %q has no name", head(kv, 40))
		}
		if strings.ContainsRune(kv, 0) {
			return fmt.Errorf("proc: environment variable %q holds a NUL", head(name, 40))
		}
	}
	return nil
}

// windowsDrive reports an entry such as "=C:=C:\dir", by which Windows keeps a directory for each drive.
func windowsDrive(kv string) bool { return len(kv) > 3 && kv[0] == '=' && kv[2] == ':' && kv[3] == '=' }

func checkMarker(m string) error {
	if m == "" || len(m) > 200 {
		return fmt.Errorf("proc: marker of %d bytes, want 1 to 200", len(m))
	}
	for _, r := range m {
		if r < ' ' || r == 0x7f {
			return fmt.Errorf("proc: marker %q holds a control character", m)
		}
	}
	return nil
}

// environ is the environment of the child: Env with exactly one marker, first, where a bounded reader finds it.
func (c *Command) environ() []string {
	env := make([]string, 1, len(c.Env)+1)
	env[0] = MarkerEnv + "=" + c.Marker
	for _, kv := range c.Env {
		if !strings.HasPrefix(kv, MarkerEnv+"=") {
			env = append(env, kv)
		}
	}
	return env
}

func head(s string, n int) string {
	if len(s) > n {
		return s[:n] + "…"
	}
	return s
}
