package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"opencode-delegate/internal/job"
)

// A soak is one run of all of it.
type soak struct {
	options
	place   *place
	history *history
	tasks   []*task

	mu      sync.Mutex
	fates   map[int]*fate   // by the number of a task
	owner   map[string]int  // the task of a job
	printed map[string]bool // jobs whose id a caller learnt
	sniped  int             // results that stood when their supervisor was killed
	orphans int             // daemons that nobody could know any more
	kills   map[string]int  // by signal and role
	calls   map[string]int  // by what was called and its exit
	wishes  map[string]bool // jobs that somebody wanted to end
	next    int             // number of the next task that a reader makes
	begins  atomic.Int64    // when a job was last begun, in Unix milliseconds
}

// A fate is what happened to a task.
type fate struct {
	task   *task
	id     string               // as it was printed, or as it was found in the list at the end
	after  []string             // the jobs that it was told to wait for
	hit    []string             // signals that its processes got
	killed map[string]time.Time // when one of a role was last killed
}

func newSoak(o options, p *place) *soak {
	s := &soak{
		options: o, place: p, history: newHistory(), fates: map[int]*fate{}, owner: map[string]int{}, printed: map[string]bool{},
		kills: map[string]int{}, calls: map[string]int{}, wishes: map[string]bool{}, next: o.jobs + 1,
	}
	s.tasks = makeTasks(o.jobs, s.random(0))
	for _, t := range s.tasks {
		s.fates[t.n] = &fate{task: t}
	}
	return s
}

// random is a source of numbers for one of those who act.
func (s *soak) random(who uint64) *rand.Rand { return rand.New(rand.NewPCG(uint64(s.seed), who)) }

// call is a call whose end is looked at: what no call may ever do is a broken promise.
func (s *soak) call(ctx context.Context, caller string, task int, env []string, program string, words ...string) *call {
	c := s.place.call(ctx, caller, task, env, program, words...)
	what := program
	if program == "oc-job" {
		what += " " + words[0]
	}
	s.mu.Lock()
	if c.untouched() {
		s.calls[fmt.Sprintf("%s, exit %d", what, c.exit)]++
	} else {
		s.calls[what+", hit"]++
	}
	s.mu.Unlock()
	if c.open {
		s.history.breaks("%q: somebody holds its output open after its end", c.words)
	}
	if c.untouched() && ctx.Err() == nil {
		if c.exit < 0 {
			s.history.breaks("%q did not come back within %v", c.words, callTime)
		}
		if strings.Contains(c.stderr, "goroutine ") {
			s.history.breaks("%q died of itself: %.300s", c.words, c.stderr)
		}
	}
	return c
}

// begin carries out a task: a start, or a whole delegation.
func (s *soak) begin(ctx context.Context, f *fate) {
	t := f.task
	words := slices.Clone(t.flags)
	for _, n := range t.after {
		id := s.idOf(n)
		if id == "" {
			continue // it never came to be, or is in the making
		}
		words = append(words, "--after", id)
		f.after = append(f.after, id)
	}
	words = append(words, t.prompt)
	s.begins.Store(time.Now().UnixMilli())
	if t.how != background {
		s.delegate(ctx, f, words)
		return
	}
	c := s.call(ctx, t.caller, t.n, t.env, "oc-job", append([]string{"start"}, words...)...)
	s.begun(f, c)
}

// begun takes in what a call said that begins a job.
func (s *soak) begun(f *fate, c *call) {
	id := strings.TrimSpace(c.stdout)
	switch {
	case job.CheckID(id) == nil:
		s.owns(f, id)
		s.prints(id)
		s.history.see(sight{id: id, by: "start", begun: c.begun, ended: c.ended})
	case c.stdout != "":
		s.history.breaks("%q printed %q", c.words, c.stdout)
	case c.exit == 0 && c.untouched():
		s.history.breaks("%q printed nothing", c.words)
	case c.untouched() && len(s.hits(f)) == 0 && f.task.n <= s.jobs:
		s.history.breaks("task %d was refused, exit %d: %.300s", f.task.n, c.exit, c.stderr)
	}
}

// delegate is a run with oc-delegate, which has the job's own exit code.
func (s *soak) delegate(ctx context.Context, f *fate, words []string) {
	c := s.call(ctx, f.task.caller, f.task.n, f.task.env, "oc-delegate", words...)
	last := c.stderr[strings.LastIndex(strings.TrimSpace(c.stderr), "\n")+1:]
	var sig struct {
		Job  string `json:"job"`
		Exit int    `json:"exit"`
	}
	text, ok := strings.CutPrefix(last, "OC_SIGNAL ")
	if !ok || json.Unmarshal([]byte(text), &sig) != nil {
		if c.untouched() {
			s.history.breaks("%q ended without a signal line: %.300q", c.words, c.stderr)
		}
		return
	}
	if sig.Exit != c.exit && c.untouched() {
		s.history.breaks("%q: exit %d, signal line %s", c.words, c.exit, text)
	}
	if sig.Job == "" {
		if c.untouched() && len(s.hits(f)) == 0 {
			s.history.breaks("task %d was refused, exit %d: %.300s", f.task.n, c.exit, c.stderr)
		}
		return
	}
	s.owns(f, sig.Job)
	s.prints(sig.Job)
	if c.exit == 0 && f.task.text != "" && c.stdout != f.task.text+"\n" {
		s.history.breaks("task %d: the answer is %.200q, want %.200q", f.task.n, c.stdout, f.task.text)
	}
	if c.exit == 17 && c.stdout != "" {
		s.history.breaks("task %d: stdout of what is still running is %.200q", f.task.n, c.stdout)
	}
	if c.exit == 0 {
		s.history.see(sight{id: sig.Job, state: job.Succeeded, by: f.task.how, begun: c.begun, ended: c.ended})
		s.dead(sig.Job, f.task.how)
	}
}

// owns notes that a task is this job.
func (s *soak) owns(f *fate, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.id = id
	if _, ok := s.owner[id]; !ok {
		s.owner[id] = f.task.n
	}
}

func (s *soak) prints(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.printed[id] = true
}

func (s *soak) idOf(n int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fates[n].id
}

func (s *soak) hits(f *fate) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(f.hit)
}

// dead checks that nothing of a job lives which somebody was told has ended.
func (s *soak) dead(id, by string) {
	for _, q := range s.place.processes() {
		if q.marker == id {
			s.history.breaks("job %s has ended, says %s, and there lives %s", id, by, q)
		}
	}
}
