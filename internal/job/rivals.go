package job

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"opencode-delegate/internal/permission"
)

// rivalsLimit is how many of the newest records are looked at for runs beside this one.
const rivalsLimit = 100

// rivals says that others have written in place in the same directory while the job ran, as far as the newest records tell: what such runs have changed cannot be
// told apart.
func (j *Job) rivals(ctx context.Context) []string {
	st := j.State()
	if !inPlace(st) || st.StartedAt == nil {
		return nil
	}
	ids, err := j.store.IDs()
	if err != nil {
		return nil
	}
	var beside []string
	for _, id := range ids[:min(len(ids), rivalsLimit)] {
		if id == st.ID {
			continue
		}
		// A record that cannot be read is nobody's rival.
		if o, err := readState(j.store.dir(id), id); err == nil && inPlace(o) && o.Repo == st.Repo && overlap(o.Dir, st.Dir) && j.store.ranSince(ctx, o, *st.StartedAt) {
			beside = append(beside, id)
		}
	}
	if len(beside) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("job %s%s wrote in the same directory at the same time: its changes are counted as this job's too, and an undo takes them along; --isolate keeps them apart",
		beside[0], more(len(beside)-1))}
}

func more(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}

// inPlace reports whether a job can write in the caller's own tree.
func inPlace(st State) bool {
	p, err := permission.Parse(st.Profile)
	return err == nil && p.Writes() && !st.Isolated
}

// overlap reports whether one directory is the other or lies in it.
func overlap(a, b string) bool {
	const sep = string(filepath.Separator)
	return strings.HasPrefix(a+sep, b+sep) || strings.HasPrefix(b+sep, a+sep)
}

// ranSince reports whether a job was at work at a time or later. One that has no end has to be looked at: its process may have died long ago.
func (s *Store) ranSince(ctx context.Context, st State, since time.Time) bool {
	switch {
	case st.StartedAt == nil:
		return false
	case st.EndedAt != nil:
		return st.EndedAt.After(since)
	}
	v, ok, err := s.view(ctx, st.ID)
	return err == nil && ok && (v.Live() || v.EndedAt != nil && v.EndedAt.After(since))
}
