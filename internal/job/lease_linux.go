package job

import (
	"os"

	"golang.org/x/sys/unix"
)

// Open-file-description locks: they belong to the open file, so that a second open in the same process does not
// drop them, and asking (F_OFD_GETLK) takes nothing.

func lock(f *os.File) error {
	err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK})
	if err == unix.EAGAIN || err == unix.EACCES {
		return errHeld
	}
	return err
}

func held(f *os.File) (bool, error) {
	l := unix.Flock_t{Type: unix.F_WRLCK}
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &l); err != nil {
		return false, err
	}
	return l.Type != unix.F_UNLCK, nil
}
