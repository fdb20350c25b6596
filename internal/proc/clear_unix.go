//go:build linux || darwin

package proc

import (
	"slices"
	"syscall"
	"time"
)

const (
	// silence is how long a tree must look empty when its guardian is stopped and cannot say so.
	silence = 300 * time.Millisecond
	// hopeless is how long we wait for what a KILL did not end and cannot: another user's, or stuck in the kernel.
	hopeless = 700 * time.Millisecond
	// persistence is how long we go on killing what arises anew.
	persistence = 10 * time.Second
)

// clear ends the tree: TERM to all at once, KILL after the grace, until it is empty.
func (s *supervisor) clear() {
	began := time.Now()
	pause := time.Millisecond
	told := map[identity]bool{} // to end
	var killing time.Time       // since when
	for first := true; ; first = false {
		now := time.Now()
		alive, grew := s.look()
		if len(alive) == 0 && !s.empty && !s.lost {
			s.pause(time.Millisecond) // the guardian's word comes a moment after that of the child's end
		}
		if first && s.asked {
			s.p.exit.ByUs = contains(alive, s.child)
		}
		if !s.counted && (s.ended || s.lost) {
			s.counted = true
			s.p.exit.Survivors = survivors(without(alive, s.child)) // which the kernel killed with its guardian
		}
		if len(alive) == 0 && s.isEmpty(now) {
			return
		}
		if killing.IsZero() && (s.lost || closed(s.p.kill) || now.Sub(began) >= s.grace) {
			killing = now
		}
		if killing.IsZero() {
			// What a child starts when it is asked to end is its tidying up. Nobody's is what comes after its end.
			all := first || !contains(alive, s.child)
			for _, e := range alive {
				if all && !told[e.identity] {
					told[e.identity] = true
					ask(e)
				}
			}
			s.pause(min(pause, max(time.Until(began.Add(s.grace)), 0)))
			pause = min(2*pause, 40*time.Millisecond)
			continue
		}
		since := now.Sub(killing)
		if within := kill(alive); len(alive) > 0 && !within && since >= hopeless || since >= persistence {
			s.giveUp(alive)
			return
		}
		pause = min(pause, 10*time.Millisecond)
		if grew || len(alive) == 0 {
			pause = time.Microsecond // what starts its successor and ends is caught by looking fast, or not at all
		}
		s.pause(pause)
		pause *= 2
	}
}

// giveUp reports what remains, also when no look can show it.
func (s *supervisor) giveUp(alive []entry) {
	s.p.exit.Remaining = survivors(alive)
	if len(alive) == 0 {
		s.p.exit.Remaining = []Survivor{{Name: "[processes that end before they can be named]"}}
	}
}

// isEmpty decides about a tree of which a look has found nothing alive. Looks miss what is short-lived; the kernel's word to
// the guardian, that it has no child, misses nothing. Only without that word do looks decide.
func (s *supervisor) isEmpty(now time.Time) bool {
	if s.empty {
		return true
	}
	if s.vacant.IsZero() {
		s.vacant = now
	}
	if s.lost {
		return now.Sub(s.vacant) >= silence/10
	}
	if e, ok := look(s.g.pid); ok && e.identity == s.g.identity && e.stopped {
		s.mute = true
		_ = s.g.signal(syscall.SIGCONT) // so that it reaps and reports; it may be stopped again
	}
	return s.mute && now.Sub(s.vacant) >= silence
}

// ask sends TERM, which a stopped process takes when it goes on.
func ask(e entry) {
	_ = e.signal(syscall.SIGTERM)
	if e.stopped {
		_ = e.signal(syscall.SIGCONT)
	}
}

// kill reports whether a KILL can be expected to work on any of them.
func kill(es []entry) (within bool) {
	for _, e := range es {
		if e.signal(syscall.SIGKILL) != syscall.EPERM && !e.stuck {
			within = true
		}
	}
	return within
}

func contains(es []entry, id identity) bool {
	return slices.ContainsFunc(es, func(e entry) bool { return e.identity == id })
}

func without(es []entry, id identity) []entry {
	return slices.DeleteFunc(slices.Clone(es), func(e entry) bool { return e.identity == id })
}

func survivors(es []entry) []Survivor {
	var list []Survivor
	for _, e := range es {
		list = append(list, Survivor{PID: e.pid, Name: nameOf(e.pid)})
	}
	return list
}
