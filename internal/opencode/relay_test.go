package opencode

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"opencode-delegate/internal/event"
	"opencode-delegate/internal/fault"
)

func TestEmitEndsARun(t *testing.T) {
	t.Parallel()
	s := newStage(t, "steps")
	calls := 0
	o, err := Run(context.Background(), s.Attempt, func(event.Event) error {
		calls++
		return fmt.Errorf("over: %w", fault.New(fault.BudgetExceeded, "enough"))
	})
	if err != nil {
		t.Fatal(err)
	}
	wantFault(t, o, fault.BudgetExceeded, "enough")
	if calls != 1 {
		t.Errorf("emit was called %d times", calls)
	}
}

func TestEmitThatBlocksDelaysNobody(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	defer close(hold)
	block := func(event.Event) error { <-hold; return nil }

	s := newStage(t, "many")
	begin := time.Now()
	o, err := Run(context.Background(), s.Attempt, block)
	if err != nil {
		t.Fatal(err)
	}
	wantFault(t, o, fault.RunFailed, "blocked")
	if d := time.Since(begin); d > 2*drainQuiet+3*time.Second {
		t.Errorf("returned after %s", d)
	}
	if n := strings.Count(s.stdout.String(), "\n"); n != 203 {
		t.Errorf("%d lines reached the log", n)
	}

	s = newStage(t, "many-hang")
	s.Limits.Timeout = time.Second
	begin = time.Now()
	if o, err = Run(context.Background(), s.Attempt, block); err != nil {
		t.Fatal(err)
	}
	wantFault(t, o, fault.Timeout, "time limit")
	if d := time.Since(begin); d > s.Limits.Timeout+s.Limits.Grace+2*drainQuiet+2*time.Second {
		t.Errorf("returned after %s", d)
	}
}

func TestTheLastEmitCounts(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	defer close(hold)
	o, err := Run(context.Background(), newStage(t, "ok").Attempt, func(e event.Event) error {
		if e.Type == event.StepFinish {
			<-hold
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	wantFault(t, o, fault.RunFailed, "blocked")

	o, err = Run(context.Background(), newStage(t, "ok").Attempt, func(e event.Event) error {
		if e.Type == event.StepFinish {
			return errors.New("no more room")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	wantFault(t, o, fault.RunFailed, "no more room")
}

func TestLearnedComesBeforeTheFirstEvent(t *testing.T) {
	t.Parallel()
	s := newStage(t, "quota")
	var got []string
	s.Learned = func(f Facts) { got = append(got, f.Session+" "+f.Model) }
	s.run(t, context.Background())
	if len(got) == 0 || got[0] != playedSession+" " {
		t.Errorf("learned %q", got)
	}
}

func TestSpoolReadsAhead(t *testing.T) {
	src := bytes.Repeat([]byte("0123456789"), 3<<20/2) // 15 MB: more than the spool holds
	r := bytes.NewReader(src)
	s := newSpool(r)
	ahead := 0
	for range 1000 {
		s.mu.Lock()
		ahead = s.size
		s.mu.Unlock()
		if ahead >= spoolLimit {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if ahead < spoolLimit || ahead > spoolLimit+256<<10 {
		t.Errorf("%d bytes read ahead", ahead)
	}
	var got bytes.Buffer
	if _, err := got.ReadFrom(s); err != nil || !bytes.Equal(got.Bytes(), src) {
		t.Errorf("%d bytes, %v", got.Len(), err)
	}
	broken := newSpool(iotest.ErrReader(errors.New("torn")))
	if _, err := broken.Read(make([]byte, 1)); err == nil || err.Error() != "torn" {
		t.Errorf("error %v", err)
	}
	idle := newSpool(blocked{})
	time.AfterFunc(20*time.Millisecond, func() { idle.Close() })
	if _, err := idle.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("after Close: %v", err)
	}
}

type blocked struct{}

func (blocked) Read([]byte) (int, error) { select {} }
