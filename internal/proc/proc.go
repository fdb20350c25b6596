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
// The package knows no opencode.
package proc

import (
	"io"
	"os"
	"time"
)

// MarkerEnv names the environment variable that every process of a run inherits. Its value is Command.Marker.
const MarkerEnv = "OC_DELEGATE_RUN"

// A Command is a program to run. Nothing of it passes through a shell.
type Command struct {
	Argv   []string  // Argv[0] is an absolute path
	Dir    string    // absolute
	Env    []string  // the whole environment, "NAME=value"; the marker is added
	Stdin  io.Reader // nil: the null device. Never the caller's own stdin
	Marker string    // unique to the run: its job id
	Grace  time.Duration
}

// An Exit says how a child ended and what it left behind.
type Exit struct {
	Code   int    // exit code; -1 when a signal ended it or it is not known
	Signal string // "SIGKILL", …; empty when it exited
	ByUs   bool   // we asked it to end: Stop was called, or the context of the tool was over, before it ended
	// Survivors are the processes that still lived when the child had ended, and were ended by us.
	Survivors []Survivor
	CPU       time.Duration // user + system of the child and all it waited for
	MaxRSS    int64         // bytes, the largest single process; 0 = not known
}

// A Survivor is a process that outlived the child.
type Survivor struct {
	PID  int
	Name string // at most 256 bytes of its command line, or its name in brackets
}

// Pipes are the read ends of the child's output. They end (io.EOF) at the latest when the tree is dead and what
// it had written is read, whoever may still hold the other end.
type Pipes struct{ Stdout, Stderr *os.File }
