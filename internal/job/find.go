package job

import (
	"context"
	"fmt"
	"strings"

	"opencode-delegate/internal/fault"
)

// candidates is how many jobs an ambiguous word is answered with.
const candidates = 8

// Find returns the full id of the job that a word names: an id, the beginning of one, or a name. A word that names no job, or
// several, is a fault NOT_FOUND. exact tells that the word is the full id.
func (s *Store) Find(ctx context.Context, word string) (id string, exact bool, err error) {
	if CheckID(word) == nil {
		if _, err := s.Look(ctx, word); err != nil {
			return "", false, err
		}
		return word, true, nil
	}
	if CheckName(word) == nil {
		return s.findName(ctx, word)
	}
	ids, err := s.IDs()
	if err != nil {
		return "", false, err
	}
	var found []string
	for _, id := range ids {
		if word != "" && strings.HasPrefix(id, word) {
			found = append(found, id)
		}
	}
	switch len(found) {
	case 0:
		return "", false, unknown(word)
	case 1:
		if _, err := s.Look(ctx, found[0]); err != nil {
			return "", false, err
		}
		return found[0], false, nil
	}
	return "", false, ambiguous(word, found)
}

func (s *Store) findName(ctx context.Context, name string) (string, bool, error) {
	found, err := s.List(ctx, func(v View) bool { return v.Name == name })
	switch {
	case err != nil:
		return "", false, err
	case len(found) == 0:
		return "", false, unknown(name)
	case len(found) == 1:
		return found[0].ID, false, nil
	}
	var ids []string
	for _, v := range found {
		ids = append(ids, v.ID)
	}
	return "", false, ambiguous(name, ids)
}

func ambiguous(word string, ids []string) error {
	f := fault.New(fault.NotFound, "%.80q names %d jobs", word, len(ids))
	hint := "one of them: " + strings.Join(ids[:min(len(ids), candidates)], " ")
	if n := len(ids) - candidates; n > 0 {
		hint += fmt.Sprintf(" and %d more", n)
	}
	return f.With(hint)
}

// NewestOf is the caller's newest job in a repository. None is a fault NOT_FOUND.
func (s *Store) NewestOf(ctx context.Context, caller, repo string) (View, error) {
	v, ok, err := s.newest(ctx, func(v View) bool { return v.Repo == repo && s.SameCaller(v.Caller, caller) })
	if err == nil && !ok {
		err = fault.New(fault.NotFound, "no job of yours in %s", repo).With("name one; oc-job list shows those of every caller here, oc-job list --all those of every repository")
	}
	return v, err
}

// newest returns the newest job that matches, and reads no older ones. Records that cannot be read are passed over.
func (s *Store) newest(ctx context.Context, match func(View) bool) (View, bool, error) {
	ids, err := s.IDs()
	if err != nil {
		return View{}, false, err
	}
	for _, id := range ids {
		if st, err := readState(s.dir(id), id); err != nil || !match(View{State: st}) {
			continue
		}
		if v, ok, err := s.view(ctx, id); err == nil && ok {
			return v, true, nil
		}
	}
	return View{}, false, nil
}
