//go:build crashpoints

// Package crashpoint is described in off.go, which is what a shipped program has.
package crashpoint

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

var count atomic.Int64

// Here counts the places of this process. It ends the process, as SIGKILL does, at the number that OC_CRASH_POINT names; with
// OC_CRASH_LOG it adds a line to that file. OC_CRASH_ROLE limits both to a process whose arguments hold that word (or, with a
// leading !, do not).
func Here(what, path string) {
	if role := os.Getenv("OC_CRASH_ROLE"); role != "" {
		word, not := strings.CutPrefix(role, "!")
		if strings.Contains(strings.Join(os.Args, " "), word) == not {
			return
		}
	}
	n := count.Add(1)
	if name := os.Getenv("OC_CRASH_LOG"); name != "" {
		if f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err == nil {
			fmt.Fprintf(f, "%d %s %s\n", n, what, filepath.Base(path))
			f.Close()
		}
	}
	if at, err := strconv.ParseInt(os.Getenv("OC_CRASH_POINT"), 10, 64); err == nil && at == n {
		p, _ := os.FindProcess(os.Getpid())
		_ = p.Kill()
		_ = p.Signal(syscall.SIGKILL)
		select {}
	}
}
