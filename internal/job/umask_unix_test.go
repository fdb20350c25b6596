//go:build unix

package job

import "syscall"

func setUmask(m int) int { return syscall.Umask(m) }
