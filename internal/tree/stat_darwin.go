package tree

import (
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// hasChangeTime says that no program can change a file and set all its times back: the change time is the kernel's.
const hasChangeTime = true

// openNoBlock keeps a FIFO that took a file's place from blocking.
const openNoBlock = syscall.O_NONBLOCK

func statExtra(fi fs.FileInfo) (ctime int64, ino uint64) {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0
	}
	return st.Ctimespec.Sec*1e9 + st.Ctimespec.Nsec, st.Ino
}

func foreign(fi fs.FileInfo) bool {
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) != os.Geteuid()
}

// isDotGit knows that file systems of macOS do not tell the case of letters apart.
func isDotGit(name string) bool { return strings.EqualFold(name, ".git") }
