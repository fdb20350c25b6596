package realclaude

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A Process is one that came of a place.
type Process struct {
	PID     int
	Command string
}

// Processes lists the living processes that have the place's environment: Claude Code, its hooks, and whatever they started, however far it went away. Only
// Linux tells; elsewhere the list is empty.
func (p *Place) Processes() []Process {
	mark := []byte("CLAUDE_CONFIG_DIR=" + p.Config)
	environs, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return nil
	}
	var all []Process
	for _, path := range environs {
		env, err := os.ReadFile(path)
		if err != nil || !has(env, mark) {
			continue // gone, another user's, or a zombie, whose environment is empty
		}
		dir := filepath.Dir(path)
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			continue
		}
		args, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err != nil {
			continue
		}
		all = append(all, Process{PID: pid, Command: strings.TrimSpace(string(bytes.ReplaceAll(args, []byte{0}, []byte(" "))))})
	}
	return all
}

func has(environ, entry []byte) bool {
	for _, e := range bytes.Split(environ, []byte{0}) {
		if bytes.Equal(e, entry) {
			return true
		}
	}
	return false
}

// Settle waits until no process is left, at most for the given time, and returns those that are.
func (p *Place) Settle(most time.Duration) []Process {
	for end := time.Now().Add(most); ; time.Sleep(50 * time.Millisecond) {
		left := p.Processes()
		if len(left) == 0 || time.Now().After(end) {
			return left
		}
	}
}
