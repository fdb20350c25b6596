//go:build linux || darwin

package doctor

import "golang.org/x/sys/unix"

// free is the room for this user on the disk of a directory: bytes, and files, below 0 where the file system sets no limit to them.
func free(dir string) (bytes uint64, files int64, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, 0, err
	}
	files = int64(st.Ffree)
	if st.Files == 0 {
		files = -1
	}
	return uint64(st.Bavail) * uint64(st.Bsize), files, nil
}
