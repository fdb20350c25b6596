//go:build unix

package repocode

import "syscall"

// A FIFO that the worker put in place of a file must not block, and the last part of a path is not followed.
const (
	openNoBlock  = syscall.O_NONBLOCK | syscall.O_CLOEXEC
	openNoFollow = syscall.O_NOFOLLOW
)
