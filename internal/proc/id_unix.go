//go:build linux || darwin

package proc

import (
	"os"
	"syscall"
)

// Self is the identity of this process.
func Self() ID {
	e, _ := look(os.Getpid())
	return ID{PID: os.Getpid(), Start: e.start, Boot: Boot()}
}

// Lives reports whether the process is there and no zombie.
func (id ID) Lives() bool {
	return id.Start != 0 && id.Boot == Boot() && identity{id.PID, id.Start}.lives()
}

// Kill ends this process, and never another one that has got its pid since.
func (id ID) Kill() error {
	if !id.Lives() {
		return os.ErrProcessDone
	}
	return identity{id.PID, id.Start}.signal(syscall.SIGKILL)
}

// Stopped reports whether the process is there and a signal has stopped it (SIGSTOP, a debugger): it keeps all that it holds
// and does nothing.
func (id ID) Stopped() bool {
	e, ok := look(id.PID)
	return ok && id.Start != 0 && id.Boot == Boot() && e.identity == identity{id.PID, id.Start} && e.stopped && !e.dead
}
