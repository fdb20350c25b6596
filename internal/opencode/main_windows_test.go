package opencode

import "syscall"

func detached() *syscall.SysProcAttr { return nil }
