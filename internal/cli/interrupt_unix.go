//go:build unix

package cli

import (
	"os"
	"syscall"
)

var ignored = []os.Signal{syscall.SIGPIPE, syscall.SIGXFSZ}

// newFileMode is the mode that a file of the caller's gets: what its umask leaves of 0666.
func newFileMode() os.FileMode {
	mask := syscall.Umask(0)
	syscall.Umask(mask)
	return 0o666 &^ os.FileMode(mask)
}
