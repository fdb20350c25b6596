// Package planted finds what a run left in opencode's own directories to run later. A sandboxed opencode can write its data and its cache,
// and so can whatever it starts; the user's next session, outside the sandbox, takes programs, plugins and git configuration from there.
//
//	before, err := planted.Capture(ctx, dirs)              // before the run
//	…the run, and the end of every process of it…
//	violations, err := planted.Check(ctx, before, keep)    // before anybody starts opencode again
//
// Looked at are:
//
//   - git repositories of snapshots and of cloned references (data/snapshot, data/repos): keys of the configuration that make git run a
//     program, hooks, info/attributes, commondir, and links in place of any of them. A repository that opencode made meanwhile is fine
//     unless it has such.
//   - downloaded programs, packages and skills (bin, packages, node_modules, skills): each file by size, times, inode and mode.
//   - auth.json: only entries of type "wellknown", each of which lets a server say what opencode starts. New or refreshed
//     tokens stay.
//   - the list of models (models*.json): packages and addresses of providers that were known, and packages from the disk.
//
// What was there is put back where it is text; a changed program or package is moved away, and opencode fetches it again. Everything that
// goes away is moved to a directory of the caller's, for another session of the user may have made it meanwhile, and nobody can tell.
//
// Not looked at: the database (sessions, permissions, accounts), text that is shown to a model, checkouts below data/worktree, and
// what was planted before Capture.
//
// The package starts no process, and follows no link that was not there before.
package planted

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

	"opencode-delegate/internal/sandbox"
)

// A Violation is one thing that would have run.
type Violation struct {
	// What is one line for a person, without any content.
	What string `json:"what"`
	// Kept is where the run's version lies, absolute; empty when there was nothing to keep.
	Kept string `json:"kept,omitempty"`
	// Download says that it is a new entry in a place into which opencode itself downloads: it may be opencode's own
	// (ripgrep, a language server, a plugin of the user), fetched within the run or by another session. It has been moved all the same.
	Download bool `json:"download,omitempty"`
}

// ErrIncomplete says that some of it could not be examined or put back; the error's text names it.
var ErrIncomplete = errors.New("opencode's directories not fully checked")

// A State is what could run, as it was at one moment.
type State struct {
	dirs      sandbox.OpencodeDirs
	files     map[string]item  // of repositories and settings
	downloads map[string]stamp // by absolute path
	problems  []string
}

// Capture looks at opencode's directories before a run. Those that do not exist are empty. An error means that ctx is over; what could
// not be examined is reported by Check.
func Capture(ctx context.Context, dirs sandbox.OpencodeDirs) (*State, error) {
	s := scan(ctx, dirs)
	s.walkDownloads(ctx, nil)
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("opencode's directories: %w", err)
	}
	return s, nil
}

// Check compares with the state before the run, takes away what could run, and puts back what was there. keep is a directory of the
// caller's, made (0700) when there is something to keep. Nothing that the run started may be alive. An error that is ErrIncomplete comes
// together with the violations.
func Check(ctx context.Context, before *State, keep string) ([]Violation, error) {
	after := scan(ctx, before.dirs)
	c := &check{before: before, after: after, keeper: keeper{dir: keep}}
	c.repositories()
	c.settings()
	after.walkDownloads(ctx, c)
	if err := ctx.Err(); err != nil {
		return c.found, fmt.Errorf("opencode's directories: %w", err)
	}
	slices.SortStableFunc(c.found, func(a, b Violation) int { return cmp.Compare(a.What, b.What) })
	problems := slices.Concat(before.problems, after.problems, c.problems)
	if len(problems) > 0 {
		return c.found, fmt.Errorf("%w: %s (%d in all)", ErrIncomplete, problems[0], len(problems))
	}
	return c.found, nil
}

// A check is the comparison under way.
type check struct {
	before, after *State
	keeper        keeper
	found         []Violation
	problems      []string
}

// maxFound bounds the list; everything is put right, also what is not listed.
const maxFound = 1000

func (c *check) report(v Violation, err error) {
	if err != nil {
		c.problems = append(c.problems, fmt.Sprintf("%s, and could not be put right: %v", v.What, err))
	}
	if len(c.found) < maxFound {
		c.found = append(c.found, v)
	}
}

// steady refuses a path whose directory is not where the scan saw it: another run, still alive, could have put a link on the way.
func (c *check) steady(path string) error {
	dir := filepath.Dir(path)
	for _, top := range []string{c.after.dirs.Data, c.after.dirs.Cache} {
		rel, err := filepath.Rel(top, dir)
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		realTop, err := filepath.EvalSymlinks(top)
		if err != nil {
			return err
		}
		real, err := filepath.EvalSymlinks(dir)
		if err == nil && real != filepath.Join(realTop, rel) {
			err = fmt.Errorf("%s is a link", strconv.Quote(dir))
		}
		return err
	}
	return fmt.Errorf("%s is not in opencode's directories", strconv.Quote(path))
}

// move takes away what stands at a path.
func (c *check) move(path string) (kept string, err error) {
	if err := c.steady(path); err != nil {
		return "", err
	}
	return c.keeper.move(path)
}

func (s *State) problem(path string, err error) {
	if len(s.problems) < 20 {
		s.problems = append(s.problems, fmt.Sprintf("%s: %v", strconv.Quote(path), err))
	}
}

// shown names a path for a person, below the directory that it belongs to, on one line.
func (s *State) shown(path string) string {
	for _, d := range []struct{ dir, name string }{{s.dirs.Data, "data"}, {s.dirs.Cache, "cache"}} {
		if rel, err := filepath.Rel(d.dir, path); err == nil && filepath.IsLocal(rel) {
			path = filepath.Join(d.name, rel)
			break
		}
	}
	if q := strconv.Quote(path); q != `"`+path+`"` {
		return q
	}
	return path
}

// scan reads the repositories and the settings.
func scan(ctx context.Context, dirs sandbox.OpencodeDirs) *State {
	s := &State{dirs: dirs, files: map[string]item{}, downloads: map[string]stamp{}}
	f := finder{State: s, ctx: ctx, left: maxDirs}
	f.dir(filepath.Join(dirs.Data, "snapshot"), bare, 0)
	f.dir(filepath.Join(dirs.Data, "repos"), checkout, 0)
	s.findSettings()
	return s
}
