//go:build crashpoints

// Package crashpoint is described in off.go, which is what a shipped program has.
package crashpoint

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// passed is what this process has come by.
var passed struct {
	sync.Mutex
	last  string
	times map[string]int
}

// Here names the places of this process, such as "written state.json#2" for the second time; an id is ID there, and a place that is passed
// again and again, since something is waited for, counts once. It ends the process, as SIGKILL does, at the place that OC_CRASH_POINT
// names; with OC_CRASH_LOG it adds a line to that file. OC_CRASH_ROLE limits both to a process whose arguments hold that word
// (or, with a leading !, do not).
func Here(what, path string) {
	if role := os.Getenv("OC_CRASH_ROLE"); role != "" {
		word, not := strings.CutPrefix(role, "!")
		if strings.Contains(strings.Join(os.Args, " "), word) == not {
			return
		}
	}
	base := filepath.Base(path)
	if len(base) == len("20261129-193015-0k7u2m") && base[8] == '-' && base[15] == '-' {
		base = "ID"
	}
	name := what + " " + base
	passed.Lock()
	defer passed.Unlock()
	if name == passed.last {
		return
	}
	passed.last = name
	if passed.times == nil {
		passed.times = map[string]int{}
	}
	passed.times[name]++
	name = fmt.Sprintf("%s#%d", name, passed.times[name])
	if log := os.Getenv("OC_CRASH_LOG"); log != "" {
		if f, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err == nil {
			fmt.Fprintln(f, name)
			f.Close()
		}
	}
	if os.Getenv("OC_CRASH_POINT") == name {
		p, _ := os.FindProcess(os.Getpid())
		_ = p.Kill()
		_ = p.Signal(syscall.SIGKILL)
		select {}
	}
}
