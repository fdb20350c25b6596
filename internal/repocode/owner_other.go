//go:build !unix

package repocode

import (
	"io/fs"
	"strings"
)

// foreign is not known here; a directory that cannot be read is then reported.
func foreign(fs.FileInfo) bool { return false }

// isDotGit reports whether git takes a name for the directory of a repository.
func isDotGit(name string) bool {
	return strings.EqualFold(name, ".git") || strings.EqualFold(name, "git~1")
}
