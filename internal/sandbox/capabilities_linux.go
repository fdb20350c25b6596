package sandbox

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// keptCapabilities are what a run keeps where it has capabilities at all, which is to say under root: enough to own files, to
// change to another user and to listen on a low port. Every other one leads around Landlock or out of it: with CAP_PERFMON the environment of
// any process can be read (measured), with CAP_DAC_READ_SEARCH a file can be opened without its path, CAP_SYS_ADMIN, CAP_SYS_MODULE, CAP_BPF
// and CAP_MKNOD speak for themselves.
var keptCapabilities = []int{
	unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_FSETID, unix.CAP_KILL, unix.CAP_SETGID, unix.CAP_SETUID,
	unix.CAP_NET_BIND_SERVICE, unix.CAP_SETFCAP, unix.CAP_SYS_CHROOT, unix.CAP_AUDIT_WRITE,
}

// dropCapabilities takes the other capabilities from the calling thread. After no_new_privs, execve gives none back,
// not even to root.
func dropCapabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var have [2]unix.CapUserData
	if err := unix.Capget(&header, &have[0]); err != nil {
		return fmt.Errorf("capget: %w", err)
	}
	if have[0].Permitted|have[1].Permitted|have[0].Inheritable|have[1].Inheritable == 0 {
		return nil
	}
	var keep [2]uint32
	for _, c := range keptCapabilities {
		keep[c/32] |= 1 << (c % 32)
	}
	for i := range have {
		have[i].Permitted &= keep[i]
		have[i].Effective &= keep[i]
		have[i].Inheritable &= keep[i]
	}
	if err := unix.Capset(&header, &have[0]); err != nil {
		return fmt.Errorf("capset: %w", err)
	}
	return nil
}
