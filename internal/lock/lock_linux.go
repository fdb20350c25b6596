package lock

import (
	"os"

	"golang.org/x/sys/unix"
)

// Open-file-description locks: they belong to the open file, so that a second open in the same process does not
// drop them, and asking (F_OFD_GETLK) takes nothing. Who asks and who waits does so as a reader, and readers do not
// see each other.

func take(f *os.File) error {
	err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK})
	if err == unix.EAGAIN || err == unix.EACCES {
		return ErrHeld
	}
	return err
}

func held(f *os.File) (bool, error) {
	l := unix.Flock_t{Type: unix.F_RDLCK}
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &l); err != nil {
		return false, err
	}
	return l.Type != unix.F_UNLCK, nil
}

func await(f *os.File) error {
	for {
		err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLKW, &unix.Flock_t{Type: unix.F_RDLCK})
		if err != unix.EINTR {
			return err
		}
	}
}
