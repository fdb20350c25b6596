//go:build unix

package job

import (
	"errors"
	"syscall"
)

// full reports whether an error says that there is no room: on the disk, in a quota, or below a limit on file sizes.
func full(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}
