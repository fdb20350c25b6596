//go:build unix

package script

import (
	"fmt"
	"syscall"
)

// kill sends a signal by its name without SIG.
func kill(pid int, name string) error {
	sig, ok := map[string]syscall.Signal{
		"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP, "KILL": syscall.SIGKILL, "STOP": syscall.SIGSTOP, "CONT": syscall.SIGCONT,
	}[name]
	if !ok {
		return fmt.Errorf("no signal %q", name)
	}
	return syscall.Kill(pid, sig)
}
