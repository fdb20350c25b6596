package worktree

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"opencode-delegate/internal/gitconfig"
)

// A configuration is what decides which files a configuration file includes. What is not known includes nothing.
type configuration struct {
	home, gitDir, branch string
}

func (g *git) configuration() configuration {
	c := configuration{home: g.lookup("HOME"), gitDir: g.gitDir}
	if text, err := readRegular(filepath.Join(g.gitDir, "HEAD"), maxRef); err == nil {
		c.branch, _ = strings.CutPrefix(strings.TrimSpace(string(text)), "ref: refs/heads/")
	}
	return c
}

// configured is the last value of a key in one configuration file and what that includes without a condition.
func configured(file, key string) (value string, ok bool) { return configuration{}.value(file, key) }

// How deep files include others, as in git, and how many are read in all: a file may name itself many times.
const (
	maxIncludes = 10
	maxIncluded = 100
)

// value is the last value of a key in one configuration file and in those that it includes. Only regular files are read: git would wait for
// a pipe.
func (c configuration) value(file, key string) (value string, ok bool) {
	left := maxIncluded
	return c.valueIn(file, key, maxIncludes, &left)
}

func (c configuration) valueIn(file, key string, deep int, left *int) (value string, ok bool) {
	if *left--; deep < 0 || *left < 0 {
		return "", false
	}
	text, err := readRegular(file, gitconfig.MaxSize)
	if err != nil {
		return "", false
	}
	parsed, err := gitconfig.Parse(text)
	if err != nil {
		return "", false
	}
	for _, e := range parsed.Entries {
		if e.Key == key {
			value, ok = e.Value, true
			continue
		}
		section, condition, variable := gitconfig.Split(e.Key)
		if variable != "path" || section != "include" && (section != "includeif" || !c.holds(condition, file)) {
			continue
		}
		if v, found := c.valueIn(c.path(e.Value, file), key, deep-1, left); found {
			value, ok = v, true
		}
	}
	return value, ok
}

// path is what a value of a file means.
func (c configuration) path(value, file string) string {
	if rest, ok := strings.CutPrefix(value, "~/"); ok {
		if c.home == "" {
			return os.DevNull
		}
		return filepath.Join(c.home, rest)
	}
	if filepath.IsAbs(value) {
		return value
	}
	return filepath.Join(filepath.Dir(file), value)
}

// holds reports whether a condition of an includeIf is met. hasconfig: is not known.
func (c configuration) holds(condition, file string) bool {
	kind, pattern, _ := strings.Cut(condition, ":")
	if strings.HasSuffix(pattern, "/") {
		pattern += "**"
	}
	switch {
	case kind == "onbranch":
		ok, err := doublestar.Match(pattern, c.branch)
		return ok && err == nil && c.branch != ""
	case c.gitDir == "":
		return false
	case strings.HasPrefix(pattern, "~/") || strings.HasPrefix(pattern, "./"):
		pattern = filepath.ToSlash(c.path(pattern, file))
	case !filepath.IsAbs(pattern):
		pattern = "**/" + pattern
	}
	gitDir := filepath.ToSlash(c.gitDir)
	switch kind {
	case "gitdir":
	case "gitdir/i":
		gitDir, pattern = strings.ToLower(gitDir), strings.ToLower(pattern)
	default:
		return false
	}
	ok, err := doublestar.Match(pattern, gitDir)
	return ok && err == nil
}
