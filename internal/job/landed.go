package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/lock"
	"opencode-delegate/internal/record"
)

// A Fate is what became of what a job has left.
type Fate string

const (
	NoWork    Fate = ""          // nothing is there to land or to undo
	Unlanded  Fate = "unlanded"  // it is in the record and nowhere else
	InPlace   Fate = "in_place"  // it was made where it belongs, and can be undone
	Applied   Fate = "applied"   // it is in the user's files
	Conflict  Fate = "conflict"  // the same, but for what the user had changed too
	Merged    Fate = "merged"    // it is in the user's branch
	Discarded Fate = "discarded" // the copies are gone
	Undone    Fate = "undone"    // it was in the user's files, and was taken out of them again
	CutOff    Fate = "cut_off"   // one of these was begun and did not come to its end; the same call goes on
)

// Landed is landed.json: what was done with the work. It is written before something is done and again after it, so that whoever finds one that
// is not done knows what was cut off.
type Landed struct {
	Schema int       `json:"schema"`
	What   Fate      `json:"what"` // applied, merged, discarded, undone
	Done   bool      `json:"done"`
	At     time.Time `json:"at"`
	By     string    `json:"by"`            // the caller
	Dir    string    `json:"dir,omitempty"` // the work tree
	Try    int       `json:"try,omitempty"` // the copy

	Files     []string `json:"files,omitempty"` // the first of those that were changed
	Changed   int      `json:"changed"`         // how many
	Conflicts []Clash  `json:"conflicts,omitempty"`
	Index     bool     `json:"index,omitempty"`  // they were staged too
	Commit    string   `json:"commit,omitempty"` // what was made of them
	Saved     string   `json:"saved,omitempty"`  // directory of the record: what was there before an undo by force

	Of   Fate `json:"of,omitempty"`   // of undone: what it undid, in_place or applied; of discarded: what had landed before
	Past bool `json:"past,omitempty"` // of undone: history was put back too
}

// at is where the work went: a copy that is given up later changes nothing about that.
func (l Landed) at() Fate {
	if l.What == Discarded && l.Of != NoWork {
		return l.Of
	}
	return l.What
}

// A Clash is a file that both sides have changed.
type Clash struct {
	Path    string `json:"path"`
	Why     string `json:"why"`
	Markers bool   `json:"markers"` // the file holds both versions; else it is as the user left it
}

const (
	// landedLimit bounds what is read of a landed.json.
	landedLimit = 4 << 20
	// namedFiles is how many files and how many conflicts it names.
	namedFiles = 1000
)

// readLanded is what was done with the work of a job; the zero value when nothing was.
func (s *Store) readLanded(id string) (Landed, error) {
	data, err := record.Read(s.Record(id).File(record.Landed), landedLimit)
	if errors.Is(err, fs.ErrNotExist) {
		return Landed{}, nil
	}
	var l Landed
	if err == nil {
		err = json.Unmarshal(data, &l)
	}
	switch {
	case err != nil:
		err = fmt.Errorf("landed.json cannot be read: %w", bare(err))
	case l.Schema < 1 || l.Schema > Schema:
		err = fmt.Errorf("landed.json has schema %d, and this version knows %d", l.Schema, Schema)
	case l.What != Applied && l.What != Merged && l.What != Discarded && l.What != Undone:
		err = fmt.Errorf("landed.json names something that nobody does with work, %.40q", l.What)
	}
	return l, err
}

// keepLanded writes it, durably: files that are not in the record follow or went before.
func (s *Store) keepLanded(id string, l Landed) error {
	l.Schema, l.At = Schema, l.At.UTC()
	l.Files, l.Conflicts = l.Files[:min(len(l.Files), namedFiles)], l.Conflicts[:min(len(l.Conflicts), namedFiles)]
	if err := s.Record(id).WriteLast(record.Landed, l); err != nil {
		return fault.New(fault.RunFailed, "what is done with the work of job %s cannot be written down: %w", id, err)
	}
	return nil
}

// fate is where the work is by what was done with it.
func (l Landed) fate() Fate {
	switch {
	case l.What != NoWork && !l.Done:
		return CutOff
	case l.What == Applied && len(l.Conflicts) > 0:
		return Conflict
	}
	return l.What
}

// landingTime bounds the wait for another landing: two at once in one work tree would each decide by what the other changes.
const landingTime = time.Minute

// landing takes what a call needs that does something with the work of a job, and finds out what is there. Unlock comes back unless there is an error. A
// job that has not ended is a fault JOB_RUNNING.
func (s *Store) landing(ctx context.Context, id string) (w Work, unlock func(), err error) {
	if v, err := s.Look(ctx, id); err != nil || v.Live() { // which would be waited for
		if err == nil {
			err = running(v.State)
		}
		return w, nil, err
	}
	inTime, cancel := context.WithTimeout(ctx, landingTime)
	defer cancel()
	all, err := lock.Take(inTime, filepath.Join(s.root, landingLock))
	if err != nil {
		return w, nil, s.taken(ctx, err, "the files of a job are being landed")
	}
	one, err := lock.Take(inTime, s.Record(id).File(record.Lock))
	if err != nil {
		all.Release()
		return w, nil, s.taken(ctx, err, "somebody works on job "+id)
	}
	unlock = func() { one.Release(); all.Release() }
	v, err := s.Look(ctx, id)
	if err == nil {
		w, err = s.Work(v)
	}
	if err != nil {
		unlock()
		return w, nil, err
	}
	return w, unlock, nil
}

func (s *Store) taken(ctx context.Context, err error, what string) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, lock.ErrHeld):
		return fault.New(fault.RunFailed, "%s at this moment", what).With("try again when that is done; oc-job doctor tells which locks are held")
	}
	return stateError(s.root, err)
}
