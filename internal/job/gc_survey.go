package job

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"opencode-delegate/internal/lock"
	"opencode-delegate/internal/proc"
	"opencode-delegate/internal/record"
)

// A Survey is what the state directory holds at a moment. To make one decides nothing and changes nothing.
type Survey struct {
	Jobs       int     // records
	Live       []State // a supervisor works on each, or is being started; newest first
	Undecided  []State // no terminal state, and nobody who works on it: the supervisor died
	Lost       []State // decided so within LostFor, and no later job goes on from them
	Unreadable []View
	Orphans    []proc.Carrier // processes of jobs that nobody supervises
	Strangers  int            // processes of jobs that this state directory does not know
	Leftovers  []string       // paths of what is of no use to anybody
	Locks      []string       // paths of those that are held only for moments, and were held
	Refs       []Ref          // of records that have gone
	Unlanded   []State        // hold work that is nowhere else
	CutOff     []Begun        // nobody is at it any more
}

// LostFor is how long a survey tells of a job that was lost.
const LostFor = 7 * 24 * time.Hour

// Survey looks at the whole state directory.
func (s *Store) Survey(ctx context.Context, now time.Time) (Survey, error) {
	v := Survey{Leftovers: s.leftovers(now), Refs: s.orphanRefs(now)}
	ids, err := s.IDs()
	if err != nil {
		return v, err
	}
	taken := map[string]bool{} // by a later job, by id
	for _, id := range ids {   // newest first
		if ctx.Err() != nil {
			return v, context.Cause(ctx)
		}
		st, err := readState(s.dir(id), id)
		if fi, lerr := os.Lstat(s.dir(id)); lerr == nil && (!fi.IsDir() || !ownedByUs(fi)) {
			err = errors.New("it is not a directory of your own")
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if made, err := birthOf(id); err != nil || now.Sub(made) < birth || !exists(s.dir(id)) {
				continue
			}
			st = State{ID: id, State: Queued} // its creation was cut off
		case err != nil:
			v.Jobs++
			v.Unreadable = append(v.Unreadable, s.unreadable(id, err))
			continue
		}
		v.Jobs++
		taken[st.RetryOf], taken[st.ContinueOf] = true, true
		switch {
		case st.State == Lost && !taken[id] && now.Sub(*st.EndedAt) < LostFor:
			v.Lost = append(v.Lost, st)
		case st.State.Terminal():
			s.surveyWork(&v, st)
		case s.idle(id):
			v.Undecided = append(v.Undecided, st)
		default:
			v.Live = append(v.Live, st)
		}
	}
	v.Locks = s.heldLocks(v.Live)
	for _, c := range proc.Carriers() {
		if CheckID(c.Marker) != nil {
			continue // of a question to opencode
		}
		if !exists(s.dir(c.Marker)) {
			v.Strangers++
		} else if s.idle(c.Marker) {
			v.Orphans = append(v.Orphans, c)
		}
	}
	return v, nil
}

// A Begun is something that was begun with the work of a job and did not come to its end.
type Begun struct{ ID, Verb string }

func (s *Store) surveyWork(v *Survey, st State) {
	f, alone := s.holds(st)
	if alone {
		v.Unlanded = append(v.Unlanded, st)
	}
	if l, err := s.readLanded(st.ID); f == CutOff && err == nil && s.idle(st.ID) {
		v.CutOff = append(v.CutOff, Begun{st.ID, verbOf(l.What)})
	}
}

// idle reports whether nobody works on a job.
func (s *Store) idle(id string) bool {
	why, err := s.busy(id)
	return err == nil && why == ""
}

// heldLocks lists those of the short locks that are held.
func (s *Store) heldLocks(live []State) (held []string) {
	paths := []string{filepath.Join(s.root, createLock), filepath.Join(s.root, queueLock), filepath.Join(s.root, callersLock)}
	callers, _ := os.ReadDir(filepath.Join(s.root, newsDir))
	for _, c := range callers {
		paths = append(paths, filepath.Join(s.root, newsDir, c.Name(), newsLock))
	}
	for _, st := range live {
		paths = append(paths, s.Record(st.ID).File(record.Lock))
	}
	for _, p := range paths {
		if is, err := lock.Held(p); err == nil && is {
			held = append(held, p)
		}
	}
	return held
}

// ClearAway removes what a survey found to be of no use, and returns how many of them it could remove.
func (s *Store) ClearAway(v Survey) int { return clearAway(v.Leftovers) }
