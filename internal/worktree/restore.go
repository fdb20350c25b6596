package worktree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/tree"
)

// An Undo says how a snapshot is restored. The zero value is what a person means who changed nothing since the run.
type Undo struct {
	// Save is a directory that is made for a snapshot of the present state, before anything is changed. Empty: none is taken.
	Save string
	// Force undoes also what was changed again after the run. It needs Save.
	Force bool
	// History puts HEAD, refs, index, the stash and what was under way back too. What is known of remote repositories stays as it is.
	History bool
	// Git is for the git that looks whether the old commits are there.
	Git HistoryOptions
}

// Restored says what a Restore did.
type Restored struct {
	Changed []string // paths that are as before the run again, sorted; the undone and no others
	History []string // full names of refs, HEAD, "the index", files of the git directory that are as before the run again, sorted
	Stayed  []string // directories that came with the run and hold what did not, or a .git: they are not removed
}

// A Conflict is the error that names the paths which Restore would have overwritten.
type Conflict struct {
	Paths []string // sorted
	// History are refs and other parts of the repository that were moved or changed since, as [Restored] names them. Not both lists are empty.
	History []string
}

func (c *Conflict) Error() string {
	shown, more := slices.Concat(c.History, mapped(c.Paths, tree.Quote)), ""
	if len(shown) > 10 {
		more = fmt.Sprintf(" and %d more", len(shown)-10)
		shown = shown[:10]
	}
	return "changed since the run ended: " + strings.Join(shown, ", ") + more
}

// Restore undoes what the run did: each path that was another one at its end than before is again as it was before, with type, mode and content. What the
// run left alone is not touched, even if it has been changed since. A path that is neither as before nor as at the end is a conflict; without Force nothing
// is touched then, and the CONFLICT fault wraps a *[Conflict]. Nothing in a .git is touched unless History says so: HEAD, refs and index stay as they are.
//
// A Restore that was interrupted can be repeated.
func (s *Snapshot) Restore(ctx context.Context, u Undo) (Restored, error) {
	if u.Force && u.Save == "" {
		return Restored{}, fault.New(fault.Usage, "undo by force needs a place for a snapshot of what is there now")
	}
	now, err := s.now(ctx)
	if err != nil {
		return Restored{}, fmt.Errorf("undo in %s: %w", s.list.dir, err)
	}
	end, err := readList(filepath.Join(s.store, endName))
	switch {
	case errors.Is(err, fs.ErrNotExist) && !u.Force:
		return Restored{}, fault.New(fault.Conflict, "undo in %s: what the run left was not recorded, so that it cannot be told from later changes", s.list.dir).
			With("--force undoes both and keeps a snapshot of what is there now")
	case errors.Is(err, fs.ErrNotExist):
		end = now
	case err != nil:
		return Restored{}, fmt.Errorf("undo in %s: %w", s.list.dir, err)
	}
	todo, conflicts := plan(s.list, end, now)
	var past *rewind
	var moved []string
	if u.History {
		if past, moved, err = s.planRewind(u.Force); err != nil {
			return Restored{}, fmt.Errorf("undo in %s: %w", s.list.dir, err)
		}
	}
	if len(conflicts)+len(moved) > 0 && !u.Force {
		return Restored{}, fault.New(fault.Conflict, "undo in %s: %w", s.list.dir, &Conflict{conflicts, moved}).
			With("--force undoes them too and keeps a snapshot of what is there now")
	}
	if hole := uncovered(todo, now); hole != "" {
		return Restored{}, fault.New(fault.Conflict, "undo in %s: %s is in the way and no snapshot holds it; move it to another place", s.list.dir, tree.Quote(hole))
	}
	var saved *Snapshot
	if u.Save != "" {
		if saved, err = s.save(ctx, u.Save, len(todo)+len(past.changed()) == 0); err != nil {
			return Restored{}, err
		}
	}
	if err := past.ready(ctx, u.Git); err != nil {
		return Restored{}, fmt.Errorf("undo in %s: %w", s.list.dir, err)
	}
	done, err := s.apply(ctx, todo)
	if err == nil {
		err = past.apply(ctx)
	}
	if err == nil && saved != nil {
		err = saved.End(ctx)
	}
	if err != nil {
		return done, fmt.Errorf("undo in %s, which can be repeated: %w", s.list.dir, err)
	}
	done.History = past.changed()
	return done, nil
}

// save takes a snapshot of the present state; none where there is nothing to do. One that is there already, and has no end, is that of an undo which was cut off.
func (s *Snapshot) save(ctx context.Context, store string, nothing bool) (*Snapshot, error) {
	_, store, err := places(s.list.dir, store)
	if err != nil {
		return nil, err
	}
	saved, err := Open(store)
	if err != nil && fault.Of(err).Kind != fault.NotFound {
		return nil, err
	}
	_, ended := os.Lstat(filepath.Join(store, endName))
	switch {
	case err == nil && ended != nil && saved.list.dir == s.list.dir:
		return saved, nil
	case nothing:
		return nil, nil
	case err == nil:
		return nil, fault.New(fault.Usage, "%s holds the snapshot of another undo", store)
	}
	return take(ctx, s.list.dir, store, Options{Since: s, history: true}.withDefaults(), newCovered(s.list))
}

// A step takes one path from what it is to what it was.
type step struct {
	path     string
	was, now *entry // nil: nothing
}

// plan lists the steps, sorted by path, and what stands in their way.
func plan(before, end, now list) (todo []step, conflicts []string) {
	steps, blocked := map[string]step{}, map[string]bool{}
	for _, p := range allPaths(before, end) {
		was, left, is := before.find(p), end.find(p), now.find(p)
		if same(was, left) || same(was, is) {
			continue
		}
		steps[p] = step{p, was, is}
		if !same(left, is) && !halfway(was, left, is) {
			blocked[p] = true
		}
	}
	// A directory in which an undo was cut off may be writable still.
	for _, p := range allPaths(before, end) {
		for up := path.Dir(p); up != "." && !same(before.find(p), end.find(p)); up = path.Dir(up) {
			was, is := before.find(up), now.find(up)
			if _, known := steps[up]; !known && isDir(was) && isDir(is) && same(was, end.find(up)) && is.mode != was.mode && is.mode == was.mode|0o700 {
				steps[up] = step{up, was, is}
			}
		}
	}
	// A directory that was there before and at the end, and in which something has to be placed, may be gone.
	for p, t := range maps.Clone(steps) {
		for up := path.Dir(p); up != "." && t.was != nil; up = path.Dir(up) {
			if _, known := steps[up]; !known && !isDir(now.find(up)) {
				steps[up] = step{up, before.find(up), now.find(up)}
				blocked[up] = true
			}
		}
	}
	// What was put below something that has to be no directory again is in the way too.
	for i := range now.entries {
		e := &now.entries[i]
		if _, known := steps[e.path]; !known && hidden(e.path, steps) {
			steps[e.path] = step{e.path, nil, e}
			blocked[e.path] = true
		}
	}
	byPath := func(a, b step) int { return cmp.Compare(a.path, b.path) }
	return slices.SortedFunc(maps.Values(steps), byPath), slices.Sorted(maps.Keys(blocked))
}

// halfway reports whether a path may be as an interrupted Restore has left it: a directory whose mode was not yet set, or nothing, where something of
// another kind had to go first. There is nothing in it to lose.
func halfway(was, left, is *entry) bool {
	return isDir(was) && isDir(is) || is == nil && was != nil && left != nil && was.mode.Type() != left.mode.Type()
}

func isDir(e *entry) bool { return e != nil && e.mode.IsDir() }

// hidden reports whether a path cannot be once the steps are done, because something above it is no directory then.
func hidden(p string, steps map[string]step) bool {
	for up := path.Dir(p); up != "."; up = path.Dir(up) {
		if t, ok := steps[up]; ok && t.was != nil && !isDir(t.was) {
			return true
		}
	}
	return false
}

// uncovered is the first path below which something has to go that no list knows, such as a .git.
func uncovered(todo []step, now list) string {
	steps := map[string]step{}
	for _, t := range todo {
		steps[t.path] = t
	}
	for _, h := range now.holes {
		if hidden(h.Path, steps) {
			return h.Path
		}
	}
	return ""
}

// allPaths are the paths of both lists, sorted, each once.
func allPaths(a, b list) []string {
	var all []string
	for _, l := range []list{a, b} {
		for i := range l.entries {
			all = append(all, l.entries[i].path)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// apply removes what has to go, from the depth upward, makes directories downward, then files and links, then sets modes of directories upward.
func (s *Snapshot) apply(ctx context.Context, todo []step) (Restored, error) {
	var done Restored
	if len(todo) == 0 {
		return done, nil
	}
	root, err := os.OpenRoot(s.list.dir)
	if err != nil {
		return done, err
	}
	defer root.Close()
	kept, err := os.Open(filepath.Join(s.store, contentsName))
	if err != nil {
		return done, err
	}
	defer kept.Close()
	p := &placer{ctx: ctx, root: root, kept: kept, modes: map[string]fs.FileMode{}}
	defer p.settle() // also where the work ends early
	for i := len(todo) - 1; i >= 0; i-- {
		if t := todo[i]; t.now != nil && (t.was == nil || t.now.mode.Type() != t.was.mode.Type()) {
			stays, err := p.remove(t)
			if err != nil {
				return done, err
			}
			if stays {
				done.Stayed = append(done.Stayed, t.path)
			}
		}
	}
	for _, t := range todo {
		if t.was == nil {
			continue
		}
		if err := p.place(t); err != nil {
			return done, err
		}
	}
	for _, t := range todo {
		done.Changed = append(done.Changed, t.path)
	}
	slices.Sort(done.Stayed)
	done.Changed = slices.DeleteFunc(done.Changed, func(path string) bool { _, ok := slices.BinarySearch(done.Stayed, path); return ok })
	return done, p.settle()
}
