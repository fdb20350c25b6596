//go:build linux || darwin

package proc

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// guardianRole is the whole argument list of a guardian. Nothing of a run stands in its arguments or environment.
const guardianRole = "__guardian"

// lastResort is how long a guardian whose tool is dead goes on killing what does not die, and nothing new arises.
const lastResort = 10 * time.Second

// Main takes over when this process was started as a guardian, and returns its exit code and true when that is over. Call it
// with os.Args before anything else, in every program that uses this package and in TestMain; go on when ok is false.
// A person who passes the role's name as an argument is not taken for the tool: the pipes are missing.
func Main(args []string) (exit int, ok bool) {
	if len(args) != 2 || args[1] != guardianRole || !isPipe(controlFD) || !isPipe(statusFD) {
		return 0, false
	}
	// The child's parent-death signal is bound to this thread, which must last as long as the process.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return guard(), true
}

func isPipe(fd int) bool {
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFIFO
}

func guard() int {
	control, status := os.NewFile(controlFD, "control"), os.NewFile(statusFD, "status")
	say := json.NewEncoder(status)
	fail := func(text string, err error) int {
		f := failed{Text: text}
		errors.As(err, &f.Errno)
		_ = say.Encode(message{Failed: &f})
		return 1
	}
	if err := closeOnExecFrom(controlFD); err != nil {
		return fail("cannot keep descriptors from the child", err)
	}
	if err := becomeSubreaper(); err != nil {
		return fail("cannot become a subreaper", err)
	}
	nameGuardian()
	// Only SIGKILL ends a guardian. Caught, not ignored: the child would inherit an ignored signal, and by the same
	// means loses one that we inherited.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM,
		syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU)

	s, err := readSpec(control)
	if err != nil {
		return fail("cannot read what to start", err)
	}
	pid, err := syscall.ForkExec(string(s.Argv[0]), toStrings(s.Argv), &syscall.ProcAttr{
		Dir: string(s.Dir), Env: toStrings(s.Env),
		Files: []uintptr{stdinFD, stdoutFD, stderrFD},
		Sys:   childAttributes(),
	})
	if err != nil {
		return fail("", err)
	}
	// From here on, the ends of these pipes are the tree's alone.
	for _, fd := range []int{stdinFD, stdoutFD, stderrFD} {
		unix.Close(fd)
	}
	self, _ := look(os.Getpid())
	t := tree{self: self.pid, root: self.pid, since: self.start, marker: s.Marker, carries: marked(s.Marker), groups: grouped(pid)}
	child, _ := look(pid)
	_ = say.Encode(message{Started: &started{PID: pid, Start: child.start}}) // a dead tool is noticed below
	childless, orphaned := make(chan struct{}), make(chan struct{})
	go func() {
		// No byte follows the spec: this returns when the tool closes its end or dies.
		_, _ = io.Copy(io.Discard, control)
		if !killAll(&t, childless) {
			os.Exit(1) // what cannot be killed must not keep us for ever
		}
		close(orphaned)
	}()
	reap(pid, say)
	close(childless)
	_ = say.Encode(message{Empty: true})
	// The tool ends us when it has looked for the marker; should it die before, that is for us to do.
	<-orphaned
	return 0
}

// reap waits for every child, the adopted too, until there is none. This process starts nothing else, so that wait4(-1)
// takes nobody's status away.
func reap(child int, say *json.Encoder) {
	for {
		var ws syscall.WaitStatus
		var ru syscall.Rusage
		pid, err := syscall.Wait4(-1, &ws, 0, &ru)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return
		case pid == child:
			m := endedFrom(ws, &ru)
			_ = say.Encode(message{Ended: &m})
		}
	}
}

// killAll kills the tree until there is neither a child nor a carrier of the marker.
func killAll(t *tree, childless <-chan struct{}) (empty bool) {
	seen := map[identity]bool{}
	for last, pause := time.Now(), time.Millisecond; time.Since(last) < lastResort; pause = min(2*pause, 20*time.Millisecond) {
		none := closed(childless)
		table, err := readTable()
		alive := living(t.members(table))
		if none && err == nil && len(alive) == 0 {
			return true
		}
		for _, e := range alive {
			if !seen[e.identity] {
				seen[e.identity], last, pause = true, time.Now(), time.Microsecond
			}
		}
		kill(alive)
		time.Sleep(pause)
	}
	return false
}
