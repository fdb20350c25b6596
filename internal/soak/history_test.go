package main

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/job"
)

// at is a sight that took the second after from.
func at(from int, state job.Phase, status fault.Kind, text ...string) sight {
	s := sight{id: "a", state: state, status: status, by: "test", begun: time.Unix(int64(from), 0), ended: time.Unix(int64(from+1), 0)}
	if len(text) > 0 {
		s.text = &text[0]
	}
	return s
}

func TestContradictionsAreFound(t *testing.T) {
	wrong := 99
	odd := at(0, job.Failed, fault.RunFailed)
	odd.exit = &wrong
	for name, c := range map[string]struct {
		sights []sight
		broken int
	}{
		"a life":                         {[]sight{at(0, job.Waiting, ""), at(2, job.Queued, ""), at(4, job.Running, ""), at(6, job.Succeeded, fault.OK, "x"), at(8, job.Succeeded, fault.OK, "x")}, 0},
		"alive after its end":            {[]sight{at(0, job.Failed, fault.RunFailed), at(2, job.Running, "")}, 1},
		"alive while its end was told":   {[]sight{at(0, job.Failed, fault.RunFailed), at(1, job.Running, "")}, 0},
		"alive somehow after its end":    {[]sight{at(0, job.Running, ""), at(2, "", ""), at(4, job.Lost, fault.JobLost), at(6, "", "")}, 1},
		"back in the queue":              {[]sight{at(0, job.Running, ""), at(2, job.Queued, "")}, 1},
		"queued, told late":              {[]sight{at(0, job.Running, ""), at(1, job.Queued, "")}, 0},
		"two ends":                       {[]sight{at(0, job.Cancelled, fault.Cancelled), at(0, job.Lost, fault.JobLost)}, 1},
		"two statuses of one state":      {[]sight{at(0, job.Failed, fault.RunFailed), at(2, job.Failed, fault.Incomplete)}, 1},
		"two texts":                      {[]sight{at(0, job.Succeeded, fault.OK, "x"), at(0, job.Succeeded, fault.OK, "y")}, 1},
		"unreadable":                     {[]sight{at(0, job.Unreadable, "")}, 1},
		"no such state":                  {[]sight{at(0, "odd", "")}, 1},
		"status and state do not belong": {[]sight{at(0, job.Succeeded, fault.RunFailed)}, 1},
		"exit and status do not belong":  {[]sight{odd}, 1},
	} {
		h := newHistory()
		for _, s := range c.sights {
			h.see(s)
		}
		if len(h.broken) != c.broken {
			t.Errorf("%s: %q, want %d", name, h.broken, c.broken)
		}
	}
}

func TestNoticesComeOnce(t *testing.T) {
	one := func(from int, clean bool, caller string) told {
		return told{caller, time.Unix(int64(from), 0), time.Unix(int64(from+1), 0), clean}
	}
	for name, c := range map[string]struct {
		told             []told
		broken, repeated int
	}{
		"once":                       {[]told{one(0, true, "a")}, 0, 0},
		"twice":                      {[]told{one(0, true, "a"), one(2, true, "a")}, 1, 1},
		"again after a death":        {[]told{one(0, false, "a"), one(2, true, "a")}, 0, 1},
		"seen late":                  {[]told{one(2, true, "a"), one(0, false, "a")}, 0, 1},
		"again after a clean answer": {[]told{one(0, true, "a"), one(2, false, "a")}, 1, 1},
		"to another":                 {[]told{one(0, false, "a"), one(2, true, "b")}, 1, 1},
	} {
		h := newHistory()
		for _, n := range c.told {
			h.tell("x", n)
		}
		if len(h.broken) != c.broken || h.repeated() != c.repeated || !h.noticed("x") || h.noticed("y") {
			t.Errorf("%s: %q, repeated %d", name, h.broken, h.repeated())
		}
	}
}

// A seed gives the same tasks again, and two seeds do not.
func TestTasksComeFromTheSeed(t *testing.T) {
	draw := func(seed uint64) []*task { return makeTasks(300, rand.New(rand.NewPCG(seed, 0))) }
	a := draw(1)
	if !reflect.DeepEqual(a, draw(1)) {
		t.Error("the same seed gives other tasks")
	}
	if reflect.DeepEqual(a, draw(2)) {
		t.Error("another seed gives the same tasks")
	}
	kinds := map[string]int{}
	for _, task := range a {
		kinds[task.how]++
		kinds[string(task.want)]++
		if task.reuse {
			kinds["reuse"]++
		}
		for _, n := range task.after {
			if kinds["after"]++; n >= task.n {
				t.Errorf("task %d waits for %d", task.n, n)
			}
		}
		if task.how != background && (slices.Contains(task.flags, "--reuse") || len(task.after) > 0) {
			t.Errorf("task %d has what only a job in the background can have: %q", task.n, task.flags)
		}
	}
	for _, kind := range []string{background, foreground, follower, "reuse", "after", "succeeded", "failed", "timeout"} {
		if kinds[kind] == 0 {
			t.Errorf("no %s among 300: %v", kind, kinds)
		}
	}
}
