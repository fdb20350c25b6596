package job

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"opencode-delegate/internal/crashpoint"
	"opencode-delegate/internal/lock"
)

// newsOf is the directory that holds a file for each background job of a caller whose end has not been told: an empty one, or one with the
// mark of an end that is known.
func newsOf(caller string) string { return filepath.Join(newsDir, callerKey(caller)) }

// callerKey stands for a caller where its name is not ours to put into a path.
func callerKey(caller string) string {
	sum := sha256.Sum256([]byte(caller))
	return hex.EncodeToString(sum[:keyBytes])
}

const (
	keyBytes = 8
	newsLock = "news.lock" // in the directory of a caller's notices
)

// isKey reports whether a name has the form of callerKey.
func isKey(name string) bool {
	_, err := hex.DecodeString(name)
	return err == nil && len(name) == 2*keyBytes && strings.ToLower(name) == name
}

// announce notes, before a job begins, that its end will have to be told.
func (s *Store) announce(st State) error {
	for _, dir := range []string{newsDir, newsOf(st.Caller)} {
		if err := makeDir(filepath.Join(s.root, dir)); err != nil {
			return err
		}
	}
	return touch(filepath.Join(s.root, newsOf(st.Caller), st.ID))
}

// forget takes the notice of a job off the list of whoever began it.
func (s *Store) forget(st State) { s.tick(notice{newsOf(st.Caller), st.ID}) }

// News gives tell the jobs of a caller, and of those that are linked with it, that have ended and have not been told yet, the first
// to end first, at most limit of them, and how many more there are. They count as told when tell returns nil: a crash may repeat
// one and never loses one. Two who ask at once do not both get one. An end that was heard of otherwise is told like any other.
func (s *Store) News(ctx context.Context, caller string, limit int, tell func(ended []View, more int) error) error {
	return s.news(ctx, caller, limit, false, tell)
}

// FreshNews is News without the ends that have been heard of, see [Store.Heard]; they count as told.
func (s *Store) FreshNews(ctx context.Context, caller string, limit int, tell func(ended []View, more int) error) error {
	return s.news(ctx, caller, limit, true, tell)
}

func (s *Store) news(ctx context.Context, caller string, limit int, fresh bool, tell func(ended []View, more int) error) error {
	pending, err := s.pending(caller)
	if err != nil {
		return err
	}
	if len(pending) == 0 {
		return tell(nil, 0)
	}
	for _, dir := range directories(pending) { // everybody takes them in the same order
		unlock, err := s.locked(ctx, filepath.Join(dir, newsLock))
		if err != nil {
			return err
		}
		defer unlock()
	}
	pending = s.untold(pending) // another one may have told some meanwhile
	var heard []notice
	if fresh {
		pending, heard = s.unmarked(pending)
	}
	ended, void, err := s.ends(ctx, pending)
	if err != nil {
		return err
	}
	void = append(void, heard...)
	for _, n := range void { // gc was here, or its creation was cut off
		s.tick(n)
	}
	more := max(0, len(ended)-limit)
	ended = ended[:len(ended)-more]
	if err := tell(views(ended), more); err != nil {
		return err
	}
	for _, n := range ended {
		s.tick(n.notice)
	}
	return nil
}

// Unheard returns what FreshNews would tell, without a limit, and leaves it untold.
func (s *Store) Unheard(ctx context.Context, caller string) ([]View, error) {
	pending, err := s.pending(caller)
	if err != nil {
		return nil, err
	}
	pending, _ = s.unmarked(pending)
	ended, _, err := s.ends(ctx, pending)
	return views(ended), err
}

// Heard notes that a caller knows the end of a job otherwise: FreshNews does not tell it any more. The end of a job that is another
// caller's, or that has not come, is heard by nobody.
func (s *Store) Heard(caller, id string) {
	if CheckID(id) != nil {
		return
	}
	st, err := readState(s.dir(id), id)
	if held, _ := lock.Held(s.lease(id)); err == nil && st.Live() || err != nil && held {
		return
	}
	for _, dir := range s.noticesOf(caller) {
		s.markHeard(notice{dir, id})
	}
}

// heardMark is what stands in a notice whose end is known.
const heardMark = "heard\n"

// markHeard marks a notice, if there is one. What cannot be marked is told once more.
func (s *Store) markHeard(n notice) {
	if fi, err := os.Lstat(s.path(n)); err != nil || !fi.Mode().IsRegular() {
		return // a link would lead elsewhere, and a pipe would be waited for
	}
	f, err := os.OpenFile(s.path(n), os.O_WRONLY, 0)
	if err != nil {
		return
	}
	defer f.Close()
	if _, err := f.WriteString(heardMark); err == nil {
		crashpoint.Here("heard", n.id)
	}
}

// unmarked parts the notices of ends that nobody has heard of from the others.
func (s *Store) unmarked(list []notice) (fresh, heard []notice) {
	for _, n := range list {
		if fi, err := os.Lstat(s.path(n)); err == nil && fi.Mode().IsRegular() && fi.Size() > 0 {
			heard = append(heard, n)
		} else {
			fresh = append(fresh, n)
		}
	}
	return fresh, heard
}

// A notice is the file that says that the end of a job has to be told.
type notice struct{ dir, id string }

func (s *Store) path(n notice) string { return filepath.Join(s.root, n.dir, n.id) }

// tick takes a notice off the list.
func (s *Store) tick(n notice) {
	os.Remove(s.path(n))
	crashpoint.Here("told", n.id)
}

// pending are the notices of a caller and of those that are linked with it, whatever has become of their jobs.
func (s *Store) pending(caller string) (list []notice, err error) {
	for _, dir := range s.noticesOf(caller) {
		ids, err := s.ids(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, id := range ids {
			list = append(list, notice{dir, id})
		}
	}
	return list, nil
}

// untold leaves out what is not pending any more.
func (s *Store) untold(list []notice) []notice {
	return slices.DeleteFunc(list, func(n notice) bool { return !exists(s.path(n)) })
}

// directories of notices, each once, in their order.
func directories(list []notice) (dirs []string) {
	for _, n := range list {
		if !slices.Contains(dirs, n.dir) {
			dirs = append(dirs, n.dir)
		}
	}
	return dirs
}

// An end is a job that has ended, with its notice.
type end struct {
	View
	notice notice
}

func views(ends []end) (list []View) {
	for _, e := range ends {
		list = append(list, e.View)
	}
	return list
}

// ends are the jobs that have ended, the first to end first. void are notices of jobs that are not there.
func (s *Store) ends(ctx context.Context, list []notice) (ended []end, void []notice, err error) {
	for _, n := range list {
		v, ok, err := s.view(ctx, n.id)
		switch {
		case err != nil:
			return nil, nil, err
		case !ok && !s.unborn(n.id):
			void = append(void, n)
		case ok && v.Ended():
			ended = append(ended, end{v, n})
		}
	}
	slices.SortFunc(ended, func(a, b end) int {
		return cmp.Or(a.endOrBirth().Compare(b.endOrBirth()), compare(a.ID, b.ID))
	})
	return ended, void, nil
}

// endOrBirth is when a job ended; of a record that cannot be read only the beginning is known.
func (v View) endOrBirth() time.Time {
	if v.EndedAt != nil {
		return *v.EndedAt
	}
	return v.CreatedAt
}

// unborn reports whether a record may be about to come.
func (s *Store) unborn(id string) bool { return exists(s.dir(id)) }
