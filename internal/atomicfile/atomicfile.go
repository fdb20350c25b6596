// Package atomicfile replaces a file in one step: a reader sees the old content or the new one, whatever process dies
// meanwhile. [Write] and [File.Commit] hold that also for the machine: when they return, the new content is on the disk.
package atomicfile

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"opencode-delegate/internal/crashpoint"
)

// Write replaces the file name with data, with exactly the permissions perm whatever the umask.
//
// When it returns nil, data and name are on disk. On an error the old file is untouched and no temporary file is left.
func Write(name string, data []byte, perm os.FileMode) error {
	return write(name, data, perm, (*File).Commit)
}

// WriteFast is Write for a file that may be lost with the machine's power, but not with a process: it waits for no disk, which
// is most of what Write costs.
func WriteFast(name string, data []byte, perm os.FileMode) error {
	return write(name, data, perm, (*File).rename)
}

func write(name string, data []byte, perm os.FileMode, finish func(*File) error) error {
	f, err := Create(name, perm)
	if err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		f.Abort()
		return fmt.Errorf("write %s: %w", name, err)
	}
	crashpoint.Here("written", name)
	return finish(f)
}

// A File is a replacement in the making. It must end with Commit or Abort.
type File struct {
	tmp  *os.File
	name string
}

// Create begins the replacement of name. An existing name that is no regular file is refused: a rename would
// destroy a device or a link that somebody placed there on purpose.
func Create(name string, perm os.FileMode) (*File, error) {
	if fi, err := os.Lstat(name); err == nil && !fi.Mode().IsRegular() {
		return nil, fmt.Errorf("write %s: not a regular file", name)
	}
	tmp, err := os.CreateTemp(filepath.Dir(name), ".tmp-*")
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", name, err)
	}
	f := &File{tmp, name}
	crashpoint.Here("temporary file", name)
	if err := tmp.Chmod(perm); err != nil {
		f.Abort()
		return nil, fmt.Errorf("write %s: %w", name, err)
	}
	return f, nil
}

var _ io.Writer = (*File)(nil)

func (f *File) Write(p []byte) (int, error) { return f.tmp.Write(p) }

// Abort drops the replacement.
func (f *File) Abort() {
	f.tmp.Close()
	os.Remove(f.tmp.Name())
}

// Commit puts the new content in place, durably.
func (f *File) Commit() error {
	if err := f.tmp.Sync(); err != nil {
		f.Abort()
		return fmt.Errorf("write %s: %w", f.name, err)
	}
	if err := f.rename(); err != nil {
		return err
	}
	// Systems that cannot sync a directory say so with an error that means nothing.
	if d, err := os.Open(filepath.Dir(f.name)); err == nil {
		d.Sync()
		d.Close()
	}
	return nil
}

func (f *File) rename() error {
	err := f.tmp.Close()
	if err == nil {
		err = os.Rename(f.tmp.Name(), f.name)
	}
	if err != nil {
		os.Remove(f.tmp.Name())
		return fmt.Errorf("write %s: %w", f.name, err)
	}
	crashpoint.Here("renamed", f.name)
	return nil
}
