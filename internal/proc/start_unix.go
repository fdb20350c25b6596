//go:build linux || darwin

package proc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// startLimit bounds the time from the start of the guardian to that of the child; a context may end it earlier.
const startLimit = 30 * time.Second

// Start starts the child under a guardian. The end of ctx, during Start or later, is a [Process.Stop]. When the program
// cannot be started the error wraps the system's (os.ErrNotExist, os.ErrPermission, syscall.E2BIG, …) and names the
// program or directory that it is about.
//
// Start makes this process a child subreaper for the rest of its life.
func Start(ctx context.Context, c Command) (*Process, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("proc: %s not started: %w", c.Argv[0], context.Cause(ctx))
	}
	if err := becomeSubreaper(); err != nil {
		return nil, fmt.Errorf("proc: cannot become a subreaper: %w", err)
	}
	ends, err := openPipes(c.Stdin != nil)
	if err != nil {
		return nil, fmt.Errorf("proc: cannot open pipes: %w", err)
	}
	g, err := startGuardian(ends)
	ends.closeTheirs()
	if err != nil {
		ends.closeOurs()
		return nil, err
	}
	first, err := g.handshake(ctx, c)
	if err != nil {
		g.discard()
		ends.closeOurs()
		return nil, err
	}
	child := identity{first.PID, first.Start}
	p := newProcess(child.pid, Pipes{newOutput(ends.stdout), newOutput(ends.stderr)})
	if c.Stdin != nil {
		go feed(ends.stdin, c.Stdin)
	}
	go newSupervisor(p, g, child, c, ends).run(ctx)
	return p, nil
}

// feed ends when the source is exhausted or nobody reads any more; the supervisor closes w when the tree is dead.
func feed(w *os.File, from io.Reader) {
	_, _ = io.Copy(w, from)
	w.Close()
}

// A guardian is the tool's handle on one.
type guardian struct {
	identity
	cmd     *exec.Cmd
	control *os.File
	status  *os.File
	decoder *json.Decoder
	gone    chan struct{} // closed when it is dead and reaped

	childless bool // it has said that it could not start anything
}

func startGuardian(ends *pipes) (*guardian, error) {
	binary, err := ownBinary()
	if err != nil {
		return nil, fmt.Errorf("proc: cannot find the own binary: %w", err)
	}
	cmd := &exec.Cmd{
		Path: binary, Args: []string{os.Args[0], guardianRole}, Dir: "/",
		ExtraFiles:  ends.theirs[:],
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("proc: cannot start a guardian from %s: %w", binary, err)
	}
	g := &guardian{cmd: cmd, control: ends.control, status: ends.status, decoder: json.NewDecoder(ends.status), gone: make(chan struct{})}
	self, _ := look(cmd.Process.Pid) // not yet waited for, so the pid is still its own
	g.identity = identity{cmd.Process.Pid, self.start}
	go func() {
		_ = cmd.Wait()
		close(g.gone)
	}()
	return g, nil
}

// handshake hands over what to start and returns the child.
func (g *guardian) handshake(ctx context.Context, c Command) (*started, error) {
	limited, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	expired := make(chan struct{})
	stop := context.AfterFunc(limited, func() {
		g.deadline(time.Unix(1, 0))
		close(expired)
	})
	defer func() {
		if !stop() {
			<-expired
		}
		g.deadline(time.Time{}) // what comes later is not bound by ours
	}()

	werr := writeSpec(g.control, c)
	if errors.Is(werr, syscall.E2BIG) {
		return nil, fmt.Errorf("proc: arguments and environment of %s are too long: %w", c.Argv[0], werr)
	}
	var m message
	err := g.decoder.Decode(&m) // a guardian that could not read has said why
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("proc: %s not started: %w", c.Argv[0], context.Cause(ctx))
	case limited.Err() != nil:
		return nil, fmt.Errorf("proc: %s not started: the guardian said nothing for %v", c.Argv[0], startLimit)
	case err == nil && m.Failed != nil:
		g.childless = true
		return nil, diagnose(c, *m.Failed)
	case err != nil || m.Started == nil:
		return nil, fmt.Errorf("proc: %s not started: the guardian ended early (does the program call proc.Main first?): %w", c.Argv[0], errors.Join(err, werr))
	}
	return m.Started, nil
}

func (g *guardian) deadline(t time.Time) {
	_ = g.control.SetDeadline(t)
	_ = g.status.SetDeadline(t)
}

// diagnose finds out which input a failed exec was about: the kernel gives one number for the directory, the program and
// its interpreter.
func diagnose(c Command, f failed) error {
	if f.Errno == 0 {
		return fmt.Errorf("proc: %s not started: %s", c.Argv[0], f.Text)
	}
	if f.Text != "" {
		return fmt.Errorf("proc: %s not started: %s: %w", c.Argv[0], f.Text, f.Errno)
	}
	if st, err := os.Stat(c.Dir); err != nil {
		return fmt.Errorf("proc: directory of %s: %w", c.Argv[0], err)
	} else if !st.IsDir() {
		return fmt.Errorf("proc: directory of %s: %w", c.Argv[0], &os.PathError{Op: "chdir", Path: c.Dir, Err: syscall.ENOTDIR})
	}
	err := &os.PathError{Op: "exec", Path: c.Argv[0], Err: f.Errno}
	if _, serr := os.Stat(c.Argv[0]); f.Errno == syscall.ENOENT && serr == nil {
		return fmt.Errorf("proc: the interpreter or loader of the program is missing: %w", err)
	}
	if f.Errno == syscall.E2BIG {
		return fmt.Errorf("proc: arguments and environment are too long: %w", err)
	}
	return fmt.Errorf("proc: cannot start the program in %s: %w", c.Dir, err)
}

// discard ends a guardian that has not told of a child. Its control pipe goes first: what it may have started meanwhile
// dies with it.
func (g *guardian) discard() {
	g.control.Close()
	if !g.childless {
		select {
		case <-g.gone:
		case <-time.After(5 * time.Second):
		}
	}
	_ = g.signal(syscall.SIGKILL)
	<-g.gone
	g.status.Close()
}
