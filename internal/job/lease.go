package job

import (
	"errors"
	"fmt"
	"os"
)

// A Lease is held by the supervisor of a job for as long as it lives. The kernel ends it with the process, so that
// a job's fate never depends on a pid or on a clock.
type Lease struct{ f *os.File }

// errHeld says that another open file holds the lock.
var errHeld = errors.New("held by another process")

// acquire takes the lease file's lock and checks with a second descriptor that the file system really locks: on one
// that only pretends, every running job would look lost.
func acquire(path string) (*Lease, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := f.Chmod(0o600); err != nil {
		f.Close()
		return nil, err
	}
	if err := lock(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("lease %s: %w", path, err)
	}
	held, err := Held(path)
	if err == nil && !held {
		err = errors.New("file locks do not work in this directory")
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lease %s: %w", path, err)
	}
	return &Lease{f}, nil
}

// Release ends the lease. The file stays: removing it would let two processes hold "the" lease.
func (l *Lease) Release() { l.f.Close() }

// Held reports whether some process holds the lease of a path, without taking it. A missing file is not held.
func Held(path string) (bool, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	return held(f)
}
