package proc

import (
	"os"

	"golang.org/x/sys/windows"
)

// Self is the identity of this process.
func Self() ID {
	return ID{PID: os.Getpid(), Start: started(windows.CurrentProcess())}
}

// Boot is empty: start times of processes are absolute on this system.
func Boot() string { return "" }

func started(h windows.Handle) uint64 {
	var created, exited, kernel, user windows.Filetime
	if windows.GetProcessTimes(h, &created, &exited, &kernel, &user) != nil {
		return 0
	}
	return uint64(created.HighDateTime)<<32 | uint64(created.LowDateTime)
}

// open returns a handle to the process, never to another one that has got its pid since.
func (id ID) open(access uint32) (windows.Handle, error) {
	h, err := windows.OpenProcess(access|windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(id.PID))
	if err != nil {
		return 0, err
	}
	if id.Start == 0 || started(h) != id.Start {
		windows.CloseHandle(h)
		return 0, os.ErrProcessDone
	}
	return h, nil
}

// Lives reports whether the process is there.
func (id ID) Lives() bool {
	h, err := id.open(windows.SYNCHRONIZE)
	if err != nil {
		return false
	}
	defer windows.CloseHandle(h)
	event, err := windows.WaitForSingleObject(h, 0)
	return err == nil && event == uint32(windows.WAIT_TIMEOUT)
}

// Kill ends this process, and never another one that has got its pid since.
func (id ID) Kill() error {
	h, err := id.open(windows.PROCESS_TERMINATE)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(h)
	return windows.TerminateProcess(h, 1)
}

// Stopped is not known on Windows, where threads are suspended and not processes.
func (id ID) Stopped() bool { return false }
