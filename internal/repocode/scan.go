package repocode

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Bounds of what a git directory may hold before it is taken for an attempt to hide something.
const (
	maxHooks      = 4096 // entries of one hooks directory, all levels
	maxHookDepth  = 8
	maxModuleTree = 32 // levels of directories below modules
)

// A scanner collects the items of one moment. With before set it is the second look: it follows only those links that were
// there before, and looks also at every place that was guarded then.
type scanner struct {
	*State
	ctx    context.Context
	before *State
	left   int64
}

func scan(ctx context.Context, dir string, o Options, before *State) (*State, error) {
	s := &scanner{
		State:  &State{dir: dir, options: o, items: map[string]item{}, gitDirs: map[string]bool{}},
		ctx:    ctx,
		before: before,
		left:   budget,
	}
	for at := filepath.Dir(dir); ; at = filepath.Dir(at) {
		s.git(filepath.Join(at, ".git"))
		if _, bare := repository(at); bare {
			s.gitDir(at, 0)
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	s.tree()
	if before != nil {
		for g := range before.gitDirs {
			s.gitDir(g, 0)
		}
		s.extras = before.extras
	} else {
		s.findExtras()
	}
	s.addExtras()
	return s.State, ctx.Err()
}

func (s *scanner) problem(path string, err error) {
	if len(s.problems) < 20 {
		s.problems = append(s.problems, fmt.Sprintf("%s: %v", printable(path), err))
	}
}

// add records what stands at a path, once.
func (s *scanner) add(path string, k kind, owner string) item {
	if it, ok := s.items[path]; ok {
		return it
	}
	it := readItem(path, k, owner, &s.left)
	if it.form != absent {
		s.items[path] = it
	}
	if it.bad != nil && s.before == nil {
		s.problem(path, it.bad)
	}
	return it
}

// enter records a directory and returns where to read it. A link is followed on the first look, and later only when
// it is still the same.
func (s *scanner) enter(path, owner string) (string, bool) {
	it := s.add(path, kindDir, owner)
	switch it.form {
	case directory:
		return path, it.bad == nil
	case symlink:
		if s.before != nil && !s.before.items[path].equal(it) {
			return "", false
		}
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			return "", false
		}
		fi, err := os.Stat(real)
		return real, err == nil && fi.IsDir()
	}
	return "", false
}

// list reads a directory that enter returned. One that was readable before and is not now becomes a change.
func (s *scanner) list(path string) []fs.DirEntry {
	entries, err := os.ReadDir(path)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return entries
	}
	if it, ok := s.items[path]; ok {
		it.bad = err
		s.items[path] = it
		if s.before != nil && s.before.items[path].form == directory && s.before.items[path].bad == nil {
			return entries
		}
	}
	s.problem(path, err)
	return entries
}

// allowed reports whether a .git file or a commondir may lead to a directory: into the tree, or into a repository that
// was there before the run.
func (s *scanner) allowed(real string) bool {
	if s.before == nil || inside(s.dir, real) {
		return true
	}
	for g := range s.before.gitDirs {
		if inside(g, real) {
			return true
		}
	}
	return false
}

// git records a .git and the repository behind it.
func (s *scanner) git(path string) {
	it := s.add(path, kindGit, "")
	var real string
	var err error
	switch it.form {
	case directory:
		s.gitDir(path, 0)
		return
	case regular:
		if it.bad != nil || len(it.text) > maxLink {
			return
		}
		real, err = linkTarget(filepath.Dir(path), it.text, "gitdir: ")
	case symlink: // a new one is a change by itself, whatever it leads to
		real, err = followGit(path)
	default:
		return
	}
	if err == nil && s.allowed(real) {
		s.gitDir(real, 0)
	}
}

// gitDir records the items of one git directory, its modules and its worktrees.
func (s *scanner) gitDir(path string, depth int) {
	if s.gitDirs[path] || depth > maxModuleTree || s.ctx.Err() != nil {
		return
	}
	g, ok := s.enter(path, path)
	if !ok {
		return
	}
	s.gitDirs[path] = true
	if g != path {
		s.gitDir(g, depth)
		return
	}
	s.config(filepath.Join(g, "config"), g)
	s.config(filepath.Join(g, "config.worktree"), g)
	if info, ok := s.enter(filepath.Join(g, "info"), g); ok {
		s.follow(filepath.Join(info, "attributes"), kindFile, g)
	}
	if hooks, ok := s.enter(filepath.Join(g, "hooks"), g); ok {
		s.hooks(hooks, g)
	}
	if it := s.add(filepath.Join(g, "commondir"), kindFile, g); it.form == regular && it.bad == nil {
		if common, err := linkTarget(g, it.text, ""); err == nil && s.allowed(common) {
			s.gitDir(common, depth+1)
		}
	}
	if modules, ok := s.enter(filepath.Join(g, "modules"), g); ok {
		s.modules(modules, g, depth+1)
	}
	if worktrees, ok := s.enter(filepath.Join(g, "worktrees"), g); ok {
		for _, e := range s.list(worktrees) {
			s.gitDir(filepath.Join(worktrees, e.Name()), depth+1)
		}
	}
}

// config records a configuration file, and the file behind it when it is a link.
func (s *scanner) config(path, owner string) { s.follow(path, kindConfig, owner) }

// follow records a file and, when it is a link that may be followed, what it leads to.
func (s *scanner) follow(path string, k kind, owner string) {
	it := s.add(path, k, owner)
	if it.form != symlink || s.before != nil && !s.before.items[path].equal(it) {
		return
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		s.add(real, k, owner)
	}
}

// modules records each git directory below a modules directory; a module's name may hold slashes.
func (s *scanner) modules(dir, owner string, depth int) {
	if depth > maxModuleTree {
		s.problem(dir, errors.New("too many levels of modules"))
		return
	}
	for _, e := range s.list(dir) {
		path := filepath.Join(dir, e.Name())
		if !e.IsDir() && e.Type()&fs.ModeSymlink == 0 {
			continue
		}
		if looksLikeGitDir(path) {
			s.gitDir(path, depth)
		} else if sub, ok := s.enter(path, owner); ok {
			s.modules(sub, owner, depth+1)
		}
	}
}

// looksLikeGitDir is wider than what git asks for: code in a directory that lacks a HEAD today would run once it has one.
func looksLikeGitDir(path string) bool {
	for _, name := range []string{"HEAD", "config", "commondir"} {
		if fi, err := os.Lstat(filepath.Join(path, name)); err == nil && !fi.IsDir() {
			return true
		}
	}
	return false
}

// hooks records every file of a hooks directory but the samples.
func (s *scanner) hooks(dir, owner string) {
	left := maxHooks
	if !s.hookTree(dir, owner, 0, &left) {
		it := s.items[dir]
		it.kind, it.owner, it.form = kindDir, owner, overfull
		s.items[dir] = it
		for path := range s.items {
			if path != dir && inside(dir, path) {
				delete(s.items, path)
			}
		}
		if s.before == nil {
			s.problem(dir, errors.New("too many files to guard"))
		}
	}
}

func (s *scanner) hookTree(dir, owner string, depth int, left *int) bool {
	for _, e := range s.list(dir) {
		if *left--; *left < 0 || depth > maxHookDepth {
			return false
		}
		path := filepath.Join(dir, e.Name())
		switch {
		case e.IsDir():
			s.add(path, kindDir, owner)
			if !s.hookTree(path, owner, depth+1, left) {
				return false
			}
		case !strings.HasSuffix(e.Name(), ".sample"):
			s.follow(path, kindHook, owner)
		}
	}
	return true
}
