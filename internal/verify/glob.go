package verify

import (
	"path"
	"runtime"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"opencode-delegate/internal/fault"
)

// globLimit bounds one glob; those of a caller come from a command line, those of a repository from a file.
const globLimit = 512

// Globs are patterns for the paths of a work tree, read as .gitignore reads its own but for "!" and "#": without a slash a glob means the name
// of a file or directory at any depth, with one the path from the top; "**" stands for any number of directories, {a,b} for either. A glob that
// matches a directory matches all that is in it. Letters count in either case where the system's files are named so (macOS,
// Windows), else as they stand.
type Globs []glob

type glob struct{ text, pattern string }

// ParseGlobs checks globs. A bad one is a USAGE fault that names what, the flag or file that it stands in.
func ParseGlobs(what string, globs []string) (Globs, error) {
	var parsed Globs
	for _, text := range globs {
		pattern := strings.TrimSuffix(text, "/")
		anchored := strings.Contains(pattern, "/")
		pattern = path.Clean(strings.TrimPrefix(pattern, "/"))
		switch {
		case text == "" || pattern == "." || len(text) > globLimit || strings.ContainsAny(text, "\x00\n"):
			return nil, fault.New(fault.Usage, "%s: %.60q is no glob for files of the work tree", what, text)
		case pattern == ".." || strings.HasPrefix(pattern, "../"):
			return nil, fault.New(fault.Usage, "%s: %q leads out of the work tree; globs are relative to its top", what, text)
		case strings.HasPrefix(text, "!"):
			return nil, fault.New(fault.Usage, `%s: %.60q: "!" takes nothing out of a list of globs; a name that begins so is written \!`, what, text)
		case !anchored:
			pattern = "**/" + pattern
		}
		if !doublestar.ValidatePattern(pattern) {
			return nil, fault.New(fault.Usage, "%s: %q is no valid glob", what, text)
		}
		parsed = append(parsed, glob{text, pattern})
	}
	return parsed, nil
}

// Match reports whether one of the globs matches a path, relative to the top and with slashes.
func (g Globs) Match(name string) bool {
	_, ok := g.find(name, runtime.GOOS == "darwin" || runtime.GOOS == "windows")
	return ok
}

// part is the shortest beginning of a path that matches: the path itself, or a directory in which it lies; empty when nothing does.
func (g Globs) part(name string) string {
	for i := range name + "/" {
		if (i == len(name) || name[i] == '/') && i > 0 && g.Match(name[:i]) {
			return name[:i]
		}
	}
	return ""
}

func (g Globs) find(name string, fold bool) (glob, bool) {
	if fold {
		name = strings.ToLower(name)
	}
	for _, one := range g {
		pattern := one.pattern
		if fold {
			pattern = strings.ToLower(pattern)
		}
		for part := name; part != "." && part != "/"; part = path.Dir(part) {
			if doublestar.MatchUnvalidated(pattern, part) {
				return one, true
			}
		}
	}
	return glob{}, false
}
