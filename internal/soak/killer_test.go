package main

import (
	"testing"
	"time"
)

func proc(pid int, program string, words ...string) process {
	return process{pid: pid, program: "/place/bin/" + program, words: append([]string{program}, words...)}
}

func TestRoles(t *testing.T) {
	busy := proc(1, "oc-job", "__supervisor", "id")
	busy.busy = true
	for want, q := range map[string]process{
		"supervisor": busy, "queued": proc(1, "oc-delegate", "__supervisor", "id"), "guardian": proc(1, "oc-delegate", "__guardian"),
		"cage": proc(1, "oc-job", "__sandbox"), "worker": proc(1, "opencode", "run", "x"), "question": proc(1, "opencode", "--version"),
		"child": proc(1, "sh"), "start": proc(1, "oc-job", "start", "x"), "again": proc(1, "oc-job", "retry", "id"), "reader": proc(1, "oc-job", "logs", "-f"),
		"wait": proc(1, "oc-job", "wait", "id"), "foreground": proc(1, "oc-delegate", "x"), "follower": proc(1, "oc-delegate", "--max-wait", "1s", "x"),
	} {
		if got := q.role(); got != want {
			t.Errorf("%q is a %s, want %s", q.words, got, want)
		}
	}
}

// Ten workers do not draw ten times the fire of one waiter.
func TestDrawGoesByKind(t *testing.T) {
	if _, ok := draw(nil, 0.5); ok {
		t.Error("something was drawn from nothing")
	}
	list := []process{proc(1, "oc-job", "wait", "x")}
	for pid := range 10 {
		list = append(list, proc(10+pid, "opencode", "run"))
	}
	drawn := map[string]int{}
	pids := map[int]bool{}
	for i := range 1000 {
		q, ok := draw(list, float64(i)/1000)
		if !ok {
			t.Fatal("nothing was drawn")
		}
		drawn[q.role()]++
		pids[q.pid] = true
	}
	if drawn["wait"] != 500 || len(pids) != 11 {
		t.Errorf("%v of %d processes", drawn, len(pids))
	}
}

// What a dead supervisor has left is not ended by us: it would not be seen that it stays.
func TestOrphansAreLeftAlone(t *testing.T) {
	now := time.Now()
	s := &soak{fates: map[int]*fate{1: {}, 2: {killed: map[string]time.Time{"supervisor": now}}, 3: {killed: map[string]time.Time{"guardian": now}}}}
	for task, want := range []bool{true, false, true, false} {
		q := proc(9, "opencode", "run")
		q.task = task
		if got := s.left(q); got != want {
			t.Errorf("task %d: %v, want %v", task, got, want)
		}
	}
	reader := proc(9, "oc-job", "list")
	if s.left(reader) {
		t.Error("a reader is nobody's orphan")
	}
	for apart, want := range map[time.Duration]bool{0: true, -100 * time.Millisecond: true, 2 * time.Second: false, -2 * time.Second: false} {
		f := &fate{killed: map[string]time.Time{"guardian": now, "foreground": now.Add(apart)}}
		if f.bereft() != want {
			t.Errorf("killed %v apart: %v", apart, !want)
		}
	}
	if (&fate{killed: map[string]time.Time{"guardian": now}}).bereft() {
		t.Error("its supervisor lives")
	}
}
