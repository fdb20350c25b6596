package job

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/permission"
	"opencode-delegate/internal/record"
	"opencode-delegate/internal/worktree"
)

// A Work is what a job has left that can land or be undone. Where it lies comes from the record's own directory: of the paths in result.json
// none is believed.
type Work struct {
	ID       string
	Isolated bool // it is in copies; else it was made in place
	Fate     Fate
	Landed   Landed // what was done with it
	Tries    []int  // the copies that are there, ascending
	Chosen   int    // the one that counts; 0 = none

	rec  record.Dir
	view View
}

// maxTries bounds the copies of one record that are looked at.
const maxTries = 1000

// Work finds what a job has left. A job that has not ended is a fault JOB_RUNNING; one of which nobody can tell, JOB_LOST.
func (s *Store) Work(v View) (Work, error) {
	switch {
	case v.Live(), v.Held:
		return Work{}, running(v.State)
	case v.State.State == Unreadable:
		return Work{}, fault.New(fault.JobLost, "job %s cannot be read: %s", v.ID, v.Problem).With("what there is lies in " + s.dir(v.ID))
	}
	w := Work{ID: v.ID, Isolated: v.Isolated, rec: s.Record(v.ID), view: v}
	var err error
	if w.Landed, err = s.readLanded(v.ID); err != nil {
		return w, fault.New(fault.JobLost, "job %s: %w", v.ID, err).With("look into " + s.dir(v.ID) + ", and remove that file if nothing was done with the work")
	}
	if w.Tries, err = w.copies(); err != nil {
		return w, fault.New(fault.JobLost, "the copies of job %s: %w", v.ID, err)
	}
	w.Isolated = w.Isolated || len(w.Tries) > 0
	if n := len(w.Tries); n > 0 {
		w.Chosen = w.Tries[n-1]
		if res, err := s.ReadResult(v.ID); err == nil && res.Isolation != nil {
			w.Chosen = w.tryAt(res.Isolation.Path, w.Chosen)
		}
	}
	w.Fate = s.fate(v.State, w.Landed)
	return w, nil
}

// copies lists the tries that have left one.
func (w Work) copies() (tries []int, err error) {
	dir := w.rec.File(record.Copies)
	if !isDirectory(dir) {
		return nil, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, bare(err)
	}
	for _, e := range entries {
		n, err := strconv.Atoi(e.Name())
		if err == nil && n > 0 && n <= maxTries && strconv.Itoa(n) == e.Name() && e.IsDir() {
			tries = append(tries, n)
		}
	}
	slices.Sort(tries)
	return tries, nil
}

// isDirectory reports whether a path is one, and no link to one.
func isDirectory(path string) bool {
	fi, err := os.Lstat(path)
	return err == nil && fi.IsDir()
}

// place is the directory of a try.
func (w Work) place(try int) string {
	return filepath.Join(w.rec.File(record.Copies), strconv.Itoa(try))
}

// Place is the directory of the copy that counts; empty: there is none.
func (w Work) Place() string {
	if w.Chosen == 0 {
		return ""
	}
	return w.place(w.Chosen)
}

// tryAt is the try in whose place a path lies; other where it is none of ours.
func (w Work) tryAt(path string, other int) int {
	for _, n := range w.Tries {
		if p := w.place(n); path == p || strings.HasPrefix(path, p+string(filepath.Separator)) {
			return n
		}
	}
	return other
}

// fate is where the work of a job that has ended is: the files of the record tell, and few are looked at.
func (s *Store) fate(st State, l Landed) Fate {
	if f := l.fate(); f != NoWork {
		return f
	}
	rec := s.Record(st.ID)
	switch {
	case isDirectory(rec.File(record.Copies)):
		if untouched(rec) {
			return NoWork
		}
		return Unlanded
	case isDirectory(rec.File(record.Undo)):
		if fi, err := os.Lstat(rec.File(record.Patch)); err == nil && fi.Mode().IsRegular() && fi.Size() == 0 {
			return NoWork
		}
		return InPlace
	}
	return NoWork
}

// untouched reports whether it is certain that no try has made anything: the patch is there and empty, and there was but one.
func untouched(rec record.Dir) bool {
	fi, err := os.Lstat(rec.File(record.Patch))
	if err != nil || !fi.Mode().IsRegular() || fi.Size() > 0 {
		return false
	}
	entries, err := os.ReadDir(rec.File(record.Copies))
	return err == nil && len(entries) == 1
}

// holds is where the work of a job that has ended is, and whether it is in the record alone. What cannot be read is not landed, as far as anybody knows.
func (s *Store) holds(st State) (f Fate, alone bool) {
	l, err := s.readLanded(st.ID)
	if err != nil {
		return Unlanded, isDirectory(s.Record(st.ID).File(record.Copies))
	}
	switch f = s.fate(st, l); f {
	case Unlanded, Conflict:
		return f, true
	case CutOff, Undone:
		return f, l.What != Discarded && isDirectory(s.Record(st.ID).File(record.Copies))
	}
	return f, false
}

// alone says why a record stays.
func alone(id string) string {
	return "it holds work that has not landed; oc-job apply " + id + " lands it, oc-job discard " + id + " gives it up, and with --unlanded it goes"
}

// Fate is where the work of a job is, in place too. What cannot be read is not landed, as far as anybody knows.
func (s *Store) Fate(v View) Fate {
	if !v.State.State.Terminal() || v.State.State == Unreadable {
		return NoWork
	}
	f, _ := s.holds(v.State)
	return f
}

// listed is the fate that a list shows: a list has ten thousand records to look at, and only what was isolated can be waiting.
func (s *Store) listed(st State) Fate {
	if !st.Isolated {
		return NoWork
	}
	return s.Fate(View{State: st})
}

// none is the fault of a job that has left nothing.
func (w Work) none() error {
	f := fault.New(fault.NotFound, "job %s has left no work: it made no copy, and what it wrote in place was not kept", w.ID)
	switch {
	case w.Landed.What == Discarded:
		f = fault.New(fault.NotFound, "the work of job %s was discarded on %s", w.ID, day(w.Landed))
	case w.Landed.What == Undone && w.Isolated:
		return fault.New(fault.NotFound, "the work of job %s was taken out of %s on %s, and its copy was discarded", w.ID, w.Landed.Dir, day(w.Landed)).
			With("oc-job diff " + w.ID + " prints its patch, which git apply takes")
	case w.Isolated:
		f = fault.New(fault.NotFound, "job %s has left no work: it ended before it had a copy", w.ID)
	case !permission.Profile(w.view.Profile).Writes():
		f = fault.New(fault.NotFound, "job %s has left no work: it could only read", w.ID)
	}
	return f.With("oc-job result " + w.ID + " tells what came of it")
}

// day is when something was done with work.
func day(l Landed) string { return l.At.UTC().Format("2006-01-02 15:04 MST") }

// copyOf opens the copy of the chosen try.
func (w Work) copyOf(try int) (*worktree.Copy, error) {
	c, err := worktree.OpenCopy(w.place(try))
	if err != nil {
		return nil, fault.New(fault.JobLost, "the copy of job %s: %w", w.ID, err).With("what there is lies in " + w.place(try))
	}
	if !within(c.Top(), w.view.Dir) {
		return nil, fault.New(fault.JobLost, "the copy of job %s says that it is one of %s, and the job worked for %s", w.ID, c.Top(), w.view.Dir)
	}
	return c, nil
}

// within reports whether path is root or lies below it.
func within(root, path string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && filepath.IsLocal(rel)
}

// gone tells that the user's work tree is not there any more, in words; empty when it is.
func (w Work) gone(c *worktree.Copy) error {
	fi, err := os.Lstat(c.Top())
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && !fi.IsDir():
		return fault.New(fault.NotFound, "the repository of job %s is not there any more: %s", w.ID, c.Top()).
			With(fmt.Sprintf("in another clone: oc-job diff %s | git apply", w.ID))
	case err != nil:
		return fault.New(fault.Usage, "the repository of job %s: %w", w.ID, err)
	case Repository(c.Top()) != w.view.Repo:
		return fault.New(fault.NotFound, "%s is another repository now than the one that job %s worked for", c.Top(), w.ID).
			With(fmt.Sprintf("in another clone: oc-job diff %s | git apply", w.ID))
	}
	return nil
}
