package repocode

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxKept is the part of a file in bytes that is kept when it cannot be moved.
const maxKept = 64 << 20

// A mender puts findings back and keeps what the run had made of them.
type mender struct {
	before   *State
	keep     string
	count    int
	problems []string
}

// mend puts one finding back. It returns where the run's version is, empty when there was none.
func (m *mender) mend(f finding) (kept string, err error) {
	fail := func(err error) (string, error) {
		return kept, fmt.Errorf("%s was not put back: %w", printable(f.path), err)
	}
	if f.after.form == directory && f.before.form == directory {
		if err := os.Chmod(f.path, f.before.mode); err != nil {
			return fail(err)
		}
		return "", nil
	}
	parent := filepath.Dir(f.path)
	if f.before.form != absent {
		if err := os.MkdirAll(parent, 0o755); err != nil {
			return fail(err)
		}
	}
	// A link on the way there would put our write, or our removal, somewhere else.
	if real, err := filepath.EvalSymlinks(parent); err != nil || real != parent {
		return fail(fmt.Errorf("%s is not the directory that it was", printable(parent)))
	}
	replace := f.keys != nil || f.before.form == regular && f.after.form == regular && !f.before.large
	if f.after.form != absent {
		if kept, err = m.keepVersion(f, replace); err != nil {
			return fail(err)
		}
	}
	switch {
	case f.keys != nil:
		err = m.config(f)
	case f.before.form == regular && f.before.large:
		return fail(errors.New("it is too large to have been held"))
	case f.before.form == regular && f.before.bad != nil:
		return fail(f.before.bad)
	case f.before.form == regular:
		err = writeFile(f.path, f.before.text, f.before.mode)
	case f.before.form == symlink:
		err = os.Symlink(string(f.before.text), f.path)
	case f.before.form == directory && f.before.kind != kindGit: // a repository without its objects would be none
		err = os.Mkdir(f.path, 0o755)
	}
	if err != nil {
		return fail(err)
	}
	return kept, nil
}

// config writes a configuration with its guarded keys as they were. One that did not exist and holds nothing else goes away.
func (m *mender) config(f finding) error {
	if f.before.form == absent && len(f.text) == 0 {
		return os.Remove(f.path)
	}
	mode := f.before.mode
	if f.before.form == absent {
		mode = f.after.mode
	}
	return writeFile(f.path, f.text, mode)
}

// keepVersion takes the run's version away, or copies it when it is to be replaced in one step.
func (m *mender) keepVersion(f finding, copyOnly bool) (string, error) {
	if err := os.MkdirAll(m.keep, 0o700); err != nil {
		return "", err
	}
	target, err := m.name(f.path)
	if err != nil {
		return "", err
	}
	switch f.after.form {
	case symlink:
		if err := os.WriteFile(target, append([]byte("symbolic link to "), f.after.text...), 0o600); err != nil {
			return "", err
		}
		return target, os.Remove(f.path)
	case special:
		if err := os.WriteFile(target, []byte(f.after.form.String()), 0o600); err != nil {
			return "", err
		}
		return target, os.Remove(f.path)
	case directory, overfull:
		if err := os.Rename(f.path, target); err == nil {
			return target, nil
		}
		// Another file system: the directory stays beside its old place, under a name that git does not know.
		target = f.path + ".kept-" + filepath.Base(target)
		return target, os.Rename(f.path, target)
	}
	if f.after.bad == nil {
		if err = copyFile(f.path, target); err != nil {
			return "", err
		}
	} else if err = os.Rename(f.path, target); err != nil { // unreadable: moving needs no right to read
		return target, os.Remove(f.path)
	}
	if !copyOnly {
		if err = os.Remove(f.path); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	return target, err
}

// name returns a new path in the keep directory. Names of the run's making are reduced to plain characters.
func (m *mender) name(path string) (string, error) {
	base := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.' {
			return r
		}
		return '_'
	}, filepath.Base(path))
	for range 1_000_000 {
		m.count++
		target := filepath.Join(m.keep, fmt.Sprintf("%03d-%s", m.count, base[:min(len(base), 64)]))
		if _, err := os.Lstat(target); errors.Is(err, fs.ErrNotExist) {
			return target, nil
		}
	}
	return "", fmt.Errorf("%s is full", m.keep)
}

func copyFile(from, to string) error {
	in, err := openRegular(from, false)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.LimitReader(in, maxKept))
	return errors.Join(err, out.Close())
}

// writeFile replaces a file in one step and gives it exactly a mode.
func writeFile(path string, text []byte, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".oc-delegate-*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}
