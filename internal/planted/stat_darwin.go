package planted

import (
	"io/fs"
	"syscall"
)

// changed is when an entry was changed by the system's own clock, which nobody can set back, and its inode.
func changed(fi fs.FileInfo) (ctime int64, ino uint64) {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return st.Ctimespec.Nano(), st.Ino
	}
	return 0, 0
}
