// Package ledger keeps what runs have spent, for good, and adds it up.
//
// A day (UTC, by the time of the line) is a file of JSON lines: what each attempt has spent, as soon as it has ended, and what each try
// has come to, once that is known. A line is one write under the lock of the ledger; what a process that died has left of one is a
// damaged line, which is counted and costs nobody the others. Nothing is changed or removed.
//
// Beside a day may lie its sum: what the first bytes of the day add up to. Only what came behind them is read anew, so that a million
// entries are a few hundred small files to read. A sum is a cache: one that is missing, damaged or does not fit its day is made again.
//
// What a provider has said about its limits is kept too, in limits.jsonl: see [Ledger.Exhausted].
//
// The package knows no clock: every time is the caller's. Strings that come out of it were written by others; whoever shows them cleans
// them (package plain).
package ledger

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"opencode-delegate/internal/crashpoint"
	"opencode-delegate/internal/lock"
	"opencode-delegate/internal/redact"
)

// A Ledger is one directory. It may be used by several goroutines, and by several processes at once.
type Ledger struct {
	dir string
	set *redact.Set
}

// Open is the ledger in a directory at an absolute path, whose parent exists. Nothing is read or made. Secrets of set do not get into it.
func Open(dir string, set *redact.Set) *Ledger { return &Ledger{dir, set} }

const (
	entriesSuffix, sumSuffix = ".jsonl", ".sum"

	lockFile = "ledger.lock"
)

// Append adds an entry. When it returns nil the entry is on the disk, as far as the disk says so; an error leaves the ledger as it was. The
// context bounds the wait for the lock. An entry is kept as often as it is appended: who may repeat himself uses [Ledger.Complete].
func (l *Ledger) Append(ctx context.Context, e Entry) error {
	data, err := e.line()
	if err != nil {
		return err
	}
	return l.append(ctx, day(e.At)+entriesSuffix, data)
}

// Judge adds an outcome, as Append adds an entry.
func (l *Ledger) Judge(ctx context.Context, o Outcome) error {
	data, err := o.line()
	if err != nil {
		return err
	}
	return l.append(ctx, day(o.At)+entriesSuffix, data)
}

// append adds a line to a file, in one write.
func (l *Ledger) append(ctx context.Context, name string, line []byte) error {
	unlock, err := l.lock(ctx)
	if err != nil {
		return err
	}
	f, err := l.write(name, line)
	unlock()
	if err != nil {
		return err
	}
	// Others need not wait for the disk. One that cannot say that it has written is believed to have.
	_ = f.Sync()
	return f.Close()
}

// lock makes the directory where it is missing, and keeps everybody else from writing there.
func (l *Ledger) lock(ctx context.Context) (unlock func(), err error) {
	if err := l.make(); err != nil {
		return nil, err
	}
	held, err := lock.Take(ctx, filepath.Join(l.dir, lockFile))
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	return held.Release, nil
}

// write adds a line to a file, under the lock.
func (l *Ledger) write(name string, line []byte) (*os.File, error) {
	line = l.set.JSON().Bytes(line)
	f, err := open(filepath.Join(l.dir, name), os.O_CREATE|os.O_RDWR|os.O_APPEND)
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	crashpoint.Here("opened", "ledger")
	size, err := end(f)
	if err == nil && size > 0 {
		last := make([]byte, 1)
		if _, err = f.ReadAt(last, size-1); err == nil && last[0] != '\n' {
			line = append([]byte{'\n'}, line...) // somebody died in the middle of his line
		}
	}
	if err == nil {
		if _, err = f.Write(line); err != nil {
			_ = f.Truncate(size) // a disk that is full takes a part of a line
		}
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("ledger: %w", err)
	}
	crashpoint.Here("appended", "ledger")
	return f, nil
}

func end(f *os.File) (int64, error) {
	fi, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return fi.Size(), nil
}

// make makes the directory, 0700 whatever the umask, and refuses a link in its place.
func (l *Ledger) make() error {
	made := os.Mkdir(l.dir, 0o700)
	if made != nil && !errors.Is(made, os.ErrExist) {
		return fmt.Errorf("ledger: %w", made)
	}
	if made == nil {
		crashpoint.Here("directory", l.dir)
		if err := os.Chmod(l.dir, 0o700); err != nil {
			return fmt.Errorf("ledger: %w", err)
		}
	}
	return l.isDir()
}

func (l *Ledger) isDir() error {
	fi, err := os.Lstat(l.dir)
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	if !fi.IsDir() {
		return fmt.Errorf("ledger: %s is not a directory; move away what lies there", l.dir)
	}
	return nil
}

// open opens a regular file, 0600, and nothing else: a pipe would wait for its other end, and a link may lead to somebody's file.
func open(path string, flag int) (*os.File, error) {
	fi, err := os.Lstat(path)
	if err == nil && !fi.Mode().IsRegular() {
		return nil, &os.PathError{Op: "open", Path: path, Err: errors.New("it is not a regular file")}
	}
	if err != nil && flag&os.O_CREATE == 0 {
		return nil, err
	}
	made := err != nil
	f, err := os.OpenFile(path, flag|syscall.O_NONBLOCK, 0o600)
	if err == nil && made {
		if err = f.Chmod(0o600); err != nil {
			f.Close()
		}
	}
	return f, err
}
