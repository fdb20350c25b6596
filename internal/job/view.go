package job

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/lock"
)

// A View is what a reader knows of a job. Its state is the truth of that moment: who reads it has decided about a job whose supervisor
// died.
type View struct {
	State
	Problem string // why the record cannot be read: State is Unreadable then and knows little but the id
	Work    Fate   // where the work of an isolated job is that has ended; see [Store.Fate]

	// Held tells of an unreadable record that its lease is held: the job lives.
	Held bool
	// Undecided tells that the state is what this reader makes of the record, and that it was not written down, because another one
	// holds the record, who may know better: it may come to something else.
	Undecided bool
}

// Ended reports whether the job has come to its end for good, as far as its record can be read.
func (v View) Ended() bool { return v.State.State.Terminal() && !v.Held && !v.Undecided }

// birth is how long a record may be without a state.json: whoever creates it needs milliseconds.
const birth = 10 * time.Second

// abandoned is the age at which an entry of the living without a record is nobody's any more: whoever creates one may have been stopped.
const abandoned = time.Hour

// Look returns a job by its full id. A job that nobody has heard of is a fault NOT_FOUND; a record that cannot be read is a
// View that says so.
func (s *Store) Look(ctx context.Context, id string) (View, error) {
	if err := CheckID(id); err != nil {
		return View{}, fault.New(fault.NotFound, "%w", err)
	}
	v, ok, err := s.view(ctx, id)
	if err == nil && !ok {
		err = unknown(id)
	}
	return v, err
}

func unknown(word string) *fault.Error {
	return fault.New(fault.NotFound, "no job %.80q", word).With("oc-job list --all lists the jobs")
}

// view reads a record and decides about it. false: there is none, or none yet.
func (s *Store) view(ctx context.Context, id string) (View, bool, error) {
	if fi, err := os.Lstat(s.dir(id)); errors.Is(err, fs.ErrNotExist) {
		return View{}, false, nil
	} else if err != nil {
		return View{}, false, stateError(s.root, err)
	} else if !fi.IsDir() || !ownedByUs(fi) {
		return s.unreadable(id, errors.New("it is not a directory of your own")), true, nil
	}
	st, err := readState(s.dir(id), id)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if made, err := birthOf(id); err == nil && time.Since(made) < birth {
			return View{}, false, nil
		}
	case transient(err):
		return View{}, false, fault.New(fault.RunFailed, "job %s cannot be looked at now: %w", id, bare(err)).With("raise the limit on open files: ulimit -n")
	case err != nil:
		return s.unreadable(id, err), true, nil
	case st.State.Terminal():
		return View{State: st, Work: s.listed(st)}, true, nil
	default:
		held, err := lock.Held(s.lease(id))
		switch {
		case errors.Is(err, lock.ErrNoFile):
			return s.unreadable(id, errors.New("its lease is not a regular file")), true, nil
		case transient(err):
			return View{}, false, fault.New(fault.RunFailed, "job %s cannot be looked at now: %w", id, bare(err)).With("raise the limit on open files: ulimit -n")
		case err != nil:
			return s.unreadable(id, fmt.Errorf("its lease cannot be looked at: %w", bare(err))), true, nil
		case held:
			return View{State: st}, true, nil
		}
	}
	st, decided, err := s.settle(ctx, id)
	if errors.Is(err, fs.ErrNotExist) {
		return View{}, false, nil // gc was here
	}
	if err != nil {
		return s.unreadable(id, err), true, nil
	}
	return View{State: st, Work: s.listed(st), Undecided: st.State.Terminal() && !decided}, true, nil
}

func (s *Store) unreadable(id string, err error) View {
	v := View{State: State{ID: id, State: Unreadable}, Problem: err.Error()}
	v.CreatedAt, _ = birthOf(id)
	v.Held, _ = lock.Held(s.lease(id))
	return v
}

// transient reports an error that says nothing of the record: this process or the machine has too few descriptors.
func transient(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// birthOf is the time that an id tells.
func birthOf(id string) (time.Time, error) {
	if err := CheckID(id); err != nil {
		return time.Time{}, err
	}
	t, err := time.Parse("20060102-150405", id[:15])
	if err != nil {
		return t, fmt.Errorf("id %s: %w", id, err)
	}
	return t, nil
}

// Ahead is how many queued jobs go before this one, of those that live.
func (v View) Ahead(live []View) (n int) {
	for _, o := range live {
		if o.State.State == Queued && o.ID != v.ID && earlier(o.State, v.State) {
			n++
		}
	}
	return n
}

// List returns the jobs that match, newest first. Match sees what is true at that moment; it is called from several goroutines.
func (s *Store) List(ctx context.Context, match func(View) bool) ([]View, error) {
	ids, err := s.IDs()
	if err != nil {
		return nil, err
	}
	return s.views(ctx, ids, match)
}

// Live returns the jobs that have not ended, newest first. It reads no others.
func (s *Store) Live(ctx context.Context) ([]View, error) {
	ids, err := s.ids(activeDir)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if made, err := birthOf(id); err == nil && time.Since(made) > abandoned && !exists(s.dir(id)) {
			s.deactivate(id) // its creation was cut off before there was a record
		}
	}
	return s.views(ctx, ids, func(v View) bool {
		if v.State.State.Terminal() && v.State.State != Unreadable {
			s.deactivate(v.ID) // its supervisor died between the two
		}
		return v.Live()
	})
}

// views reads records in parallel: it is the disk and the kernel that are waited for. What comes back is in the order of the ids.
func (s *Store) views(ctx context.Context, ids []string, match func(View) bool) ([]View, error) {
	found := make([]*View, len(ids))
	errs := make([]error, min(2*runtime.NumCPU(), 16, len(ids)))
	var next atomic.Int64
	var wg sync.WaitGroup
	for w := range errs {
		wg.Go(func() {
			for errs[w] == nil {
				i := int(next.Add(1)) - 1
				if i >= len(ids) {
					return
				}
				v, ok, err := s.view(ctx, ids[i])
				if err == nil {
					err = context.Cause(ctx)
				}
				if errs[w] = err; ok && err == nil && match(v) {
					found[i] = new(v)
				}
			}
		})
	}
	wg.Wait()
	n := 0
	for _, v := range found {
		if v != nil {
			n++
		}
	}
	all := make([]View, 0, n)
	for i, v := range found {
		if v != nil {
			all = append(all, *v)
			found[i] = nil
		}
	}
	return all, errors.Join(errs...)
}

func compare(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
