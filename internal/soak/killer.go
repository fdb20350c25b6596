package main

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// stopTime is how long a process is stopped; some are for longTime, which is more than anybody waits for a lock.
	stopTime = time.Second
	longTime = 6 * time.Second
)

// kill sends signals to processes of every kind until the context is over, and lets none stopped.
func (s *soak) kill(ctx context.Context, r *rand.Rand) {
	var stopped sync.WaitGroup
	defer stopped.Wait()
	for s.every > 0 {
		pause := time.Duration(r.Float64() * 2 * float64(s.every))
		at, choice, both := r.Float64(), r.IntN(100), r.IntN(6) == 0
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		list := s.place.processes()
		q, ok := draw(slices.DeleteFunc(slices.Clone(list), s.left), at)
		if !ok {
			continue
		}
		name := "KILL"
		switch {
		case choice < 20:
			name = "STOP"
		case choice < 35:
			name = "TERM"
		}
		s.strike(q, name)
		// With its parent: a supervisor and a guardian that die at once cannot tidy up after each other.
		if i := slices.IndexFunc(list, func(up process) bool { return up.pid == q.ppid }); i >= 0 && both && name == "KILL" {
			s.strike(list[i], name)
		}
		if name == "STOP" {
			long := stopTime
			if choice < 6 {
				long = longTime
			}
			stopped.Go(func() {
				time.Sleep(long)
				_ = q.signal("CONT")
			})
		}
	}
}

// left reports whether a process is one of a job that nobody supervises any more: it has to go without our help, which would hide that it
// stays.
func (s *soak) left(q process) bool {
	switch q.role() {
	case "worker", "guardian", "cage", "child":
	default:
		return false
	}
	if q.task == 0 {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.fates[q.task]
	return f != nil && !f.beheaded().IsZero()
}

// beheaded is when whoever supervised the task was killed; zero = nobody was.
func (f *fate) beheaded() (at time.Time) {
	for _, role := range []string{"supervisor", "queued", "foreground"} {
		if t := f.killed[role]; t.After(at) {
			at = t
		}
	}
	return at
}

// bereft reports whether supervisor and guardian were killed so soon after each other that neither could end what the other one left.
func (f *fate) bereft() bool {
	guardian, above := f.killed["guardian"], f.beheaded()
	return !guardian.IsZero() && !above.IsZero() && above.Sub(guardian).Abs() < 500*time.Millisecond
}

// brief are the kinds that live for moments only: they are hit more often than their share.
const brief = " start again cancel notify cage foreground follower "

// draw takes a kind first and then one of its processes, so that kinds of which there are many do not draw all the fire.
func draw(list []process, at float64) (process, bool) {
	byRole := map[string][]process{}
	var roles []string
	for _, q := range list {
		if byRole[q.role()] == nil {
			roles = append(roles, q.role())
			if strings.Contains(brief, " "+q.role()+" ") {
				roles = append(roles, q.role(), q.role())
			}
		}
		byRole[q.role()] = append(byRole[q.role()], q)
	}
	if len(roles) == 0 {
		return process{}, false
	}
	slices.Sort(roles)
	at *= float64(len(roles))
	some := byRole[roles[int(at)]]
	return some[int((at-float64(int(at)))*float64(len(some)))], true
}

// strike sends a signal and notes whom it touches, before it does.
func (s *soak) strike(q process, name string) {
	c := s.place.started(q.pid)
	if c != nil {
		c.strike(name)
	}
	s.mu.Lock()
	if f := s.fates[q.task]; f != nil {
		f.hit = append(f.hit, name+" "+q.role())
		if name == "KILL" {
			if f.killed == nil {
				f.killed = map[string]time.Time{}
			}
			f.killed[q.role()] = time.Now()
		}
	}
	s.mu.Unlock()
	err := q.signal(name)
	s.place.note("%s to %s: %v", name, q, err)
	if err == nil {
		s.mu.Lock()
		s.kills[name+" "+q.role()]++
		s.mu.Unlock()
	}
}
