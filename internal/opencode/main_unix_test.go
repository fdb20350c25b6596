//go:build unix

package opencode

import "syscall"

func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// writeCacheUnder may only be called by a test that is not parallel: the mask is the process's.
func writeCacheUnder(umask int, dir, file string) {
	defer syscall.Umask(syscall.Umask(umask))
	writeCache(dir, file, "x")
}
