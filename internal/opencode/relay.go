package opencode

import (
	"bytes"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"opencode-delegate/internal/event"
	"opencode-delegate/internal/redact"
)

const (
	// spoolLimit is how much of stdout is held in memory before reading stops.
	spoolLimit = 8 << 20
	// queueLimit is how many bytes of events may wait for emit before decoding stops.
	queueLimit = 4 << 20
	// leaveWait is how long a run waits for its readers to notice that it is over.
	leaveWait = 500 * time.Millisecond
	// eventSize is what an event takes beside its text, roughly.
	eventSize = 1 << 10
)

// A relay carries what the two outputs say to the loop, and what the loop has seen to the caller.
type relay struct {
	inbox  *inbox
	linec  chan LogLine
	read   sync.WaitGroup // the readers of both outputs
	news   chan []told    // for emit
	heard  chan struct{}  // closed when the last of the news was told
	failed chan error     // the first error of emit
	quit   chan struct{}  // closed when the loop has left: then nobody is told anything
	moved  atomic.Int64   // grows while anything is read or told
}

func newRelay() *relay {
	return &relay{inbox: newInbox(), linec: make(chan LogLine), news: make(chan []told), heard: make(chan struct{}),
		failed: make(chan error, 1), quit: make(chan struct{})}
}

// counted is src, with what is read of it added to r.moved.
func (r *relay) counted(src io.Reader) io.Reader { return countingReader{src, &r.moved} }

type countingReader struct {
	io.Reader
	n *atomic.Int64
}

func (c countingReader) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n.Add(int64(n) + 1)
	return n, err
}

// events decodes a stream to its end.
func (r *relay) events(s *event.Stream) {
	defer r.inbox.end()
	for {
		e, err := s.Next()
		if err != nil {
			return
		}
		e.Session = event.ValidSession(e.Session)
		if !r.inbox.put(e, r.quit) {
			return
		}
		r.moved.Add(1)
	}
}

// lines reads a log to its end. Secrets are taken out here: what is cut later could be the beginning of one, which nothing
// finds any more.
func (r *relay) lines(src io.Reader, raw io.Writer, set *redact.Set) {
	defer close(r.linec)
	readLines(r.counted(src), raw, func(line []byte) {
		if bytes.IndexByte(line, '\x1b') >= 0 && !bytes.HasPrefix(line, []byte("timestamp=")) {
			line = []byte(plain(string(line))) // a colour may begin within a secret
		}
		select {
		case r.linec <- ParseLogLine(set.Bytes(line)):
		case <-r.quit:
		}
	})
}

// told is one thing that the caller is told: an event, or what was learned.
type told struct {
	event *event.Event
	facts Facts
}

// tell calls the caller until there is no more news or the loop has left. After an error of emit it only swallows.
func (r *relay) tell(emit func(event.Event) error, learned func(Facts)) {
	defer close(r.heard)
	for {
		var some []told
		var ok bool
		select {
		case some, ok = <-r.news:
			if !ok {
				return
			}
		case <-r.quit:
			return
		}
		for _, t := range some {
			select {
			case <-r.quit:
				return
			default:
			}
			switch {
			case t.event == nil && learned != nil:
				learned(t.facts)
			case t.event != nil && emit != nil:
				if err := emit(*t.event); err != nil {
					r.failed <- err
					emit = nil
				}
			}
			r.moved.Add(1)
		}
	}
}

// leave ends what still reads or tells once the loop has left, and waits for it, but no longer than leaveWait: a caller
// whose emit blocks is left behind.
func (r *relay) leave(close func()) {
	ended := make(chan struct{})
	go func() {
		close()
		r.read.Wait()
		<-r.heard
		nudge(ended)
	}()
	select {
	case <-ended:
	case <-time.After(leaveWait):
	}
}

// A queue is the news that was not told yet.
type queue struct {
	items []told
	size  int
	facts Facts // as last told
}

func (q *queue) empty() bool { return len(q.items) == 0 }

func (q *queue) full() bool { return q.size > queueLimit }

func (q *queue) add(t told) {
	q.items = append(q.items, t)
	q.size += t.bytes()
}

func (t told) bytes() int {
	if t.event == nil {
		return eventSize
	}
	return eventSize + len(t.event.Text.Head) + len(t.event.Err.Body)
}

// learned adds what the watch knows when it is something else than was told. What nobody has heard yet is replaced: lines
// of a log, which may come in any number, take no more room than one.
func (q *queue) learned(w *watch) {
	f := w.facts()
	if f == q.facts {
		return
	}
	q.facts = f
	if n := len(q.items); n > 0 && q.items[n-1].event == nil {
		q.items[n-1].facts = f
		return
	}
	q.add(told{facts: f})
}

// out is where everything is to be sent; nil when there is nothing.
func (q *queue) out(r *relay) (chan<- []told, []told) {
	if q.empty() {
		return nil, nil
	}
	return r.news, q.items
}

func (q *queue) sent() { q.items, q.size = nil, 0 }

// A spool reads ahead of its reader, up to spoolLimit.
type spool struct {
	mu     sync.Mutex
	change sync.Cond
	chunks [][]byte
	size   int
	err    error // what the source ended with
	closed bool
}

func newSpool(src io.Reader) *spool {
	s := &spool{}
	s.change.L = &s.mu
	go s.fill(src)
	return s
}

func (s *spool) fill(src io.Reader) {
	buf := make([]byte, 256<<10)
	for {
		n, err := src.Read(buf)
		s.mu.Lock()
		if n > 0 {
			s.chunks = append(s.chunks, append([]byte(nil), buf[:n]...))
			s.size += n
		}
		s.err = err
		s.change.Broadcast()
		for s.size >= spoolLimit && !s.closed && err == nil {
			s.change.Wait()
		}
		over := s.closed || err != nil
		s.mu.Unlock()
		if over {
			return
		}
	}
}

func (s *spool) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.chunks) == 0 {
		switch {
		case s.closed:
			return 0, io.EOF
		case s.err != nil:
			return 0, s.err
		}
		s.change.Wait()
	}
	n := copy(p, s.chunks[0])
	if s.chunks[0] = s.chunks[0][n:]; len(s.chunks[0]) == 0 {
		s.chunks[0] = nil
		s.chunks = s.chunks[1:]
	}
	s.size -= n
	s.change.Broadcast()
	return n, nil
}

// Close ends both sides.
func (s *spool) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.chunks, s.size = nil, 0
	s.change.Broadcast()
	return nil
}
