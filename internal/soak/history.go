package main

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/job"
)

// A sight is what somebody was told of a job.
type sight struct {
	id           string
	state        job.Phase  // empty: it lived, and nobody said in which phase
	status       fault.Kind // empty = not told
	exit         *int
	text         *string
	by           string
	begun, ended time.Time // of the call that told it
}

func (s sight) String() string {
	text := ""
	if s.text != nil {
		text = fmt.Sprintf(" with %d bytes of text", len(*s.text))
	}
	return fmt.Sprintf("%s %s%s, told by %s", s.state, s.status, text, s.by)
}

// A history is all that was seen, of all jobs. It finds what contradicts itself as soon as it is seen.
type history struct {
	mu     sync.Mutex
	jobs   map[string]*story
	broken []string
	sights int
}

// A story is that of one job.
type story struct {
	end    *sight  // the first terminal one
	living []sight // the latest of each phase, by its end: what is seen later may not be earlier in the life
	text   *sight  // the first with a text

	notices []told
}

func newHistory() *history { return &history{jobs: map[string]*story{}} }

// breaks notes that a promise was broken.
func (h *history) breaks(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fail(format, args...)
}

func (h *history) fail(format string, args ...any) {
	if line := fmt.Sprintf(format, args...); !slices.Contains(h.broken, line) {
		h.broken = append(h.broken, line)
	}
}

func (h *history) story(id string) *story {
	if h.jobs[id] == nil {
		h.jobs[id] = &story{}
	}
	return h.jobs[id]
}

// rank is the order of a life; terminal phases come last.
func rank(p job.Phase) int { return slices.Index(job.Phases(), p) }

// see takes a sight in and compares it with the earlier ones.
func (h *history) see(s sight) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sights++
	st := h.story(s.id)
	lives := s.state == ""
	switch {
	case !lives && (rank(s.state) < 0 || s.state == job.Unreadable):
		h.fail("job %s was seen %s", s.id, s)
		return
	case !lives && s.state.Terminal():
		h.seeEnd(st, s)
		return
	case st.end != nil && s.begun.After(st.end.ended):
		h.fail("job %s was %s, and later alive: %s", s.id, st.end, s)
	}
	if lives {
		return
	}
	for _, before := range st.living {
		if s.begun.After(before.ended) && rank(s.state) < rank(before.state) {
			h.fail("job %s was %s, and later %s", s.id, before, s)
		}
	}
	for i, before := range st.living {
		if before.state == s.state {
			if s.ended.Before(before.ended) {
				st.living[i] = s // the earliest end finds the most
			}
			return
		}
	}
	st.living = append(st.living, s)
}

func (h *history) seeEnd(st *story, s sight) {
	if s.status != "" && job.Ended(s.status) != s.state {
		h.fail("job %s was %s: the status does not belong to the state", s.id, s)
	}
	if s.exit != nil && s.status != "" && *s.exit != s.status.Exit() {
		h.fail("job %s was %s, with exit %d", s.id, s, *s.exit)
	}
	if e := st.end; e == nil {
		st.end = &s
	} else {
		if e.state != s.state || e.status != "" && s.status != "" && e.status != s.status {
			h.fail("job %s was %s, and then %s", s.id, e, s)
		}
		if e.status == "" {
			e.status = s.status
		}
	}
	switch {
	case s.text == nil:
	case st.text == nil:
		st.text = &s
	case *st.text.text != *s.text:
		h.fail("job %s: the text was %.80q and then %.80q", s.id, *st.text.text, *s.text)
	}
}

// A told is one answer of notify that told of a job.
type told struct {
	caller       string
	begun, ended time.Time
	clean        bool // the one who told went on to its end
}

// tell takes in what one call of notify said. Who was killed between printing and noting it may repeat itself; who came to its end does not.
func (h *history) tell(id string, t told) {
	h.mu.Lock()
	defer h.mu.Unlock()
	st := h.story(id)
	for _, before := range st.notices {
		switch {
		case before.caller != t.caller:
			h.fail("the end of job %s was told to %s and to %s", id, before.caller, t.caller)
		case before.clean && (t.clean || t.begun.After(before.ended)), t.clean && before.begun.After(t.ended):
			h.fail("the end of job %s was told twice to %s", id, t.caller)
		}
	}
	st.notices = append(st.notices, t)
}

// repeated counts the notices that came more than once, since the one who told them was killed.
func (h *history) repeated() (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, st := range h.jobs {
		n += max(0, len(st.notices)-1)
	}
	return n
}

// noticed reports whether the end of a job was told.
func (h *history) noticed(id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.jobs[id] != nil && len(h.jobs[id].notices) > 0
}

// seen are the ids of all jobs that anybody was told of.
func (h *history) seen() (ids []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for id := range h.jobs {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// pick are the jobs that were last known to live, or to have ended.
func (h *history) pick(ended bool) (ids []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, st := range h.jobs {
		if (st.end != nil) == ended {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}
