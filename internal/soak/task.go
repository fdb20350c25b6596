package main

import (
	"fmt"
	"math/rand/v2"
	"strconv"

	"opencode-delegate/internal/job"
)

// A task is one delegation and what must come of it when nobody interferes.
type task struct {
	n       int // from 1
	how     string
	caller  string
	prompt  string
	flags   []string
	env     []string // what the fake does
	after   []int    // tasks that come first
	want    job.Phase
	text    string // of a success; empty = not known
	bytes   int64  // of a success; 0 = not known
	digest  bool
	written string // a file of the project that a success leaves
	reuse   bool
}

// The ways to begin a task.
const (
	background = "start"
	foreground = "foreground"
	follower   = "follower"
)

// A mode is something that the fake does, and what comes of it.
type mode struct {
	weight int
	make   func(t *task, r *rand.Rand)
}

func answers(modes string) func(*task, *rand.Rand) {
	return func(t *task, _ *rand.Rand) { t.does(modes) }
}

func fails(modes string, want job.Phase, flags ...string) func(*task, *rand.Rand) {
	return func(t *task, _ *rand.Rand) {
		t.does(modes)
		t.want, t.flags = want, append(t.flags, flags...)
	}
}

func (t *task) does(modes string) { t.env = append(t.env, "OC_FAKE="+modes) }

// modes are what a task is drawn from.
func modes() []mode {
	return []mode{
		{10, answers("ok")},
		{10, func(t *task, _ *rand.Rand) { t.does("echo"); t.text = t.prompt }},
		{6, func(t *task, _ *rand.Rand) {
			t.does("digest")
			t.digest, t.text, t.flags = true, "", append(t.flags, "--digest")
		}},
		{8, func(t *task, _ *rand.Rand) {
			t.written = fmt.Sprintf("out-%d.txt", t.n)
			t.does("write:" + t.written)
			t.flags = append(t.flags, "--write")
		}},
		{6, answers("child:deaf")},
		{6, answers("daemon")},
		{3, fails("ignore-term", job.TimedOut, "--timeout", "2s", "--grace", "1s")},
		{4, fails("hang", job.TimedOut, "--timeout", "2s")},
		{3, fails("child:deaf,daemon,hang", job.TimedOut, "--timeout", "3s", "--grace", "1s")},
		{10, func(t *task, r *rand.Rand) {
			t.does([]string{"child:deaf,slowfirst", "daemon,slowfirst", "child:deaf,daemon,slowfirst"}[r.IntN(3)])
			t.env = append(t.env, "OC_FAKE_SEC="+strconv.Itoa(1+r.IntN(2)))
		}},
		{12, func(t *task, r *rand.Rand) {
			t.does("slowfirst")
			t.env = append(t.env, "OC_FAKE_SEC="+strconv.Itoa(1+r.IntN(3)))
		}},
		{4, func(t *task, r *rand.Rand) {
			mb := 1 + r.IntN(4)
			t.does(fmt.Sprintf("bigline:%d", mb))
			t.text, t.bytes = "", int64(mb)<<20
		}},
		{4, func(t *task, r *rand.Rand) { fails(fmt.Sprintf("exit:%d", 1+r.IntN(20)), job.Failed)(t, r) }},
		{4, fails("sigkill", job.Failed)},
		{4, func(t *task, r *rand.Rand) { t.does(fmt.Sprintf("many-events:%d", 200+r.IntN(4000))) }},
		{4, func(t *task, _ *rand.Rand) {
			t.does("drip:20:100")
		}},
	}
}

// callers is how many there are.
const callers = 4

func callerName(i int) string { return fmt.Sprintf("caller-%d", i) }

// makeTasks draws n tasks. The same source of numbers gives the same tasks.
func makeTasks(n int, r *rand.Rand) []*task {
	table, total := modes(), 0
	for _, m := range table {
		total += m.weight
	}
	var list []*task
	for i := 1; i <= n; i++ {
		t := &task{n: i, how: background, caller: callerName(r.IntN(callers)), prompt: fmt.Sprintf("task %d of the soak, please", i), want: job.Succeeded, text: fmt.Sprintf("answer to task %d", i)}
		t.env = []string{"OC_FAKE_TEXT=" + t.text}
		pick := r.IntN(total)
		for _, m := range table {
			if pick -= m.weight; pick < 0 {
				m.make(t, r)
				break
			}
		}
		switch pick := r.IntN(100); {
		case pick < 8:
			t.how = foreground
		case pick < 16:
			t.how = follower
			t.flags = append(t.flags, "--max-wait", strconv.Itoa(1+r.IntN(4))+"s")
		default:
			t.jobFlags(list, r)
		}
		list = append(list, t)
	}
	return list
}

// jobFlags draws what only a background job can have.
func (t *task) jobFlags(earlier []*task, r *rand.Rand) {
	if r.IntN(3) == 0 {
		t.flags = append(t.flags, "--max-jobs", strconv.Itoa(2+r.IntN(12)))
	}
	if r.IntN(8) == 0 {
		t.flags = append(t.flags, "--max-jobs-per-model", strconv.Itoa(3+r.IntN(6)))
	}
	if r.IntN(5) == 0 {
		t.flags = append(t.flags, "--name", t.name())
	}
	switch pick := r.IntN(20); {
	case pick < 3 && len(earlier) > 0:
		for range 1 + r.IntN(2) {
			t.after = append(t.after, earlier[max(0, len(earlier)-1-r.IntN(12))].n)
		}
	case pick < 5:
		// Several calls want this one; the first that comes makes it.
		t.reuse, t.prompt = true, fmt.Sprintf("a task of the soak that several want, %d", r.IntN(4))
		t.text, t.want, t.digest, t.written, t.bytes = "answer to several", job.Succeeded, false, "", 0
		t.flags, t.env = []string{"--reuse"}, []string{"OC_FAKE_TEXT=" + t.text, "OC_FAKE=slowfirst", "OC_FAKE_SEC=1"}
	}
}

func (t *task) name() string { return fmt.Sprintf("name-%d", t.n) }
