//go:build unix

package repocode

import (
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// foreign reports whether a file belongs to another user.
func foreign(fi fs.FileInfo) bool {
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) != os.Geteuid()
}

// isDotGit reports whether git takes a name for the directory of a repository.
func isDotGit(name string) bool { return strings.EqualFold(name, ".git") }
