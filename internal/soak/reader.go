package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"opencode-delegate/internal/delegate"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/job"
)

// read does what callers do with jobs, at random, until the context is over.
func (s *soak) read(ctx context.Context, r *rand.Rand) {
	for ctx.Err() == nil {
		caller := callerName(r.IntN(callers))
		living, ended := s.history.pick(false), s.history.pick(true)
		some := func(from []string) string {
			if len(from) == 0 {
				return ""
			}
			return from[r.IntN(len(from))]
		}
		either := some(append(living, ended...))
		switch pick := r.IntN(100); {
		case pick < 12:
			s.list(ctx, caller)
		case pick < 24:
			s.status(ctx, caller, either)
		case pick < 38:
			s.result(ctx, caller, either)
		case pick < 43:
			s.plain(ctx, caller, either, "logs")
		case pick < 47:
			s.plain(ctx, caller, some(living), "logs", "-f")
		case pick < 55:
			s.wait(ctx, caller, "--timeout", "3s", some(living), some(living))
		case pick < 63:
			s.wait(ctx, caller, "--any", "--timeout", "3s", some(living), some(living), some(living))
		case pick < 66:
			s.wait(ctx, caller, "--timeout", "3s", "--progress", some(living))
		case pick < 76:
			s.notify(ctx, caller)
		case pick < 82:
			s.cancel(ctx, some(living), r)
		case pick < 88:
			s.again(ctx, some(ended), r)
		case pick < 90:
			s.plain(ctx, caller, "", "gc", "--dry-run", "--older", "1s")
		case pick < 92:
			s.plain(ctx, caller, "", "list")
		case pick < 94:
			s.plain(ctx, caller, "", "status")
		case pick < 96:
			s.plain(ctx, caller, either, "result", "--diff")
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(r.IntN(150)) * time.Millisecond):
		}
	}
}

// plain is a call of which only the end is looked at.
func (s *soak) plain(ctx context.Context, caller, id string, words ...string) {
	if id != "" {
		words = append(words, id)
	} else if words[0] == "logs" || words[0] == "result" {
		return
	}
	s.call(ctx, caller, 0, nil, "oc-job", words...)
}

// An entry is a job in the list.
type entry struct {
	ID        string     `json:"id"`
	State     job.Phase  `json:"state"`
	Status    fault.Kind `json:"status"`
	Exit      *int       `json:"exit"`
	Task      string     `json:"task"`
	CreatedAt time.Time  `json:"created_at"`
	StartedAt *time.Time `json:"started_at"`
	EndedAt   *time.Time `json:"ended_at"`
	Problem   string     `json:"problem"`

	RetryOf    string `json:"retry_of"`
	ContinueOf string `json:"continue_of"`
}

// list is all jobs, as they were told; false = nobody told.
func (s *soak) list(ctx context.Context, caller string) ([]entry, bool) {
	c := s.call(ctx, caller, 0, nil, "oc-job", "list", "--all", "--json")
	var all []entry
	if err := json.Unmarshal([]byte(c.stdout), &all); err != nil || c.exit != 0 {
		if c.untouched() && ctx.Err() == nil {
			s.history.breaks("list: exit %d, %v: %.200q %.300q", c.exit, err, c.stdout, c.stderr)
		}
		return nil, false
	}
	for _, e := range all {
		s.see(c, e, nil)
		if e.Problem != "" {
			s.history.breaks("job %s cannot be read: %s", e.ID, e.Problem)
		}
	}
	return all, true
}

func (s *soak) see(c *call, e entry, text *string) {
	s.history.see(sight{id: e.ID, state: e.State, status: e.Status, exit: e.Exit, text: text, by: c.words[1], begun: c.begun, ended: c.ended})
}

func (s *soak) status(ctx context.Context, caller, id string) {
	if id == "" {
		return
	}
	c := s.call(ctx, caller, 0, nil, "oc-job", "status", "--json", id)
	var e entry
	if err := json.Unmarshal([]byte(c.stdout), &e); err != nil || c.exit != 0 || e.ID != id {
		if c.untouched() && ctx.Err() == nil {
			s.history.breaks("status of %s: exit %d, %v: %.200q %.300q", id, c.exit, err, c.stdout, c.stderr)
		}
		return
	}
	s.see(c, e, nil)
}

// result reads the result of a job; false = there is none, or it was not told.
func (s *soak) result(ctx context.Context, caller, id string) (delegate.Result, bool) {
	var res delegate.Result
	if id == "" {
		return res, false
	}
	c := s.call(ctx, caller, 0, nil, "oc-job", "result", "--json", id)
	if c.exit == fault.JobRunning.Exit() {
		s.history.see(sight{id: id, by: "result", begun: c.begun, ended: c.ended})
		return res, false
	}
	err := json.Unmarshal([]byte(c.stdout), &res)
	if err != nil || res.ID != id || c.exit != res.Status.Exit() {
		if c.untouched() && ctx.Err() == nil {
			s.history.breaks("result of %s: exit %d, %v: %.200q %.300q", id, c.exit, err, c.stdout, c.stderr)
		}
		return res, false
	}
	text := res.Text + res.Digest
	s.see(c, entry{ID: id, State: job.Ended(res.Status), Status: res.Status, Exit: &res.Exit}, &text)
	s.dead(id, "result")
	return res, true
}

// wait waits for jobs; words without an id are left out.
func (s *soak) wait(ctx context.Context, caller string, words ...string) {
	var given []string
	ids := 0
	for _, w := range words {
		if job.CheckID(w) == nil {
			ids++
		}
		if w != "" {
			given = append(given, w)
		}
	}
	if ids == 0 {
		return
	}
	c := s.call(ctx, caller, 0, nil, "oc-job", append([]string{"wait"}, given...)...)
	lines := strings.Split(strings.TrimSuffix(c.stdout, "\n"), "\n")
	if c.stdout == "" {
		if c.untouched() && ctx.Err() == nil {
			s.history.breaks("%q printed nothing: exit %d, %.300q", c.words, c.exit, c.stderr)
		}
		return
	}
	for _, line := range lines {
		f := strings.Fields(line)
		if len(f) != 3 || job.CheckID(f[0]) != nil {
			if c.untouched() {
				s.history.breaks("%q printed %q", c.words, line)
			}
			return
		}
		e := entry{ID: f[0], State: job.Phase(f[1])}
		if e.State.Terminal() {
			e.Status = fault.Kind(f[2])
		}
		s.see(c, e, nil)
		if e.State.Terminal() {
			s.dead(e.ID, "wait")
		}
		if len(lines) == 1 && ids == 1 && c.untouched() && c.exit != fault.Kind(f[2]).Exit() {
			s.history.breaks("%q: exit %d beside %q", c.words, c.exit, line)
		}
	}
}

// notify asks what is new for a caller, and returns how many there were.
func (s *soak) notify(ctx context.Context, caller string) int {
	c := s.call(ctx, caller, 0, nil, "oc-job", "notify", "--json")
	var list []entry
	if err := json.Unmarshal([]byte(c.stdout), &list); err != nil {
		if c.untouched() && c.exit == 0 {
			s.history.breaks("notify: %v: %.200q", err, c.stdout)
		}
		return 0
	}
	for _, e := range list {
		s.see(c, e, nil)
		s.history.tell(e.ID, told{caller, c.begun, c.ended, c.exit == 0 && c.untouched()})
	}
	return len(list)
}

// cancel ends a job: as its caller, as another one who has to insist, or from a shell.
func (s *soak) cancel(ctx context.Context, id string, r *rand.Rand) {
	words := []string{"cancel"}
	caller := ""
	if r.IntN(3) > 0 {
		caller = callerName(r.IntN(callers))
		words = append(words, "--force")
	}
	if id == "" {
		return
	}
	s.mu.Lock()
	s.wishes[id] = true
	s.mu.Unlock()
	c := s.call(ctx, caller, 0, nil, "oc-job", append(words, id)...)
	f := strings.Fields(c.stdout)
	if len(f) < 2 || f[0] != id {
		if c.untouched() && ctx.Err() == nil {
			s.history.breaks("%q: exit %d, %q %.300q", c.words, c.exit, c.stdout, c.stderr)
		}
		return
	}
	s.see(c, entry{ID: id, State: job.Phase(f[1])}, nil)
	s.dead(id, "cancel")
}

// again begins a job from one that has ended. That may be refused; what is begun is a task like the others.
func (s *soak) again(ctx context.Context, id string, r *rand.Rand) {
	verb := []string{"continue", "retry", "recover"}[r.IntN(3)]
	if id == "" {
		return
	}
	s.mu.Lock()
	t := &task{n: s.next, how: verb, caller: callerName(r.IntN(callers)), text: fmt.Sprintf("answer to task %d", s.next)}
	s.next++
	f := &fate{task: t}
	s.fates[t.n] = f
	s.mu.Unlock()
	words := []string{verb, id}
	if verb == "continue" {
		t.prompt = fmt.Sprintf("task %d of the soak goes on", t.n)
		words = append(words, t.prompt)
	}
	s.begins.Store(time.Now().UnixMilli())
	c := s.call(ctx, t.caller, t.n, []string{"OC_FAKE=ok", "OC_FAKE_TEXT=" + t.text}, "oc-job", words...)
	s.begun(f, c)
}
