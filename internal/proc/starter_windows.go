package proc

import "golang.org/x/sys/windows"

// Of is the identity of a process; false when it is not there.
func Of(pid int) (ID, bool) {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err != nil {
		return ID{}, false
	}
	defer windows.CloseHandle(h)
	id := ID{PID: pid, Start: started(h)}
	return id, id.Start != 0
}

// SessionOf is 0: there are no sessions of processes on Windows.
func SessionOf(int) int { return 0 }

// Starter is not known on Windows, where there are no sessions of processes.
func Starter() (ID, bool) { return ID{}, false }
