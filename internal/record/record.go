// Package record is the directory of one job: the names of its files, and how they are written.
//
// A directory is 0700 and a file 0600, whatever the umask; a file is replaced in one step or appended to. Secrets
// leave everything that is written here except the prompt, which a later run needs as it was. Nothing is ever deleted.
package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"opencode-delegate/internal/atomicfile"
	"opencode-delegate/internal/crashpoint"
	"opencode-delegate/internal/redact"
)

// The files of a record. Further ones may come.
const (
	Request = "request.json"
	Prompt  = "prompt.md"
	State   = "state.json"
	Events  = "events.jsonl" // as received but for secrets
	Stderr  = "stderr.log"   // bounded
	Text    = "result.md"    // the whole text of the worker's answer
	Result  = "result.json"
	Lease   = "lease"       // held by the job's supervisor
	Lock    = "record.lock" // held by whoever decides about a job that nobody supervises
	Launch  = "launch.json" // of a background job
	// Cancel is there when somebody wants the job to end.
	Cancel   = "cancel"
	Progress = "progress.json"  // what the run is doing; written now and then
	Panic    = "supervisor.log" // what a supervisor said that died of itself; normally empty
	Finish   = "on-finish.log"  // what the command of --on-finish said
	Reserve  = "reserve"        // room for the last files of a background job; gone when it has ended
	Kept     = "kept"           // directory: the worker's version of what was put back
	// Tmp is a directory: the worker's TMPDIR. It goes with the run.
	Tmp = "tmp"
	// Copies is a directory: by number, the copy of the repository that each try of an isolated run has worked in.
	Copies = "copies"
	Undo   = "undo"          // directory: what was there before a run that writes in place
	Patch  = "changes.patch" // what the run has changed, exactly: secrets are not redacted in it
	Checks = "checks"        // directory: what the checks have printed
	Landed = "landed.json"   // what was done with the work since
	Apply  = "apply"         // directory: what was there before the work landed
)

// A Dir is the record of one job.
type Dir struct {
	path string
	set  *redact.Set
}

// Open returns the record at an absolute path; nothing is read or made.
func Open(path string, set *redact.Set) Dir { return Dir{path, set} }

// Sub makes a directory of the record and returns it as one, with the same secrets.
func (d Dir) Sub(name string) (Dir, error) {
	path, err := d.MakeDir(name)
	return Dir{path, d.set}, err
}

// Path is the absolute path of the record.
func (d Dir) Path() string { return d.path }

// File is the absolute path of one of its files.
func (d Dir) File(name string) string { return filepath.Join(d.path, name) }

// Create makes a file for appending and for reading back.
func (d Dir) Create(name string) (*os.File, error) {
	f, err := os.OpenFile(d.File(name), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	if err := f.Chmod(0o600); err != nil {
		f.Close()
		return nil, err
	}
	crashpoint.Here("opened", f.Name())
	return f, nil
}

// MakeDir makes a directory of the record, 0700.
func (d Dir) MakeDir(name string) (string, error) {
	path := d.File(name)
	if err := os.Mkdir(path, 0o700); err != nil && !os.IsExist(err) {
		return "", err
	}
	crashpoint.Here("directory", path)
	return path, os.Chmod(path, 0o700)
}

// WriteExact replaces a file with data as it is. Like WriteJSON it survives the end of any process; that of the machine
// only what WriteLast wrote is promised to survive.
func (d Dir) WriteExact(name string, data []byte) error {
	return atomicfile.WriteFast(d.File(name), data, 0o600)
}

// WriteJSON replaces a file with v as JSON, its secrets redacted.
func (d Dir) WriteJSON(name string, v any) error {
	return d.writeJSON(name, v, atomicfile.WriteFast)
}

// WriteLast is WriteJSON for what a job ends with: it is on the disk when this returns, unless the disk refuses to say so. Of
// that nobody can make more than a file that other processes see.
func (d Dir) WriteLast(name string, v any) error {
	err := d.writeJSON(name, v, atomicfile.Write)
	if err != nil && d.WriteJSON(name, v) == nil {
		return nil
	}
	return err
}

func (d Dir) writeJSON(name string, v any, write func(string, []byte, os.FileMode) error) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return write(d.File(name), append(d.set.JSON().Bytes(data), '\n'), 0o600)
}

// Read returns a regular file of at most limit bytes. A larger one is an error, and so is what is no file, since a record is
// untrusted input: opening a pipe would wait for its other end, and a link may lead anywhere.
func Read(path string, limit int64) ([]byte, error) {
	f, err := OpenFile(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var b bytes.Buffer
	if fi, err := f.Stat(); err == nil {
		b.Grow(int(min(fi.Size(), limit)) + bytes.MinRead) // one read instead of many: lists read thousands of files
	}
	if _, err := b.ReadFrom(io.LimitReader(f, limit+1)); err != nil {
		return nil, err
	}
	data := b.Bytes()
	if int64(len(data)) > limit {
		return nil, &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("larger than %d bytes", limit)}
	}
	return data, nil
}

// OpenFile opens a regular file for reading, and nothing else.
func OpenFile(path string) (*os.File, error) {
	fi, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !fi.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: path, Err: errIrregular}
	}
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

var errIrregular = errors.New("it is not a regular file")

// keptLimit is how much of a kept file is kept: what git runs is short.
const keptLimit = 4 << 20

// Redact takes the secrets out of every file below a directory of the record, which may be missing. A longer file than
// 4 MiB is cut, and a link or a device is left as it is.
func (d Dir) Redact(name string) error {
	err := filepath.WalkDir(d.File(name), func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		data, err := io.ReadAll(io.LimitReader(f, keptLimit))
		if err != nil {
			return err
		}
		return atomicfile.WriteFast(path, d.set.Bytes(data), 0o600)
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
