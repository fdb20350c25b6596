package job

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

// detach makes a command independent of this process: no console, and a process group of its own. Handles are inherited only
// where they are named.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.DETACHED_PROCESS | windows.CREATE_NEW_PROCESS_GROUP}
}
