package opencode

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"opencode-delegate/internal/event"
	"opencode-delegate/internal/fault"
)

// retries are what was told of retries, each change once.
type retries struct {
	told  []Retry
	facts Facts // the last
}

func (r *retries) learn(f Facts) {
	r.facts = f
	if n := len(r.told); f.Retry.UnderWay() && n == 0 || n > 0 && r.told[n-1] != f.Retry {
		r.told = append(r.told, f.Retry)
	}
}

func TestRetryUnderWay(t *testing.T) {
	const rate, limit = "Rate limit reached. Please try again in 20s.", "Weekly usage limit reached. Resets in 3 days."
	s := newScene(Limits{})
	want := func(step, reason string, since, reset time.Time) {
		t.Helper()
		got := s.facts().Retry
		if got.Since != since || got.ResetAt != reset || !strings.Contains(got.Reason, reason) || got.UnderWay() != (reason != "") || (got.Reason == "") != (reason == "") {
			t.Errorf("%s: %+v, want %q since %v until %v", step, got, reason, since, reset)
		}
	}
	s.log(`INFO message=stream providerID=mock modelID=worker session.id=ses_1 small=false`)
	want("a call", "", time.Time{}, time.Time{})
	s.log(fmt.Sprintf(streamBad, "Overloaded"))
	first := s.now
	want("one that fails", "Overloaded", first, time.Time{})
	s.log(`INFO message=stream providerID=mock modelID=worker session.id=ses_1 small=false`, fmt.Sprintf(streamBad, rate))
	want("another", rate, first, s.now.Add(20*time.Second))
	s.events(begin())
	want("a step that begins", rate, first, s.now.Add(19*time.Second))
	s.events(prose("Hello."))
	want("a text", "", time.Time{}, time.Time{})
	s.log(fmt.Sprintf(streamBad, limit))
	want("a limit", limit, s.now, s.now.Add(72*time.Hour))
	s.log(fmt.Sprintf(streamBad, rate))
	late := s.now
	s.log(`INFO message=loop session.id=ses_1 step=3`)
	want("a further step in the log", "", time.Time{}, time.Time{})
	s.log(fmt.Sprintf(streamBad, rate))
	// The two outputs come in any order: what happened before the failure heals nothing and ends nothing.
	s.event(event.Event{Type: event.TextBlock, At: late, Text: event.Text{Head: "old", Size: 3}}, s.now)
	want("an event from before", rate, s.now, s.now.Add(20*time.Second))
	early := fails("APIError", rate, 429)
	early.At = late
	s.event(early, s.now)
	want("an error from before", rate, s.now, s.now.Add(20*time.Second))
	s.events(fails("APIError", rate, 429))
	want("opencode gives up", "", time.Time{}, time.Time{})

	s = newScene(Limits{})
	s.events(fails("APIError", rate, 429)).log(fmt.Sprintf(streamBad, "Overloaded"))
	want("a failure after an error", "Overloaded", s.now, time.Time{})

	// A reply that breaks leaves no line but the one of the next call.
	s = newScene(Limits{})
	const call = `INFO message=stream providerID=mock modelID=worker session.id=ses_1 small=false agent=build mode=primary`
	s.log(`INFO message=loop session.id=ses_1 step=0`, call, call)
	want("a reply that breaks", brokenReply, s.now, time.Time{})
	s.log(strings.Replace(fmt.Sprintf(streamBad, limit), "small=false", "small=true", 1))
	want("a call for a title", brokenReply, s.now.Add(-time.Second), time.Time{})
}

func TestFactsAreToldBeforeTheEventThatFollows(t *testing.T) {
	t.Parallel()
	s := newStage(t, "rate-heals")
	var r retries
	s.Learned = r.learn
	o, err := Run(context.Background(), s.Attempt, func(e event.Event) error {
		if e.Type == event.TextBlock && (r.facts.Retry.UnderWay() || len(r.told) != 2) {
			t.Errorf("the answer came with %+v", r)
		}
		return nil
	})
	if err != nil || o.Fault != nil {
		t.Fatal(err, o.Fault)
	}
	if len(r.told) != 2 || !strings.Contains(r.told[0].Reason, "Overloaded") || time.Since(r.told[0].Since) > time.Minute {
		t.Errorf("%+v", r)
	}
}

func TestALimitIsTold(t *testing.T) {
	t.Parallel()
	s := newStage(t, "quota")
	var r retries
	s.Learned = r.learn
	wantFault(t, s.run(t, context.Background()), fault.QuotaExhausted, "Weekly usage limit")
	if len(r.told) != 1 || !strings.Contains(r.told[0].Reason, "Weekly usage limit") || r.told[0].ResetAt.Sub(r.told[0].Since).Round(time.Hour) != 72*time.Hour || r.facts.Session != playedSession {
		t.Errorf("%+v", r)
	}
}

func TestLogLinesTakeNoRoomWhileNobodyHears(t *testing.T) {
	var q queue
	s := newScene(Limits{})
	for i := range 10000 {
		s.log(fmt.Sprintf(streamBad, fmt.Sprintf("Overloaded %d", i)))
		q.learned(s.watch)
	}
	if len(q.items) != 1 || q.size != eventSize || !strings.Contains(q.items[0].facts.Retry.Reason, "Overloaded 9999") {
		t.Errorf("%d items of %d bytes", len(q.items), q.size)
	}
	e := begin()
	q.add(told{event: &e})
	s.log(fmt.Sprintf(streamBad, "more"))
	q.learned(s.watch)
	q.learned(s.watch)
	if len(q.items) != 3 || q.items[1].event == nil || !strings.Contains(q.items[2].facts.Retry.Reason, "more") {
		t.Errorf("%+v", q.items)
	}
}

func TestRealRetryUnderWay(t *testing.T) {
	l := newLab(t)
	for _, c := range []struct {
		name  string
		limit time.Duration // of retries
		kind  fault.Kind
		over  bool // none is under way in the end
	}{
		{name: "err-429-once", limit: 20 * time.Second, over: true},
		{name: "err-429-ra1", limit: 30 * time.Second, kind: fault.RunFailed, over: true}, // five retries, then an error event
		{name: "err-429-ra3600", limit: 3 * time.Second, kind: fault.RunFailed},           // opencode sleeps for an hour
		{name: "err-429-zen-go", limit: 20 * time.Second, kind: fault.QuotaExhausted},
	} {
		t.Run(c.name, func(t *testing.T) {
			var r retries
			o := l.run(t, "[[mock:"+c.name+"]]", func(a *Attempt) { a.Learned, a.Limits.Retry = r.learn, c.limit })
			if (o.Fault != nil || c.kind != "") && (o.Fault == nil || o.Fault.Kind != c.kind) {
				t.Errorf("fault %+v, want %s", o.Fault, c.kind)
			}
			if len(r.told) == 0 || !r.told[0].UnderWay() || !strings.Contains(r.told[0].Reason, "limit") {
				t.Fatalf("told %+v", r.told)
			}
			if r.facts.Retry.UnderWay() == c.over || r.facts.Session != o.Session || r.facts.Model != "mock/worker" {
				t.Errorf("at the end %+v", r.facts)
			}
			if wait := time.Until(r.told[0].ResetAt); (c.kind == fault.QuotaExhausted) != (wait > 2*time.Hour && wait < 3*time.Hour) {
				t.Errorf("until %v", r.told[0].ResetAt)
			}
		})
	}
}

func TestRealTodo(t *testing.T) {
	l := newLab(t)
	var lists []event.Todo
	o := l.runEach(t, `[[mock:[
		{"tool":"todowrite","args":{"todos":[{"content":"one","status":"completed","priority":"high","id":"1"},{"content":"two","status":"in_progress","priority":"high","id":"2"},{"content":"three","status":"pending","priority":"low","id":"3"},{"content":"four","status":"cancelled","priority":"low","id":"4"}]}},
		{"tool":"todowrite","args":{"todos":"none"}},
		{"tool":"todowrite","args":{"todos":[]}},
		{"text":"Done."}]]]`, nil, func(e event.Event) {
		if e.Tool.Todo != nil {
			lists = append(lists, *e.Tool.Todo)
		}
	})
	if o.Fault != nil || len(lists) != 2 || lists[0] != (event.Todo{Done: 1, Total: 3, Active: "two"}) || lists[1] != (event.Todo{}) {
		t.Errorf("fault %v, lists %+v", o.Fault, lists)
	}
}
