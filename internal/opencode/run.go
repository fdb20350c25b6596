package opencode

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"opencode-delegate/internal/event"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/proc"
)

const (
	// lockRetries bounds how often a start is repeated because another opencode held the database.
	lockRetries = 6
	// drainQuiet is how long the readers may make no progress once the tree is dead: a caller whose emit blocks must not
	// keep the run from returning.
	drainQuiet = time.Second
)

// Run carries out one attempt with `opencode run` and returns when the process and everything that came of it has
// ended. It is a [Driver].
//
// emit gets each event, in order, from one goroutine, and no new one once Run has returned; a call that still blocks a
// second after the tree is dead is left behind. An error of its ends the run with that error as the fault. The end of
// ctx ends the run too: with the *fault.Error that is its cause, else as CANCELLED.
//
// The error is for what kept the attempt from starting; what became of a started one is in the Outcome.
func Run(ctx context.Context, a Attempt, emit func(event.Event) error) (Outcome, error) {
	start := time.Now()
	argv, notes, err := a.Argv()
	if err != nil {
		return Outcome{}, err
	}
	var extra []string
	if a.Wrap != nil {
		if argv, extra, err = a.Wrap(argv); err != nil {
			return Outcome{}, fmt.Errorf("sandbox for %s: %w", a.Binary.Path, err)
		}
	}
	stderr := newStderrLog(a.Stderr, a.Redact)
	defer stderr.Close()
	command := proc.Command{Argv: argv, Dir: a.Dir, Env: overlay(append([]string(nil), a.Env...), extra), Marker: a.Marker, Grace: a.Limits.Grace}
	for try := 1; ; try++ {
		if a.Prompt != nil {
			if _, err := a.Prompt.Seek(0, io.SeekStart); err != nil {
				return Outcome{}, fmt.Errorf("prompt: %w", err)
			}
			command.Stdin = a.Prompt
		}
		w := newWatch(a, start)
		exit, err := supervise(ctx, w, command, a, stderr, emit)
		if err != nil {
			return Outcome{}, err
		}
		if w.locked && w.events == 0 && w.calls == 0 && w.halted == nil && exit.Code != 0 && try < lockRetries && pause(ctx, w, try) {
			notes = append(notes, "opencode's database was locked by another opencode: started again")
			continue
		}
		o := w.outcome(a, exit)
		o.Notes = append(notes, o.Notes...)
		o.Duration = time.Since(start)
		return o, nil
	}
}

// pause waits before a locked start is repeated, longer each time and not in step with others. false: there is no time.
func pause(ctx context.Context, w *watch, try int) bool {
	d := time.Duration(try)*150*time.Millisecond + rand.N(400*time.Millisecond)
	if end := w.deadline(); !end.IsZero() && time.Until(end) < d {
		return false
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// supervise starts the process and drives the watch until the tree is dead and its output read.
func supervise(ctx context.Context, w *watch, c proc.Command, a Attempt, stderr io.Writer, emit func(event.Event) error) (proc.Exit, error) {
	startCtx := ctx
	if end := w.deadline(); !end.IsZero() {
		// The deadline holds for the start too, which can take long on a busy machine.
		var cancel context.CancelFunc
		startCtx, cancel = context.WithDeadline(ctx, end)
		defer cancel()
	}
	p, err := proc.Start(startCtx, c)
	if err != nil {
		return proc.Exit{}, startError(ctx, w, c, err)
	}
	r := newReaders()
	go r.events(event.NewStream(r.counted(p.Stdout), a.Events), emit)
	go r.lines(p.Stderr, stderr)
	loop(ctx, w, p, r)
	close(r.quit)
	p.Stdout.Close()
	p.Stderr.Close()
	return p.Wait(), nil
}

func startError(ctx context.Context, w *watch, c proc.Command, err error) error {
	if ctx.Err() != nil {
		w.over(context.Cause(ctx))
		return w.halted.fault
	}
	if end := w.deadline(); !end.IsZero() && !time.Now().Before(end) {
		return w.timeout("the time limit of %s was over before opencode had started", w.limits.Timeout)
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return &fault.Error{Kind: fault.OpencodeMissing, Reason: fmt.Sprintf("no usable opencode binary: %v", err), Hints: installHints, Err: err}
	}
	return fmt.Errorf("start of %s: %w", c.Argv[0], err)
}

// loop is the one place where decisions fall.
func loop(ctx context.Context, w *watch, p *proc.Process, r *readers) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	over, dead := ctx.Done(), p.Done()
	events, lines := r.eventc, r.linec
	var quiet <-chan time.Time // set once the tree is dead
	seen := r.read.Load()
	for events != nil || lines != nil || dead != nil {
		if w.halted != nil {
			p.Stop()
		}
		var due <-chan time.Time
		if t := w.next(); !t.IsZero() && w.halted == nil && dead != nil {
			timer.Reset(time.Until(t))
			due = timer.C
		}
		select {
		case e, ok := <-events:
			if !ok {
				events = nil
				break
			}
			w.event(e, time.Now())
		case l, ok := <-lines:
			if !ok {
				lines = nil
				break
			}
			w.line(l, time.Now())
		case err := <-r.failed:
			w.stop(halt{fault: fault.Of(err)})
		case now := <-due:
			w.tick(now)
		case <-over:
			over = nil
			w.over(context.Cause(ctx))
		case <-dead:
			dead = nil
			quiet = time.After(drainQuiet)
		case <-quiet:
			now := r.read.Load()
			if now == seen {
				return
			}
			seen, quiet = now, time.After(drainQuiet)
		}
	}
}

// readers carry the two outputs of a process to the loop.
type readers struct {
	eventc chan event.Event
	linec  chan LogLine
	failed chan error    // the first error of emit
	quit   chan struct{} // closed when the loop has left: then nobody is told anything
	read   atomic.Int64  // grows while anything is read
}

func newReaders() *readers {
	return &readers{eventc: make(chan event.Event), linec: make(chan LogLine), failed: make(chan error, 1), quit: make(chan struct{})}
}

// counted is src, with what is read of it added to r.read.
func (r *readers) counted(src io.Reader) io.Reader { return countingReader{src, &r.read} }

type countingReader struct {
	io.Reader
	n *atomic.Int64
}

func (c countingReader) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n.Add(int64(n) + 1)
	return n, err
}

func (r *readers) events(s *event.Stream, emit func(event.Event) error) {
	defer close(r.eventc)
	for {
		e, err := s.Next()
		if err != nil {
			return
		}
		if err := r.tell(e, emit); err != nil {
			select {
			case r.failed <- err:
			default:
			}
			emit = nil
		}
		select {
		case r.eventc <- e:
		case <-r.quit:
			return
		}
		r.read.Add(1)
	}
}

// tell calls emit unless the loop has left.
func (r *readers) tell(e event.Event, emit func(event.Event) error) error {
	select {
	case <-r.quit:
		return nil
	default:
	}
	if emit == nil {
		return nil
	}
	return emit(e)
}

func (r *readers) lines(src io.Reader, raw io.Writer) {
	defer close(r.linec)
	readLines(r.counted(src), raw, func(line []byte) {
		select {
		case r.linec <- ParseLogLine(line):
		case <-r.quit:
		}
	})
}

// outcome is what the caller gets to know.
func (w *watch) outcome(a Attempt, exit proc.Exit) Outcome {
	o := Outcome{
		Session: w.session, Model: w.model, Agent: w.agent, Exit: exit, Fault: w.verdict(a, exit), Subagents: len(w.subagents),
		StderrTail: w.lastText, Usage: w.usage, Cost: w.cost, Steps: w.steps, ModelDoubt: w.modelDoubt(),
	}
	if o.Model == "" {
		o.Model = a.Model
	}
	o.Notes = w.notes(a, exit, o.Fault)
	return o
}

func (w *watch) notes(a Attempt, exit proc.Exit, f *fault.Error) []string {
	notes := append([]string(nil), w.healed...)
	if f == nil {
		switch h := w.halted; {
		case h != nil && h.note != "":
			notes = append(notes, h.note)
		case h != nil:
			notes = append(notes, "the answer was complete when the run was ended: "+h.fault.Reason)
		case exit.Code != 0:
			notes = append(notes, fmt.Sprintf("opencode exited with %d after a complete answer", exit.Code))
		}
	}
	if w.denied != "" && (f == nil || f.Kind != fault.PermissionDenied) {
		notes = append(notes, "a rule denied what the worker tried: "+w.denied)
	}
	if w.version != "" && a.Binary.Version != "" && w.version != a.Binary.Version {
		notes = append(notes, fmt.Sprintf("opencode says that it is %s; it was probed as %s", oneLine(w.version, 40), a.Binary.Version))
	}
	return notes
}
