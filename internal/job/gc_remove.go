package job

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"opencode-delegate/internal/crashpoint"
	"opencode-delegate/internal/lock"
	"opencode-delegate/internal/record"
)

// removedPrefix begins the name of a record that is being removed: no id begins so, and nobody takes it for a job.
const removedPrefix = ".removed-"

// remove takes a record away: in one step for whoever looks for the job, then piece by piece. why tells that somebody works on it. A
// record that is not there any more is fs.ErrNotExist.
func (s *Store) remove(ctx context.Context, c Removal, dry bool) (size int64, why string, err error) {
	st := c.State
	rec := s.Record(st.ID)
	if size, err = usage(ctx, rec.Path()); err != nil {
		return 0, "", err
	}
	if dry {
		why, err := s.busy(st.ID)
		return size, why, err
	}
	gone := filepath.Join(s.root, jobsDir, removedPrefix+st.ID)
	if why, err = s.hide(st.ID, gone, c.Alone); err != nil || why != "" {
		return 0, why, err
	}
	crashpoint.Here("removed", st.ID)
	s.forget(st)                 // a note in active/ has gone with the leftovers
	_ = s.releaseRef(ctx, st.ID) // one that stays is found by its note, as one of a record that has gone
	return size, "", removeTree(gone)
}

// hide renames a record after a last look at it, during which nobody can begin to decide about it. all tells that it may hold work
// that is nowhere else.
func (s *Store) hide(id, as string, all bool) (why string, err error) {
	guard, err := lock.Try(s.Record(id).File(record.Lock))
	switch {
	case errors.Is(err, lock.ErrHeld):
		return "somebody works on it", nil
	case full(err): // whoever wants to make room must be able to; a state that is final is decided by nobody
		guard = nil
	case err != nil && !exists(s.dir(id)): // another one was quicker; the lock's own check may have met a path without a file
		return "", fs.ErrNotExist
	case err != nil:
		return "", err
	}
	release := func() {
		if guard != nil {
			guard.Release()
		}
		guard = nil
	}
	defer release()
	st, err := readState(s.dir(id), id)
	if err != nil {
		return "", err
	}
	if held, err := lock.Held(s.lease(id)); err != nil || held {
		return "its supervisor still works on it", err
	}
	if !st.State.Terminal() {
		return "what became of it could not be written down", nil
	}
	if _, is := s.holds(st); is && !all {
		return alone(id), nil
	}
	if runtime.GOOS == "windows" {
		release() // a directory with an open file in it keeps its name there
	}
	return "", os.Rename(s.dir(id), as)
}

// busy is why a record cannot be removed at this moment, without a change to it.
func (s *Store) busy(id string) (why string, err error) {
	for _, name := range []string{record.Lock, record.Lease} {
		if held, err := lock.Held(s.Record(id).File(name)); err != nil || held {
			return "somebody works on it", err
		}
	}
	return "", nil
}

// removeTree removes a directory with all that is in it and follows no link out of it. A worker may have left directories that are
// closed to their owner.
func removeTree(path string) error {
	err := os.RemoveAll(path)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	if fi, lerr := os.Lstat(path); lerr != nil || !fi.IsDir() || os.Chmod(path, 0o700) != nil {
		return err
	}
	root, oerr := os.OpenRoot(path)
	if oerr != nil {
		return err
	}
	defer root.Close()
	_ = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = root.Chmod(name, 0o700) // before the walk reads it; a link that took its place leads nowhere outside
		}
		return nil
	})
	return os.RemoveAll(path)
}

const (
	// temporaryAge is when a temporary file in the state directory is nobody's any more: each lives for milliseconds.
	temporaryAge = 24 * time.Hour
	// entryAge is when a note about a job that has no record is nobody's any more: it comes just before the record.
	entryAge = time.Minute
)

// leftovers lists what is of no use to anybody: what removals that were cut off have left, forgotten temporary files, and notes in
// active/ and news/ about jobs that have ended or are gone.
func (s *Store) leftovers(now time.Time) []string {
	var list []string
	look := func(dir string, stale func(name string, fi fs.FileInfo) bool) {
		entries, _ := os.ReadDir(filepath.Join(s.root, dir))
		for _, e := range entries {
			if fi, err := e.Info(); err == nil && stale(e.Name(), fi) {
				list = append(list, filepath.Join(s.root, dir, e.Name()))
			}
		}
	}
	look(jobsDir, func(name string, _ fs.FileInfo) bool { return strings.HasPrefix(name, removedPrefix) })
	temporary := func(name string, fi fs.FileInfo) bool {
		return strings.HasPrefix(name, ".tmp-") && fi.Mode().IsRegular() && now.Sub(fi.ModTime()) > temporaryAge
	}
	look("", temporary)
	look(cachesDir, temporary)
	note := func(name string, fi fs.FileInfo) bool {
		return CheckID(name) == nil && fi.Mode().IsRegular() && !exists(s.dir(name)) && now.Sub(fi.ModTime()) > entryAge
	}
	look(activeDir, func(name string, fi fs.FileInfo) bool { return note(name, fi) || CheckID(name) == nil && s.over(name) })
	callers, _ := os.ReadDir(filepath.Join(s.root, newsDir))
	for _, c := range callers {
		if c.IsDir() {
			look(filepath.Join(newsDir, c.Name()), note)
		}
	}
	return list
}

// over reports whether a job has ended and its supervisor with it.
func (s *Store) over(id string) bool {
	st, err := readState(s.dir(id), id)
	if err != nil || !st.State.Terminal() {
		return false
	}
	held, err := lock.Held(s.lease(id))
	return err == nil && !held
}

// clearAway removes leftovers and returns how many it could remove.
func clearAway(paths []string) (n int) {
	for _, p := range paths {
		if removeTree(p) == nil {
			n++
		}
	}
	return n
}
