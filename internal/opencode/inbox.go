package opencode

import (
	"sync"

	"opencode-delegate/internal/event"
)

const (
	// inboxLimit is how many bytes of events may be decoded ahead of the loop.
	inboxLimit = 4 << 20
	// noiseTold is how many lines that are no event reach the caller; further ones are counted only.
	noiseTold = 64
)

// An inbox is what was decoded and not taken yet. The loop takes all of it at once: a flood of small lines would
// otherwise cost a change of goroutines each.
type inbox struct {
	ready chan struct{} // holds one when there is something to take
	room  chan struct{} // holds one when everything was taken

	mu    sync.Mutex
	mail  mail
	size  int
	noise int // lines that were no event, from the first
}

// A mail is what the loop takes.
type mail struct {
	events []event.Event
	noise  int  // lines besides the events that are none
	last   bool // there will be no more
}

func newInbox() *inbox {
	return &inbox{ready: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

// put adds an event, and waits while the inbox is full. false: quit was closed.
func (b *inbox) put(e event.Event, quit <-chan struct{}) bool {
	select {
	case <-quit:
		return false
	default:
	}
	b.mu.Lock()
	for b.size > inboxLimit {
		b.mu.Unlock()
		select {
		case <-b.room:
		case <-quit:
			return false
		}
		b.mu.Lock()
	}
	fold := false
	if e.Type == event.Noise {
		b.noise++
		fold = b.noise > noiseTold
	}
	if fold {
		b.mail.noise++
	} else {
		b.mail.events = append(b.mail.events, e)
		b.size += told{event: &e}.bytes()
	}
	b.mu.Unlock()
	nudge(b.ready)
	return true
}

// end says that there will be no more.
func (b *inbox) end() {
	b.mu.Lock()
	b.mail.last = true
	b.mu.Unlock()
	nudge(b.ready)
}

func (b *inbox) take() mail {
	b.mu.Lock()
	m := b.mail
	b.mail, b.size = mail{last: m.last}, 0
	b.mu.Unlock()
	nudge(b.room)
	return m
}

func nudge(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
