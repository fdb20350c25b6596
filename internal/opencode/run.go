package opencode

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"time"

	"opencode-delegate/internal/event"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/proc"
	"opencode-delegate/internal/redact"
)

const (
	// lockRetries bounds how often a start is repeated because another opencode held the database.
	lockRetries = 4
	// drainQuiet is how long the readers may make no progress once the tree is dead: a caller whose emit blocks must not
	// keep the run from returning.
	drainQuiet = 2 * time.Second
	// drainHalted and drainWhole bound what is read once the tree is dead: of a run that was ended, and of one that ended
	// by itself, whose answer may be behind megabytes.
	drainHalted = time.Second
	drainWhole  = 10 * time.Second
)

// Run carries out one attempt with `opencode run` and returns when the process and everything that came of it has
// ended. It is a [Driver].
//
// emit gets each event, in order, from one goroutine, and no new one once Run has returned; of the lines that are no event
// it gets the first ones only. A call that still blocks two seconds after the tree is dead is left behind, and the run has
// failed. An error of its ends the run with that error as the fault. The end of ctx ends the run too: with the *fault.Error
// that is its cause, else as CANCELLED.
//
// Output that is left when the tree is dead is read for a second when the run was ended, else for ten.
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
		if w.locked && w.tr.Events() == 0 && w.calls == 0 && w.halted == nil && exit.Code != 0 && try < lockRetries && pause(ctx, w, try) {
			notes = append(notes, "opencode could not use its database, which another opencode may hold: started again")
			continue
		}
		o := w.outcome(a, exit)
		o.Notes = append(notes, o.Notes...)
		o.Duration = time.Since(start)
		return o.redacted(a.Redact), nil
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
	r := newRelay()
	out := newSpool(r.counted(p.Stdout))
	r.read.Go(func() { r.events(event.NewStream(out, a.Events)) })
	r.read.Go(func() { r.lines(p.Stderr, stderr, a.Redact) })
	go r.tell(emit, a.Learned)
	loop(ctx, w, p, r)
	close(r.quit)
	r.leave(func() {
		out.Close()
		p.Stdout.Close()
		p.Stderr.Close()
	})
	exit := p.Wait()
	w.obeyed(ctx, exit, time.Now())
	return exit, nil
}

// obeyed makes up for a loop that was slower than the process, which obeys the context and the deadline by itself.
func (w *watch) obeyed(ctx context.Context, exit proc.Exit, now time.Time) {
	if w.halted != nil || !exit.ByUs {
		return
	}
	if ctx.Err() != nil {
		w.over(context.Cause(ctx))
	}
	w.tick(now)
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
func loop(ctx context.Context, w *watch, p *proc.Process, r *relay) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	over, dead := ctx.Done(), p.Done()
	events, lines := r.inbox.ready, r.linec
	var q queue
	var quiet, enough <-chan time.Time // set once the tree is dead
	seen := r.moved.Load()
	for events != nil || lines != nil || dead != nil || !q.empty() {
		switch h := w.halted; {
		case h != nil && h.hard:
			p.Kill()
		case h != nil:
			p.Stop()
		}
		var due <-chan time.Time
		if t := w.next(); !t.IsZero() && w.halted == nil && dead != nil {
			timer.Reset(time.Until(t))
			due = timer.C
		}
		more := events
		if q.full() {
			more = nil
		}
		news, first := q.out(r)
		select {
		case <-more:
			m := r.inbox.take()
			now := time.Now()
			for i := range m.events {
				w.event(m.events[i], now)
				q.learned(w)
				q.add(told{event: &m.events[i]})
			}
			w.tr.AddNoise(m.noise)
			if m.last {
				events = nil
			}
		case l, ok := <-lines:
			if !ok {
				lines = nil
				break
			}
			w.line(l, time.Now())
			q.learned(w)
		case news <- first:
			q.sent()
		case err := <-r.failed:
			w.stop(halt{fault: fault.Of(err)})
		case now := <-due:
			w.tick(now)
		case <-over:
			over = nil
			w.over(context.Cause(ctx))
		case <-dead:
			dead = nil
			quiet, enough = time.After(drainQuiet), w.enough(p)
		case <-enough:
			w.unread(ctx, p.Wait())
			return
		case <-quiet:
			now := r.moved.Load()
			if now == seen {
				w.stop(halt{fault: unheard})
				return
			}
			seen, quiet = now, time.After(drainQuiet)
		}
	}
	close(r.news)
	select {
	case <-r.heard:
		// The last emit may have had something to say.
		select {
		case err := <-r.failed:
			w.stop(halt{fault: fault.Of(err)})
		default:
		}
	case <-quiet:
		w.stop(halt{fault: unheard})
	case <-enough:
		w.unread(ctx, p.Wait())
	}
}

// enough is when to leave what the dead tree has said.
func (w *watch) enough(p *proc.Process) <-chan time.Time {
	if w.halted != nil || p.Wait().ByUs {
		return time.After(drainHalted)
	}
	return time.After(drainWhole)
}

// unread notes that not everything was read or told: a fault of a run that had ended by itself.
func (w *watch) unread(ctx context.Context, exit proc.Exit) {
	w.obeyed(ctx, exit, time.Now())
	w.heal("opencode had printed more than could be read after it was ended")
	w.stop(halt{fault: fault.New(fault.RunFailed, "opencode's output was not read whole within %s of its end", drainWhole)})
}

// unheard is the fault of a caller whose emit did not return: what the caller knows of the run is not whole.
var unheard = &fault.Error{Kind: fault.RunFailed, Reason: "the receiver of the events blocked, and not all of them reached it"}

// outcome is what the caller gets to know.
func (w *watch) outcome(a Attempt, exit proc.Exit) Outcome {
	o := Outcome{
		Session: w.session, Model: w.model, Agent: w.agent, Exit: exit, Fault: w.verdict(a, exit), Subagents: len(w.subagents),
		StderrTail: w.lastText, Usage: w.tr.Tokens(), Cost: w.tr.Cost(), Steps: w.tr.Steps(), ModelDoubt: w.modelDoubt(), Transcript: w.tr,
	}
	if o.Model == "" {
		o.Model = a.Model
	}
	o.Notes = w.notes(a, exit, o.Fault)
	return o
}

// redacted takes the secrets out of what a provider or opencode said.
func (o Outcome) redacted(set *redact.Set) Outcome {
	if o.Fault != nil {
		f := *o.Fault // some faults are shared
		f.Reason = set.String(f.Reason)
		o.Fault = &f
	}
	for i, n := range o.Notes {
		o.Notes[i] = set.String(n)
	}
	o.StderrTail = set.String(o.StderrTail)
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
	if denied := w.denials(); denied != "" && (f == nil || f.Kind != fault.PermissionDenied) {
		notes = append(notes, "a rule denied what the worker tried: "+denied)
	}
	if w.version != "" && a.Binary.Version != "" && w.version != a.Binary.Version {
		notes = append(notes, fmt.Sprintf("opencode says that it is %s; it was probed as %s", oneLine(w.version, 40), a.Binary.Version))
	}
	return notes
}
