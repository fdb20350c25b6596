//go:build unix

package job

import (
	"io/fs"
	"syscall"
)

// allocated is what a file needs on the disk: its blocks of 512 bytes.
func allocated(fi fs.FileInfo) int64 {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return st.Blocks * 512
	}
	return fi.Size()
}
