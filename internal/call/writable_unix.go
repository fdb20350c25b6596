//go:build unix

package call

import "golang.org/x/sys/unix"

// writable reports whether this user may make files in a directory.
func writable(dir string) bool { return unix.Access(dir, unix.W_OK) == nil }
