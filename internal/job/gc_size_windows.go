package job

import "io/fs"

// allocated is what a file needs on the disk, but for the rest of its last block.
func allocated(fi fs.FileInfo) int64 {
	if fi.IsDir() {
		return 0
	}
	return fi.Size()
}
