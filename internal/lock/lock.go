// Package lock is a lock on a file, which the kernel ends with its holder: whoever asks learns whether a process lives
// without knowing its pid and without trusting a clock.
package lock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"opencode-delegate/internal/crashpoint"
)

// A Lock is held until Release, or until its process ends. No child inherits it.
type Lock struct{ f *os.File }

// ErrHeld says that another open file holds the lock.
var ErrHeld = errors.New("held by another process")

// ErrNoFile says that something else than a file is where the lock should be, so that nobody can ever hold it.
var ErrNoFile = errors.New("not a regular file")

// Try takes the lock of a path, which is made when it is missing, with mode 0600. It does not wait: a lock that is held is
// ErrHeld. It checks with a second descriptor that the file system really locks: on one that only pretends, everybody would be alone.
func Try(path string) (*Lock, error) {
	f, err := open(path, os.O_CREATE|os.O_RDWR)
	if err != nil {
		return nil, err
	}
	crashpoint.Here("lock file", path)
	if err := f.Chmod(0o600); err != nil {
		f.Close()
		return nil, err
	}
	if err := take(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	held, err := Held(path)
	if err == nil && !held {
		err = errors.New("file locks do not work in this directory")
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	crashpoint.Here("locked", path)
	return &Lock{f}, nil
}

// open opens a lock file and nothing else: opening a pipe would wait for its other end, and a link may lead to somebody's file.
func open(path string, flag int) (*os.File, error) {
	if fi, err := os.Lstat(path); err == nil && !fi.Mode().IsRegular() {
		return nil, fmt.Errorf("lock %s: %w", path, ErrNoFile)
	}
	return os.OpenFile(path, flag|syscall.O_NONBLOCK, 0o600)
}

// Take is Try that waits for the lock until the context is over; then the error is ErrHeld.
func Take(ctx context.Context, path string) (*Lock, error) {
	for pause := time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		l, err := Try(path)
		if !errors.Is(err, ErrHeld) {
			return l, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(pause):
		}
	}
}

// Release ends the lock. The file stays: removing it would let two processes hold "the" lock.
func (l *Lock) Release() { l.f.Close() }

// Held reports whether some process holds the lock of a path, without taking it. A missing file is not held.
func Held(path string) (bool, error) {
	f, err := open(path, os.O_RDONLY)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	return held(f)
}

// Free returns when nobody holds the lock of a path, at once when it is free or missing, and without asking again and again. An end
// of the context is its error; a goroutine then goes on waiting, for as long as the lock is held or this process lives.
func Free(ctx context.Context, path string) error {
	f, err := open(path, os.O_RDONLY)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() {
		done <- await(f)
		f.Close()
	}()
	select {
	case err := <-done:
		if err != nil {
			return fmt.Errorf("lock %s: %w", path, err)
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
