package doctor

import "golang.org/x/sys/windows"

// free is the room for this user on the disk of a directory: bytes, and files, which have no limit there.
func free(dir string) (bytes uint64, files int64, err error) {
	path, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, 0, err
	}
	err = windows.GetDiskFreeSpaceEx(path, &bytes, nil, nil)
	return bytes, -1, err
}
