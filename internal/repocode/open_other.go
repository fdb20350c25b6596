//go:build !unix

package repocode

// Windows has no FIFO in the file system; a symbolic link is found by Lstat before.
const (
	openNoBlock  = 0
	openNoFollow = 0
)
