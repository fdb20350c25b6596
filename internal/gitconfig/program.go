package gitconfig

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// errNoGit says what is missing.
var errNoGit = errors.New("git cannot be found in PATH; install it, or put it there")

// Program is the absolute path of git. A worker may have written to a directory of PATH that lies in a repository (node_modules/.bin, a bin of the
// project) or where everybody can write: a git there counts for nothing. Links are followed before that is decided.
func Program() (string, error) { return program(os.Getenv("PATH")) }

func program(path string) (string, error) {
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		found, err := exec.LookPath(filepath.Join(dir, "git"))
		if err != nil {
			continue
		}
		real, err := filepath.EvalSymlinks(found)
		if err != nil || writtenByOthers(dir) || writtenByOthers(filepath.Dir(real)) {
			continue
		}
		return found, nil
	}
	return "", errNoGit
}

// writtenByOthers reports whether a directory lies in a work tree of git, or below one that is meant for everybody's files.
func writtenByOthers(dir string) bool {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	shared := []string{"/tmp", "/var/tmp", "/dev/shm"}
	for {
		if slices.Contains(shared, dir) {
			return true
		}
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil && !isHome(dir) {
			return true
		}
		up := filepath.Dir(dir)
		if up == dir {
			return false
		}
		dir = up
	}
}

// isHome reports whether a directory is the user's own, which some keep in git: no worker may write there.
func isHome(dir string) bool {
	home, err := os.UserHomeDir()
	if err != nil {
		return false
	}
	if real, err := filepath.EvalSymlinks(home); err == nil {
		home = real
	}
	return strings.TrimSuffix(home, string(filepath.Separator)) == dir
}
