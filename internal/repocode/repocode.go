// Package repocode guards the code of a repository that runs later, as the user, without being asked for: hooks, and the
// git configuration that makes git run a program or read a file of somebody's choice. A sandbox cannot spare them, because a run
// that may commit must write to the git directory, and what the kernel grants there it grants below it too.
//
//	before, err := repocode.Capture(ctx, dir, o)     // before the run
//	…the run, and the end of every process of it…
//	violations, err := repocode.Check(ctx, before, keep)  // before any git command of ours
//
// Guarded are, for the repository of dir, its modules (to any depth) and worktrees, each repository and .git in the tree
// below dir, and each .git that appears in a parent of dir:
//
//   - config and config.worktree, key by key: see isCode for the keys. Other keys (branch.*, remote.*, submodule.*,
//     user.*, …) are the run's to change and stay as it left them.
//   - files that the configuration includes and hooks directories that core.hooksPath names, where they lie in the work tree; of
//     the latter only the files that git itself would start. A program in the work tree that a key of the configuration names
//     (filter, fsmonitor, alias, …).
//   - hooks: each file with its mode, but for *.sample, which git never runs.
//   - info/attributes, commondir.
//   - what leads to them: a .git that becomes a file, a link, or another directory; hooks or info that becomes a link.
//
// A repository that the run made itself is compared with an empty one.
//
// Not guarded, since git runs nothing of it by itself: objects/info/alternates, info/exclude, refs, the index, .gitattributes and
// .gitmodules (git refuses commands in them), the todo list of a rebase that the run left unfinished, and whatever a hook or
// program in turn starts from the work tree (package.json scripts, .husky/pre-commit behind its stub).
//
// The package starts no process. It reads files without following links that were not there before, and never opens what is not a regular file.
package repocode

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
)

// Options say what Capture cannot find out by itself.
type Options struct {
	// Home is the user's home directory, for "~/" in configuration. Empty: such a path is not resolved.
	Home string
	// UserConfig are the configuration files of the user and of the system, see UserConfig. They are read for paths that
	// lead into the work tree (core.hooksPath, include.path, programs); they are not guarded themselves.
	UserConfig []string
	// MaxEntries bounds the directory entries that a walk of the tree looks at. 0 means 2,000,000.
	MaxEntries int
}

// A State is the guarded code as it was at one moment. It holds at most 24 MiB of content.
type State struct {
	dir      string
	options  Options
	items    map[string]item
	gitDirs  map[string]bool // known repositories
	extras   extras
	problems []string
}

// Problems says, a line each, what could not be examined; it is empty when everything was.
func (s *State) Problems() []string { return slices.Clone(s.problems) }

// A Violation is one change of guarded code.
type Violation struct {
	Path string `json:"path"`           // relative to dir when it lies there, with slashes; else absolute
	Key  string `json:"key,omitempty"`  // the configuration key, for a change of configuration
	What string `json:"what"`           // one line for a person; holds no value of the configuration
	Kept string `json:"kept,omitempty"` // where the run's version was kept, absolute
	// Mended says that the state before the run is back. It is false in the answer of Inspect.
	Mended bool `json:"mended"`
}

// maxViolations bounds the list; everything is put back, also what is not listed.
const maxViolations = 1000

// maxRounds bounds the repetitions of compare and put back. Each round sees what the one before uncovered; a tree
// in which nobody writes needs three at most.
const maxRounds = 5

// ErrIncomplete says that some of the code could not be examined or put back; the error's text names it.
var ErrIncomplete = errors.New("repository code not fully checked")

// Capture takes the guarded code before a run. dir is the directory of the run. An error means that dir cannot be used
// or that ctx is over; what could not be read is in State.Problems.
func Capture(ctx context.Context, dir string, o Options) (*State, error) {
	real, err := realDir(dir)
	if err != nil {
		return nil, fmt.Errorf("repository code of %s: %w", dir, err)
	}
	s, err := scan(ctx, real, o, nil)
	if err != nil {
		return nil, fmt.Errorf("repository code of %s: %w", dir, err)
	}
	return s, nil
}

// Inspect lists the changes since before and touches nothing.
func Inspect(ctx context.Context, before *State) ([]Violation, error) {
	after, err := scan(ctx, before.dir, before.options, before)
	if err != nil {
		return nil, fmt.Errorf("repository code of %s: %w", before.dir, err)
	}
	var list []Violation
	for _, f := range compare(before, after) {
		list = append(list, f.violations(before.dir)...)
	}
	return sorted(list), incomplete(after.problems)
}

// Check compares with the state before the run, puts each change back and moves the run's version to the directory keep, which it
// creates (0700) when there is something to keep. Ordinary keys in a configuration file that is put back are carried over, its
// comments are not. Nothing that the run started may be alive. An error that is ErrIncomplete comes together with the
// violations: then a place could not be examined or put back, and git should not be run there.
func Check(ctx context.Context, before *State, keep string) ([]Violation, error) {
	m := mender{before: before, keep: keep}
	var list []Violation
	for range maxRounds {
		after, err := scan(ctx, before.dir, before.options, before)
		if err != nil {
			return sorted(list), fmt.Errorf("repository code of %s: %w", before.dir, err)
		}
		findings := compare(before, after)
		if len(findings) == 0 {
			return sorted(list), incomplete(append(m.problems, after.problems...))
		}
		for _, f := range findings {
			kept, err := m.mend(f)
			if err != nil {
				m.problems = append(m.problems, err.Error())
			}
			for _, v := range f.violations(before.dir) {
				v.Kept, v.Mended = kept, err == nil
				list = append(list, v)
			}
		}
		if len(m.problems) > 0 {
			return sorted(list), incomplete(m.problems)
		}
	}
	return sorted(list), incomplete([]string{"the repository goes on changing"})
}

func incomplete(problems []string) error {
	if len(problems) == 0 {
		return nil
	}
	more := ""
	if len(problems) > 3 {
		more = fmt.Sprintf(" (and %d more)", len(problems)-3)
		problems = problems[:3]
	}
	return fmt.Errorf("%w: %s%s", ErrIncomplete, joinLines(problems), more)
}

func sorted(list []Violation) []Violation {
	slices.SortStableFunc(list, func(a, b Violation) int { return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Key, b.Key)) })
	return list[:min(len(list), maxViolations)]
}

// UserConfig names the configuration files that git reads beside the repository's: the system's, then the user's. getenv is
// os.Getenv, or what the worker's environment says.
func UserConfig(home string, getenv func(string) string) []string {
	var files []string
	if getenv("GIT_CONFIG_NOSYSTEM") == "" {
		files = append(files, cmp.Or(getenv("GIT_CONFIG_SYSTEM"), "/etc/gitconfig"))
	}
	if global := getenv("GIT_CONFIG_GLOBAL"); global != "" {
		return append(files, global)
	}
	if xdg := getenv("XDG_CONFIG_HOME"); xdg != "" {
		files = append(files, xdg+"/git/config")
	} else if home != "" {
		files = append(files, home+"/.config/git/config")
	}
	if home != "" {
		files = append(files, home+string(os.PathSeparator)+".gitconfig")
	}
	return files
}
