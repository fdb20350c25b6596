// Package job keeps the records of delegations: one directory a job, foreground and background alike.
//
// A job is alive exactly as long as its lease is held; state.json says what its supervisor last wrote. Writing goes
// evidence, result, state, so that whatever process dies at whatever moment, the next reader can decide what happened.
package job

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/record"
	"opencode-delegate/internal/redact"
)

// A Store is the state directory.
type Store struct {
	root string
	set  *redact.Set
}

// OpenStore opens the state directory at an absolute path and makes it when it is missing. An error is a
// fault.Usage that says what is wrong with the directory.
func OpenStore(root string, set *redact.Set) (*Store, error) {
	if err := makeRoot(root); err != nil {
		return nil, err
	}
	if err := makeDir(filepath.Join(root, "jobs")); err != nil {
		return nil, err
	}
	return &Store{root, set}, nil
}

// CacheDir is a directory for facts that can be found again; empty when it cannot be made.
func (s *Store) CacheDir() string {
	dir, err := cacheDir(s.root)
	if err != nil {
		return ""
	}
	return dir
}

// A Job is a record whose lease this process holds.
type Job struct {
	Record record.Dir
	state  State
	lease  *Lease // nil when the disk was too full for one
	lost   error  // what could not be written, because the disk is full; nil = nothing
}

// Create makes the record of a new job and takes its lease. The state's ID and CreatedAt are set here, from now.
// The prompt is kept exactly as it is.
//
// A full disk is no reason to refuse a delegation: the job then has what could be written of its record, and the error comes
// from Finish. Any other failure is a fault.Usage and leaves no record.
func (s *Store) Create(st State, request any, prompt []byte, now time.Time) (*Job, error) {
	st.Schema, st.State, st.CreatedAt = Schema, Queued, now.UTC()
	for {
		st.ID = NewID(now)
		err := os.Mkdir(s.dir(st.ID), 0o700)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err != nil && !full(err) {
			return nil, stateError(s.root, err)
		}
		break
	}
	dir := s.dir(st.ID)
	j := &Job{Record: record.Open(dir, s.set), state: st}
	err := os.Chmod(dir, 0o700)
	if err == nil {
		j.lease, err = acquire(j.Record.File(record.Lease))
	}
	if err == nil {
		err = j.write(request, prompt)
	}
	if full(err) || err != nil && !exists(dir) {
		j.lost = err
		return j, nil
	}
	if err != nil {
		if j.lease != nil {
			j.lease.Release()
		}
		os.RemoveAll(dir) // nothing has run: a call that ends 1 leaves no record
		return nil, stateError(s.root, err)
	}
	return j, nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func (j *Job) write(request any, prompt []byte) error {
	if err := j.Record.WriteExact(record.Prompt, prompt); err != nil {
		return err
	}
	if err := j.Record.WriteJSON(record.Request, request); err != nil {
		return err
	}
	return j.Record.WriteJSON(record.State, j.state)
}

// discard gives up a job in which nothing was delegated, and its record with it.
func (j *Job) discard() {
	if j.lease != nil {
		j.lease.Release()
	}
	os.RemoveAll(j.Record.Path())
}

// State is what state.json says, or will say after the next successful write.
func (j *Job) State() State { return j.state }

// Update changes the state and writes it. A terminal state is final: a later change is refused.
func (j *Job) Update(change func(*State)) error {
	if j.state.State.Terminal() {
		return fmt.Errorf("job %s is %s; that is final", j.state.ID, j.state.State)
	}
	change(&j.state)
	if j.state.State.Terminal() {
		return j.Record.WriteLast(record.State, j.state)
	}
	return j.Record.WriteJSON(record.State, j.state)
}

// Finish writes the result, then the terminal state, and gives the lease back, also when a write fails.
func (j *Job) Finish(result any, status fault.Kind, now time.Time, change func(*State)) error {
	if j.lease != nil {
		defer j.lease.Release()
	}
	rerr := j.Record.WriteLast(record.Result, result)
	serr := j.Update(func(st *State) {
		exit, ended := status.Exit(), now.UTC()
		st.State, st.Status, st.Exit, st.EndedAt = Ended(status), status, &exit, &ended
		change(st)
	})
	return errors.Join(j.lost, rerr, serr)
}

func (s *Store) dir(id string) string { return filepath.Join(s.root, "jobs", id) }

// IDs lists the jobs, newest first. Names that are no ids are not jobs.
func (s *Store) IDs() ([]string, error) {
	d, err := os.Open(filepath.Join(s.root, "jobs"))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	names = slices.DeleteFunc(names, func(n string) bool { return CheckID(n) != nil })
	slices.Sort(names)
	slices.Reverse(names)
	return names, nil
}

// Newest returns the newest job that matches. Records that cannot be read are passed over.
func (s *Store) Newest(match func(State) bool) (State, bool, error) {
	ids, err := s.IDs()
	if err != nil {
		return State{}, false, err
	}
	for _, id := range ids {
		if st, err := readState(s.dir(id), id); err == nil && match(st) {
			return st, true, nil
		}
	}
	return State{}, false, nil
}
