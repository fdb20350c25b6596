//go:build !linux && !darwin

package planted

import "io/fs"

// changed knows nothing here: a file whose size and time were kept counts as unchanged.
func changed(fs.FileInfo) (ctime int64, ino uint64) { return 0, 0 }
