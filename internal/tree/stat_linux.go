package tree

import (
	"io/fs"
	"os"
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
	return int64(st.Ctim.Sec)*1e9 + int64(st.Ctim.Nsec), st.Ino
}

func foreign(fi fs.FileInfo) bool {
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) != os.Geteuid()
}

func isDotGit(name string) bool { return name == ".git" }
