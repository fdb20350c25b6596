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
	"time"

	"opencode-delegate/internal/crashpoint"
)

// newsOf is the directory that holds an empty file for each background job of a caller whose end has not been told. A caller's
// name is not ours to put into a path.
func newsOf(caller string) string {
	sum := sha256.Sum256([]byte(caller))
	return filepath.Join(newsDir, hex.EncodeToString(sum[:8]))
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

func (s *Store) forget(st State) {
	os.Remove(filepath.Join(s.root, newsOf(st.Caller), st.ID))
	crashpoint.Here("told", st.ID)
}

// News gives tell the jobs of a caller that have ended and have not been told yet, the first to end first, at most limit of
// them, and how many more there are. They count as told when tell returns nil: a crash may repeat one and never loses one. Two
// who ask at once do not both get one.
func (s *Store) News(ctx context.Context, caller string, limit int, tell func(ended []View, more int) error) error {
	dir := newsOf(caller)
	ids, err := s.ids(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return tell(nil, 0)
	}
	if err != nil {
		return err
	}
	if len(ids) == 0 {
		return tell(nil, 0)
	}
	unlock, err := s.locked(ctx, filepath.Join(dir, "news.lock"))
	if err != nil {
		return err
	}
	defer unlock()
	if ids, err = s.ids(dir); err != nil { // what another one has told meanwhile
		return err
	}
	var ended []View
	for _, id := range ids {
		v, ok, err := s.view(ctx, id)
		switch {
		case err != nil:
			return err
		case !ok && !s.unborn(id):
			s.forget(State{ID: id, Caller: caller}) // gc was here, or its creation was cut off
		case ok && v.Ended():
			ended = append(ended, v)
		}
	}
	slices.SortFunc(ended, func(a, b View) int {
		return cmp.Or(a.endOrBirth().Compare(b.endOrBirth()), compare(a.ID, b.ID))
	})
	more := max(0, len(ended)-limit)
	ended = ended[:len(ended)-more]
	if err := tell(ended, more); err != nil {
		return err
	}
	for _, v := range ended {
		s.forget(State{ID: v.ID, Caller: caller})
	}
	return nil
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
