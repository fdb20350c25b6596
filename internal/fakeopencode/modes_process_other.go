//go:build !unix

package fakeopencode

import (
	"os"
	"os/exec"
	"syscall"
)

// processModes is empty where there are neither sessions nor signals: a script that names one fails and says so.
var processModes = map[string]func(*fake, string){}

func detach(*exec.Cmd) {}

// dieBy ends this process at once; there is no signal to die by.
func dieBy(syscall.Signal) { os.Exit(1) }
