package repocode

import (
	"os"
	"path/filepath"
	"strings"
)

// maxLink bounds the files that name another directory (.git, commondir), in bytes. git writes one path into them.
const maxLink = 16 << 10

// Dirs finds the repository that git would use in dir, without running git: the first of dir and its parents that holds a
// .git, or that is a bare repository itself. gitDir holds HEAD and the index; commonDir, the same but in a linked
// worktree, holds objects, refs, config and hooks; topLevel holds the .git and is empty for a bare repository. All are absolute, with symbolic links
// resolved. ok is false when there is none, or when what is found is no repository. GIT_DIR and its relatives are
// not looked at, nor is core.worktree.
func Dirs(dir string) (gitDir, commonDir, topLevel string, ok bool) {
	dir, err := realDir(dir)
	if err != nil {
		return "", "", "", false
	}
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			gitDir, err := followGit(filepath.Join(at, ".git"))
			if err == nil {
				if common, ok := repository(gitDir); ok {
					return gitDir, common, at, true
				}
			}
			if fi, err := os.Stat(filepath.Join(at, ".git")); err == nil && !fi.IsDir() {
				return "", "", "", false // git stops at a .git file that leads nowhere
			}
		}
		if common, ok := repository(at); ok {
			return at, common, "", true
		}
		if at == filepath.Dir(at) {
			return "", "", "", false
		}
	}
}

// realDir is the absolute form of a directory with symbolic links resolved.
func realDir(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

// followGit returns the directory that a .git stands for: itself, or the one that the file names.
func followGit(path string) (string, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if fi.IsDir() {
		return filepath.EvalSymlinks(path)
	}
	text, err := readRegular(path, maxLink, true)
	if err != nil {
		return "", err
	}
	return linkTarget(filepath.Dir(path), text, "gitdir: ")
}

// linkTarget resolves the path in a link file; prefix is what stands before it.
func linkTarget(base string, text []byte, prefix string) (string, error) {
	path, found := strings.CutPrefix(strings.TrimRight(string(text), "\r\n"), prefix)
	if !found || path == "" || strings.ContainsRune(path, 0) {
		return "", os.ErrInvalid
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(base, path)
	}
	return filepath.EvalSymlinks(path)
}

// repository reports whether a directory has what git asks of a repository, and which one holds its shared part.
func repository(gitDir string) (commonDir string, ok bool) {
	if _, err := os.Lstat(filepath.Join(gitDir, "HEAD")); err != nil {
		return "", false
	}
	commonDir = gitDir
	if text, err := readRegular(filepath.Join(gitDir, "commondir"), maxLink, true); err == nil {
		if commonDir, err = linkTarget(gitDir, text, ""); err != nil {
			return "", false
		}
	}
	for _, need := range []string{"objects", "refs"} {
		if fi, err := os.Stat(filepath.Join(commonDir, need)); err != nil || !fi.IsDir() {
			return "", false
		}
	}
	return commonDir, true
}

// inside reports whether path is root or lies below it. Both are clean and absolute.
func inside(root, path string) bool {
	if root == "" {
		return false
	}
	rel, err := filepath.Rel(root, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
