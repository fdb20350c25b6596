//go:build linux || darwin

package proc

import (
	"context"
	"os"
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
	// chase is the length of one hunt for processes that end before a look at all processes is over.
	chase = 5 * time.Millisecond
)

// A supervisor sees one child to its end and leaves nothing of it.
type supervisor struct {
	p     *Process
	g     *guardian
	child identity
	grace time.Duration
	ends  *pipes
	tree  tree

	messages chan message
	seen     map[identity]bool // every process of the tree that a look has found

	ended   bool // the child has, and its status is known
	counted bool // survivors are
	empty   bool // the guardian said so
	lost    bool // the guardian is dead, or as good as
	asked   bool // to stop

	vacant time.Time // since when no look has found a living process
	mute   bool      // the guardian was seen stopped since
}

func newSupervisor(p *Process, g *guardian, child identity, c Command, ends *pipes) *supervisor {
	return &supervisor{
		p: p, g: g, child: child, grace: c.Grace, ends: ends,
		tree:     tree{self: os.Getpid(), root: g.pid, since: g.start, marker: c.Marker, carries: marked(c.Marker), groups: grouped(child.pid)},
		messages: make(chan message), seen: map[identity]bool{},
	}
}

func (s *supervisor) run(ctx context.Context) {
	heard := make(chan struct{})
	defer close(heard)
	go s.listen(heard)
	s.p.exit.Code = -1

	for !s.ended && !s.lost && !s.asked {
		select {
		case m, ok := <-s.messages:
			s.take(m, ok)
		case <-ctx.Done():
			s.asked = true
		case <-s.p.stop:
			s.asked = true
		}
	}
	s.clear()
	s.dismiss()
	if s.ends.stdin != nil {
		s.ends.stdin.Close()
	}
	s.p.Stdout.treeIsDead()
	s.p.Stderr.treeIsDead()
	if !closed(s.p.exited) {
		close(s.p.exited)
	}
	close(s.p.done)
}

// listen ends with the guardian, or when nobody takes what it hears.
func (s *supervisor) listen(until <-chan struct{}) {
	defer close(s.messages)
	for {
		var m message
		if s.g.decoder.Decode(&m) != nil {
			return
		}
		select {
		case s.messages <- m:
		case <-until:
			return
		}
	}
}

func (s *supervisor) take(m message, ok bool) {
	switch {
	case !ok:
		s.messages = nil
		s.lose()
	case m.Ended != nil:
		s.childEnded(*m.Ended)
	case m.Empty:
		s.empty = true
	}
}

func (s *supervisor) childEnded(m ended) {
	if s.ended {
		return
	}
	s.ended = true
	s.p.exit.set(m)
	close(s.p.exited)
}

// lose goes on without guardian. Its children become ours only when it is dead for good, after its pipes have closed.
func (s *supervisor) lose() {
	if s.empty || s.lost {
		return
	}
	s.lost = true
	s.endGuardian()
	s.tree.root = 0
	s.tree.adopted = adoptedBy(s.tree.self)
}

func (s *supervisor) endGuardian() {
	if s.tree.root != 0 && !s.empty {
		// What is dead and not reaped will come to us.
		table, _ := readTable()
		for _, e := range s.tree.members(table) {
			s.seen[e.identity] = true
		}
	}
	_ = s.g.signal(syscall.SIGKILL)
	select {
	case <-s.g.gone:
	case <-time.After(time.Second):
	}
}

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
			s.wakeGuardian()
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
			for _, e := range alive {
				if !told[e.identity] {
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
			s.p.exit.Remaining = survivors(alive)
			return
		}
		pause = min(pause, 10*time.Millisecond)
		if grew || len(alive) == 0 {
			s.hunt()
			pause = time.Microsecond
		}
		s.pause(pause)
		pause *= 2
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
	}
	return s.mute && now.Sub(s.vacant) >= silence
}

// hunt kills what a look cannot find: a process that starts its successor and ends is gone when the look is over.
func (s *supervisor) hunt() {
	if s.lost {
		hunt(s.tree.self, chase, func(e entry) bool { return e.start >= s.tree.since && s.tree.adopted(e) })
	} else {
		hunt(s.tree.root, chase, func(entry) bool { return true })
	}
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

// pause ends early when the guardian has news or when Kill is called.
func (s *supervisor) pause(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	kill := s.p.kill
	if closed(kill) {
		kill = nil
	}
	select {
	case m, ok := <-s.messages:
		s.take(m, ok)
	case <-kill:
	case <-t.C:
	}
}

// look returns what lives, and whether anything is new.
func (s *supervisor) look() (alive []entry, grew bool) {
	table, _ := readTable()
	found := s.tree.members(table)
	for _, e := range found {
		if !s.seen[e.identity] {
			s.seen[e.identity], grew = true, true
		}
	}
	alive = living(found)
	if len(alive) > 0 {
		s.vacant, s.mute = time.Time{}, false
	}
	return alive, grew
}

// wakeGuardian lets one that somebody has stopped reap and report again.
func (s *supervisor) wakeGuardian() {
	if e, ok := look(s.g.pid); ok && e.identity == s.g.identity && e.stopped {
		_ = s.g.signal(syscall.SIGCONT)
	}
}

// dismiss ends the guardian and takes over the dead that it has not reaped. For what remains alive, it is left to go on
// killing and reaping.
func (s *supervisor) dismiss() {
	if s.p.exit.Remaining == nil && !closed(s.g.gone) {
		s.endGuardian()
	}
	s.g.control.Close()
	s.g.status.Close()
	if s.empty && s.ended {
		return
	}
	s.seen[s.child] = true
	table, _ := readTable()
	for _, e := range table {
		if e.dead && e.ppid == s.tree.self && s.ours(e) {
			var ws syscall.WaitStatus
			var ru syscall.Rusage
			if pid, err := syscall.Wait4(e.pid, &ws, syscall.WNOHANG, &ru); err == nil && pid == e.pid && e.identity == s.child {
				s.childEnded(endedFrom(ws, &ru))
			}
		}
	}
}

// ours tells a dead child of this process that came from the tree from one that os/exec waits for.
func (s *supervisor) ours(e entry) bool {
	return s.seen[e.identity] || e.start >= s.tree.since && e.sid == s.g.pid
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
