package proc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/windows"
)

// Main takes no role on Windows: a job object needs no guardian.
func Main([]string) (exit int, ok bool) { return 0, false }

// Marked finds nothing on Windows: a job object leaves no process behind a dead tool.
func Marked(string) []Survivor { return nil }

// Carriers finds nothing on Windows: a job object leaves no process behind a dead tool.
func Carriers() []Carrier { return nil }

// Holders is not known on Windows.
func Holders(string) []Survivor { return nil }

// Sweep finds nothing on Windows: a job object leaves no process behind a dead tool.
func Sweep(context.Context, string, time.Duration) []Survivor { return nil }

// Start starts the child in a job object of its own. Windows knows no TERM: [Process.Stop] sends CTRL_BREAK to the child, which
// reaches it only if it shares our console, and terminates the job after the grace. What we terminate is reported as SIGKILL.
func Start(ctx context.Context, c Command) (*Process, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("proc: %s not started: %w", c.Argv[0], context.Cause(ctx))
	}
	j, err := newJob()
	if err != nil {
		return nil, err
	}
	cmd := &exec.Cmd{
		Path: c.Argv[0], Args: c.Argv, Dir: c.Dir, Env: c.environ(),
		SysProcAttr: &syscall.SysProcAttr{CreationFlags: windows.CREATE_SUSPENDED | windows.CREATE_NEW_PROCESS_GROUP},
	}
	var ours, theirs []*os.File
	shut := func(fs []*os.File) {
		for _, f := range fs {
			f.Close()
		}
	}
	for range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			shut(ours)
			shut(theirs)
			j.close()
			return nil, fmt.Errorf("proc: cannot open pipes: %w", err)
		}
		if len(ours) == 0 {
			r, w = w, r
		}
		ours, theirs = append(ours, r), append(theirs, w)
	}
	if c.Stdin != nil {
		cmd.Stdin = theirs[0]
	}
	cmd.Stdout, cmd.Stderr = theirs[1], theirs[2]
	err = cmd.Start()
	shut(theirs)
	if err != nil {
		shut(ours)
		j.close()
		return nil, fmt.Errorf("proc: cannot start the program in %s: %w", c.Dir, err)
	}
	if err := j.admit(cmd.Process.Pid); err != nil {
		shut(ours)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		j.close()
		return nil, fmt.Errorf("proc: cannot put %s into a job object: %w", c.Argv[0], err)
	}
	p := newProcess(cmd.Process.Pid, Pipes{&Output{ours[1]}, &Output{ours[2]}})
	if c.Stdin == nil {
		ours[0].Close()
	} else {
		go func() {
			_, _ = io.Copy(ours[0], c.Stdin)
			ours[0].Close()
		}()
	}
	go p.supervise(ctx, j, cmd, ours[0], c.Grace)
	return p, nil
}

func (p *Process) supervise(ctx context.Context, j *job, cmd *exec.Cmd, stdin *os.File, grace time.Duration) {
	waited := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(waited)
	}()
	terminated := false
	end := func() {
		terminated = terminated || !closed(waited)
		j.terminate()
	}
	select {
	case <-waited:
	case <-ctx.Done():
		p.exit.ByUs = true
	case <-p.stop:
		p.exit.ByUs = true
	}
	if p.exit.ByUs {
		_ = windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(p.pid))
		timer := time.NewTimer(grace)
		select {
		case <-waited:
		case <-p.kill:
			end()
		case <-timer.C:
			end()
		}
		timer.Stop()
		<-waited
	}
	close(p.exited)
	// There is no gentle word to what outlived the child: it shares no group with it that a break could name.
	pids, _ := j.pids()
	p.exit.Survivors = survivors(pids)
	for limit := time.Now().Add(time.Second); len(pids) > 0 && time.Now().Before(limit); pids, _ = j.pids() {
		end()
		time.Sleep(5 * time.Millisecond)
	}
	p.exit.Remaining = survivors(pids)
	p.exit.Code = cmd.ProcessState.ExitCode()
	if terminated {
		p.exit.Code, p.exit.Signal = -1, "SIGKILL"
	}
	p.exit.CPU = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	stdin.Close()
	j.close()
	close(p.done)
}

// An Output is what the child and its tree write to one descriptor. It ends (io.EOF) when the tree is dead and what it
// had written is read. One goroutine may read it at a time.
type Output struct{ f *os.File }

// Read reads what has come. At the end it closes the descriptor.
func (o *Output) Read(p []byte) (int, error) {
	n, err := o.f.Read(p)
	if err == io.EOF {
		o.f.Close()
	} else if errors.Is(err, os.ErrClosed) {
		err = io.EOF
	}
	return n, err
}

// Close gives up the rest; who still writes gets a broken pipe.
func (o *Output) Close() error {
	err := o.f.Close()
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}
