package lock

import (
	"os"

	"golang.org/x/sys/windows"
)

func take(f *os.File) error {
	return lockFile(f, windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY)
}

// held asks with a shared lock that is dropped at once; two readers may hold it together.
func held(f *os.File) (bool, error) {
	switch err := lockFile(f, windows.LOCKFILE_FAIL_IMMEDIATELY); err {
	case nil:
		return false, windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, &windows.Overlapped{})
	case ErrHeld:
		return true, nil
	default:
		return false, err
	}
}

func await(f *os.File) error { return lockFile(f, 0) }

func lockFile(f *os.File, flags uint32) error {
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &windows.Overlapped{})
	if err == windows.ERROR_LOCK_VIOLATION || err == windows.ERROR_IO_PENDING && flags&windows.LOCKFILE_FAIL_IMMEDIATELY != 0 {
		return ErrHeld
	}
	return err
}
