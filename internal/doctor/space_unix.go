//go:build linux || darwin

package doctor

import "golang.org/x/sys/unix"

// free is the room for this user on the disk of a directory: bytes, and files, below 0 where the file system sets no limit to them.
func free(dir string) (bytes uint64, files int64, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, 0, err
	}
	return uint64(st.Bavail) * uint64(st.Bsize), roomFor(st.Files, st.Ffree), nil
}

// roomFor is how many more files there may be, of so many in all; a file system without inodes of its own says 0 in all.
func roomFor(total, free uint64) int64 {
	if total == 0 {
		return -1
	}
	return int64(min(free, 1<<62))
}
