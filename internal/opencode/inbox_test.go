package opencode

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"opencode-delegate/internal/event"
	"opencode-delegate/internal/fault"
)

func TestAFloodOfLinesHoldsNobody(t *testing.T) {
	for _, line := range []string{"1", "", `{"type":"step_start"}`} {
		s := newStage(t, "flood")
		s.Env = append(s.Env, "OC_TEST_LINE="+line)
		s.Limits.Timeout = 400 * time.Millisecond
		begin := time.Now()
		o := s.run(t, context.Background())
		wantFault(t, o, fault.Timeout, "time limit")
		if d := time.Since(begin); d > 4*time.Second {
			t.Errorf("%q: returned after %s", line, d)
		}
		size, seen := s.stdout.Len(), len(s.seen)
		time.Sleep(50 * time.Millisecond)
		if s.stdout.Len() != size || len(s.seen) != seen {
			t.Errorf("%q: the log or the caller got more after the end", line)
		}
	}
}

func TestASlowReceiverOfAFloodIsLeftBetweenTwoCalls(t *testing.T) {
	s := newStage(t, "flood")
	s.Env = append(s.Env, `OC_TEST_LINE={"type":"step_start"}`)
	s.Limits.Timeout = 1500 * time.Millisecond // a busy machine starts the flood late
	var inside atomic.Int32
	begin := time.Now()
	o, err := Run(context.Background(), s.Attempt, func(event.Event) error {
		inside.Add(1)
		defer inside.Add(-1)
		time.Sleep(20 * time.Millisecond)
		return nil
	})
	if inside.Load() != 0 {
		t.Error("the caller was still being told")
	}
	if err != nil {
		t.Fatal(err)
	}
	wantFault(t, o, fault.Timeout, "time limit")
	if d := time.Since(begin); d > 6*time.Second {
		t.Errorf("returned after %s", d)
	}
	if !slices.ContainsFunc(o.Notes, func(n string) bool { return strings.Contains(n, "more than could be read") }) {
		t.Errorf("notes %q", o.Notes)
	}
}

func TestNoiseIsCountedAndTheAnswerBehindItFound(t *testing.T) {
	t.Parallel()
	s := newStage(t, "flood")
	s.Env = append(s.Env, "OC_TEST_LINE="+strings.Repeat("x", 127), "OC_TEST_ANSWER=1")
	o := s.run(t, context.Background())
	if o.Fault != nil || o.Steps != 1 {
		t.Fatalf("fault %v, %d steps", o.Fault, o.Steps)
	}
	if n, _ := o.Transcript.Noise(); n != 200*512 || len(s.seen) != noiseTold+3 {
		t.Errorf("%d lines of noise, %d events told", n, len(s.seen))
	}
}

func TestALongAnswerComesWhole(t *testing.T) {
	t.Parallel()
	s := newStage(t, "long")
	o := s.run(t, context.Background())
	if o.Fault != nil || len(s.seen) != 8 || s.seen[7] != event.StepFinish {
		t.Fatalf("fault %v, told %v", o.Fault, s.seen)
	}
	if n := s.stdout.Len(); n < 48<<20 {
		t.Errorf("%d bytes logged", n)
	}
}

func TestInboxBounds(t *testing.T) {
	b, quit := newInbox(), make(chan struct{})
	e := event.Event{Type: event.TextBlock, Text: event.Text{Head: strings.Repeat("x", 1<<20)}}
	put := make(chan int)
	go func() {
		n := 0
		for b.put(e, quit) {
			n++
			put <- n
		}
		close(put)
	}()
	last := 0
	for stuck := false; !stuck; {
		select {
		case last = <-put:
		case <-time.After(200 * time.Millisecond):
			stuck = true
		}
	}
	if last != 4 {
		t.Errorf("%d MiB were taken in", last)
	}
	if m := b.take(); len(m.events) != 4 || m.last {
		t.Errorf("%d events taken", len(m.events))
	}
	if last = <-put; last != 5 {
		t.Errorf("%d", last)
	}
	close(quit)
	for range put {
	}
	b.end()
	if m := b.take(); !m.last {
		t.Error("no end")
	}
}
