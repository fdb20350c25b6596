//go:build linux || darwin

package proc

import (
	"context"
	"os"
	"syscall"
	"time"
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
	adopted := adoptedBy(s.tree.self)
	table, _ := readTable()
	for _, e := range table {
		// Another dead child of this process is one that os/exec waits for.
		if !e.dead || e.ppid != s.tree.self || !s.seen[e.identity] && (e.start < s.tree.since || !adopted(e)) {
			continue
		}
		var ws syscall.WaitStatus
		var ru syscall.Rusage
		if pid, err := syscall.Wait4(e.pid, &ws, syscall.WNOHANG, &ru); err == nil && pid == e.pid && e.identity == s.child {
			s.childEnded(endedFrom(ws, &ru))
		}
	}
}
