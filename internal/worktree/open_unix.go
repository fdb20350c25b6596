//go:build unix

package worktree

import "syscall"

// openNoBlock keeps an opening from waiting for the other end of what has become a pipe.
const openNoBlock = syscall.O_NONBLOCK
