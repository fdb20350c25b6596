//go:build unix

package cli

import (
	"os/exec"
	"syscall"
)

// group makes the end of a command's time that of all that it has started, but for what left its process group.
func group(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// shell is how the caller's own command line is run.
func shell(line string) []string { return []string{"/bin/sh", "-c", line} }
