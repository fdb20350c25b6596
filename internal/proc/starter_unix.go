//go:build linux || darwin

package proc

import "golang.org/x/sys/unix"

// Of is the identity of a process; false when it is not there.
func Of(pid int) (ID, bool) {
	e, ok := look(pid)
	if !ok || e.dead {
		return ID{}, false
	}
	return ID{PID: pid, Start: e.start, Boot: Boot()}, true
}

// SessionOf is the leader of the session of a process, 0 where there is none. 0 means this process.
func SessionOf(pid int) int {
	sid, err := unix.Getsid(pid)
	if err != nil {
		return 0
	}
	return sid
}

// Starter is the parent of the leader of this process's session: who started a program that got a session of its own.
func Starter() (ID, bool) {
	leader, ok := look(SessionOf(0))
	if !ok || leader.ppid <= 1 {
		return ID{}, false
	}
	return Of(leader.ppid)
}
