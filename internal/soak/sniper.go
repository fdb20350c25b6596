package main

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"opencode-delegate/internal/delegate"
	"opencode-delegate/internal/job"
)

const (
	// aim is how long one supervisor is watched.
	aim = 4 * time.Second
	// lastSteps is about how long a supervisor takes from the text of the answer to its last write, lastStep from the result.
	lastSteps, lastStep = 12 * time.Millisecond, 2 * time.Millisecond
)

// snipe kills supervisors in their last steps, between the evidence, the result and the state, which random moments hardly ever meet.
func (s *soak) snipe(ctx context.Context, r *rand.Rand) {
	for s.every > 0 && ctx.Err() == nil {
		at, part, choice := r.Float64(), r.Float64(), r.IntN(4)
		sign, delay := "result.md", time.Duration(part*float64(lastSteps))
		if choice > 1 {
			sign, delay = "result.json", time.Duration(part*float64(lastStep))
		}
		time.Sleep(50 * time.Millisecond)
		q, ok := one(s.place.processes(), "supervisor", at)
		if !ok || choice == 0 || len(q.words) < 3 || job.CheckID(q.words[2]) != nil {
			continue
		}
		id := q.words[2]
		dir := filepath.Join(s.place.state, "jobs", id)
		for begun := time.Now(); time.Since(begun) < aim && ctx.Err() == nil; time.Sleep(200 * time.Microsecond) {
			if exists(filepath.Join(dir, sign)) {
				time.Sleep(delay)
				s.strike(q, "KILL")
				s.written(id, dir)
				break
			}
		}
	}
}

// written notes what a supervisor that is dead now has written as its result: that stands, whether anybody was told of it or not.
func (s *soak) written(id, dir string) {
	time.Sleep(5 * time.Millisecond) // for it to die
	data, err := os.ReadFile(filepath.Join(dir, "result.json"))
	var res delegate.Result
	if err != nil || json.Unmarshal(data, &res) != nil {
		return
	}
	s.place.note("result of %s when its supervisor was killed: %s", id, res.Status)
	text, now := res.Text+res.Digest, time.Now()
	s.history.see(sight{id: id, state: job.Ended(res.Status), status: res.Status, text: &text, by: "its result.json", begun: now, ended: now})
	s.mu.Lock()
	s.sniped++
	s.mu.Unlock()
}

// one draws a process of a kind.
func one(list []process, role string, at float64) (process, bool) {
	list = slices.DeleteFunc(list, func(q process) bool { return q.role() != role })
	if len(list) == 0 {
		return process{}, false
	}
	return list[int(at*float64(len(list)))], true
}
