//go:build unix

package main

import "syscall"

// nonblock keeps an opening from waiting for the other end of what has become a pipe.
const nonblock = syscall.O_NONBLOCK
