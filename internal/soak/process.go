package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// A process is one of the place.
type process struct {
	pid, ppid int
	start     string // its start time in the unit of the system
	program   string // path
	words     []string
	marker    string // of the run, which is a job's id
	task      int    // 0 = none
	ours      bool   // by itself, not by its parent
	stopped   bool
	busy      bool // it has children
}

func (q process) String() string {
	return fmt.Sprintf("%s %d (task %d, run %q): %.200q", q.role(), q.pid, q.task, q.marker, q.words)
}

// role is what kind of process it is; kills are counted by it, and drawn from each kind alike.
func (q process) role() string {
	word := ""
	if len(q.words) > 1 {
		word = q.words[1]
	}
	name := filepath.Base(q.program)
	switch {
	case name == "opencode" && word == "run":
		return "worker"
	case name == "opencode":
		return "question"
	case name != "oc-job" && name != "oc-delegate":
		return "child"
	case word == "__supervisor" && !q.busy:
		return "queued"
	case word == "__supervisor":
		return "supervisor"
	case word == "__guardian":
		return "guardian"
	case strings.HasPrefix(word, "__"):
		return "cage"
	case name == "oc-delegate" && slices.Contains(q.words, "--max-wait"):
		return "follower"
	case name == "oc-delegate":
		return "foreground"
	case word == "start", word == "wait", word == "cancel", word == "notify":
		return word
	case word == "continue", word == "retry", word == "recover":
		return "again"
	}
	return "reader"
}
