// Package worktree keeps what a run could destroy, and gives it back.
//
//	before, err := worktree.Take(ctx, dir, store, o)   // before a run that writes in place
//	…the run, and the end of every process of it…
//	err = before.End(ctx)                              // what the run has left
//	…
//	done, err := before.Restore(ctx, worktree.Undo{})  // maybe days later
//
// A snapshot is a directory of ours outside the work tree: the contents of the files and a list of them. It is no ref of the user's
// repository, because a worker that may commit may write to its .git: it could remove the ref and the objects with it, and whatever
// git did there for us would be done under configuration that the worker wrote. A tree of git also knows neither mode 0600 nor an empty
// directory. So a snapshot needs no git, changes nothing in .git, and outlives its loss.
//
// Contents are the bytes on the disk; no filter and no attribute counts. Covered are tracked, untracked and ignored files. Not
// covered, and named by [Snapshot.Left]: ignored directories of dependencies (node_modules, .venv, …), ignored files above 50 MB, what is no
// file, link or directory, what cannot be read, and each .git. Owners, times and extended attributes are not kept. What a run changes in ignored
// dependencies is seen by [Snapshot.Dependencies].
//
// Beside it stands what the repository of the directory is: HEAD, refs, index, stash, what is under way. Its objects get a second name in the store, so
// that no gc takes old commits away. [Snapshot.History] names what a run did to that, and Restore gives it back when asked. Repositories
// inside, submodules included, are covered as files, without their history.
//
// Before the run git is asked which files it ignores, with a git directory of our own; it needs no cage: ignore files and the index are data to it, and
// it is told nothing of configuration. After the run what was covered before is covered, and what is new is covered too, whatever .gitignore now
// says; only for what is to land ([Options].Landing) git is asked again, and that and the one which looks at commits belong into a [Cage].
//
// Each of Take, End, Restore and Apply may be killed at any moment and done again with the same arguments.
package worktree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"opencode-delegate/internal/crashpoint"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/tree"
)

// Options bound the work of Take. The zero value is right for a run.
type Options struct {
	// Environ is the caller's environment; git finds the user's own ignore file by it.
	Environ []string
	// MaxEntries bounds the files and directories. 0 means 1,000,000.
	MaxEntries int
	// MaxBytes bounds the contents together. 0 means 8 GiB.
	MaxBytes int64
	// MaxIgnored is the size of the largest ignored file that is covered, in bytes. 0 means 50 MB.
	MaxIgnored int64
	// Since is an earlier snapshot of the same directory. Contents of files that nobody has touched since are taken from it, and git is not asked: what
	// it did not cover is not covered, what is new is. The new snapshot needs the earlier one no longer.
	Since *Snapshot
	// Landing is for what a run has made: files that git ignores now do not belong to it unless Since holds them. It needs Since.
	Landing bool
	// Cage is closed around the git that is asked for a Landing: it reads what a worker may have written.
	Cage Cage

	history bool // the repository's state is recorded too
}

func (o Options) withDefaults() Options {
	o.MaxEntries = cmp.Or(o.MaxEntries, 1_000_000)
	o.MaxBytes = cmp.Or(o.MaxBytes, 8<<30)
	o.MaxIgnored = cmp.Or(o.MaxIgnored, 50_000_000)
	return o
}

// A Snapshot is a directory as it was at one moment, with all contents.
type Snapshot struct {
	store string
	list  list
}

// A Hole is a path that a snapshot does not cover.
type Hole struct {
	Path string // relative, with slashes
	Why  string
	git  bool // it is a .git, which lies inside of a directory that is covered
}

// Take makes a snapshot of dir in store, a directory that it makes and that must not exist, unless an earlier Take has left it unfinished. Neither may lie in the other. When it returns nil the
// snapshot is complete; after a crash or an error [Open] knows that it is not.
func Take(ctx context.Context, dir, store string, o Options) (*Snapshot, error) {
	dir, store, err := places(dir, store)
	if err != nil {
		return nil, err
	}
	o = o.withDefaults()
	o.history = true
	if o.Since != nil && o.Since.list.dir != dir {
		return nil, fault.New(fault.Usage, "a snapshot of %s cannot go on from one of %s", dir, o.Since.list.dir)
	}
	if o.Landing && o.Since != nil {
		return take(ctx, dir, store, o, newMade(dir, o))
	}
	if o.Since != nil {
		return take(ctx, dir, store, o, newCovered(o.Since.list))
	}
	return take(ctx, dir, store, o, newIgnored(dir, o.Environ))
}

// places are the absolute forms of both directories.
func places(dir, store string) (string, string, error) {
	dir, err := filepath.Abs(dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return "", "", fault.New(fault.Usage, "snapshot of %s: %w", dir, err)
	}
	parent, err := filepath.Abs(filepath.Dir(store))
	if err == nil {
		parent, err = filepath.EvalSymlinks(parent)
	}
	if err != nil {
		return "", "", fmt.Errorf("snapshot in %s: %w", store, err)
	}
	store = filepath.Join(parent, filepath.Base(store))
	if within(dir, store) || within(store, dir) {
		return "", "", fault.New(fault.Usage, "a snapshot of %s cannot be kept in %s: one lies in the other; set the state directory to another place", dir, store)
	}
	return dir, store, nil
}

// within reports whether path is root or lies below it.
func within(root, path string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

func take(ctx context.Context, dir, store string, o Options, cover coverage) (*Snapshot, error) {
	if err := makeStore(store); err != nil {
		return nil, fmt.Errorf("snapshot of %s: %w", dir, err)
	}
	crashpoint.Here("made", "store")
	s := &Snapshot{store: store}
	keep, err := createContents(store, o.MaxBytes, o.Since)
	if err == nil {
		s.list, err = walk(ctx, dir, o, cover, keep)
		err = errors.Join(err, keep.close())
	}
	if err == nil && o.history {
		err = s.recordGit(ctx, o, cover)
	}
	if err == nil {
		err = writeList(filepath.Join(store, beforeName), s.list)
	}
	if err != nil {
		os.RemoveAll(store)
		return nil, fault.New(fault.Of(err).Kind, "snapshot of %s: %w", dir, err)
	}
	return s, nil
}

// makeStore makes the directory. One that a Take left unfinished goes first.
func makeStore(store string) error {
	err := os.Mkdir(store, 0o700)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	names, rerr := os.ReadDir(store)
	for _, n := range names {
		ours := slices.Contains([]string{contentsName, gitIndexName, gitKeptName, gitBeforeName}, n.Name()) || strings.HasPrefix(n.Name(), ".tmp-")
		if !ours || n.Type()&fs.ModeSymlink != 0 {
			return err
		}
	}
	if rerr != nil {
		return rerr
	}
	if err := os.RemoveAll(store); err != nil {
		return err
	}
	return os.Mkdir(store, 0o700)
}

// Open reads a snapshot that Take has finished.
func Open(store string) (*Snapshot, error) {
	l, err := readList(filepath.Join(store, beforeName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(fault.NotFound, "there is no complete snapshot in %s", store)
	}
	if err != nil {
		return nil, fmt.Errorf("snapshot in %s: %w", store, err)
	}
	return &Snapshot{store: store, list: l}, nil
}

// Dir is the directory that the snapshot is of.
func (s *Snapshot) Dir() string { return s.list.dir }

// Left names what is not covered, at most 1,000 of it, and says how many there are.
func (s *Snapshot) Left() (holes []Hole, all int) {
	return slices.Clone(s.list.holes[:min(len(s.list.holes), 1000)]), len(s.list.holes)
}

// Why is the reason for which a path is not covered; empty when it is.
func (s *Snapshot) Why(path string) string {
	for _, h := range s.list.holes {
		if inSlashes(h.Path, path) {
			return h.Why
		}
	}
	return ""
}

// End records what the run has left, so that Restore can tell the run's changes from later ones. Nothing of the run may be alive.
func (s *Snapshot) End(ctx context.Context) error {
	l, err := s.now(ctx)
	if err == nil {
		err = s.recordGitEnd()
	}
	if err == nil {
		err = writeList(filepath.Join(s.store, endName), l)
	}
	if err != nil {
		return fmt.Errorf("the state of %s after the run: %w", s.list.dir, err)
	}
	return nil
}

// EndHistory records what has become of the repository since End: a check has run the worker's code. What it wrote in the directory is not of the run.
func (s *Snapshot) EndHistory() error {
	if err := s.recordGitEnd(); err != nil {
		return fmt.Errorf("the state of the repository of %s after the check: %w", s.list.dir, err)
	}
	return nil
}

// recordGit writes down what the repository is. What git ignores belongs to it, for what a run may take away without a word.
func (s *Snapshot) recordGit(ctx context.Context, o Options, cover coverage) error {
	g, index := readGitState(s.list.dir)
	if g == nil {
		return nil
	}
	if g.Unknown == "" {
		var err error
		if g.Loose, err = hold(ctx, unquoted(g.Common), s.store); err != nil {
			return err
		}
		crashpoint.Here("kept", gitKeptName)
	}
	if i, ok := cover.(*ignored); ok {
		g.Ignored = mapped(slices.Sorted(maps.Keys(i.paths)), tree.Quote)
		slices.Sort(g.Ignored)
	} else if o.Since != nil {
		was, err := readGitStateFile(filepath.Join(o.Since.store, gitBeforeName))
		if err != nil {
			return err
		}
		if was != nil {
			g.Ignored = was.Ignored
		}
	}
	if index != nil {
		if err := os.WriteFile(filepath.Join(s.store, gitIndexName), index, 0o600); err != nil {
			return err
		}
	}
	crashpoint.Here("written", gitIndexName)
	return writeGitState(filepath.Join(s.store, gitBeforeName), g)
}

// recordGitEnd writes down what the run has left of the repository.
func (s *Snapshot) recordGitEnd() error {
	before, err := readGitStateFile(filepath.Join(s.store, gitBeforeName))
	if err != nil {
		return err
	}
	now := s.gitNow(before)
	if now == nil {
		return nil
	}
	return writeGitState(filepath.Join(s.store, gitEndName), now)
}

// now is the directory as it is, without contents, as far as the snapshot covers it.
func (s *Snapshot) now(ctx context.Context) (list, error) {
	return walk(ctx, s.list.dir, Options{MaxEntries: 4_000_000, Since: s}.withDefaults(), newCovered(s.list), sums{})
}
