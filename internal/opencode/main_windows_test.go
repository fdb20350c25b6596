package opencode

import "syscall"

func detached() *syscall.SysProcAttr { return nil }

func writeCacheUnder(_ int, dir, file string) { writeCache(dir, file, "x") }
