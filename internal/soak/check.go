package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"opencode-delegate/internal/delegate"
	"opencode-delegate/internal/job"
)

// check looks at what there is when everything is over, and holds it against what was promised and what was seen.
func (s *soak) check(ctx context.Context) []entry {
	// One more job, undisturbed: the store works as it did at first, and who takes his turn clears away the names of the dead.
	last := &fate{task: &task{n: s.next, how: background, caller: callerName(0), prompt: "the last task of the soak", want: job.Succeeded, text: "the last answer", env: []string{"OC_FAKE=ok", "OC_FAKE_TEXT=the last answer"}}}
	s.fates[last.task.n] = last
	s.tasks = append(s.tasks, last.task)
	s.begin(ctx, last)
	s.wait(ctx, last.task.caller, "--timeout", "60s", last.id)

	all, _ := s.list(ctx, callerName(0))
	listed := map[string]entry{}
	for _, e := range all {
		listed[e.ID] = e
		if !e.State.Terminal() {
			s.history.breaks("job %s is %s at the end", e.ID, e.State)
		}
		if e.EndedAt == nil || e.EndedAt.Before(e.CreatedAt.Add(-time.Millisecond)) || e.StartedAt != nil && e.EndedAt.Before(*e.StartedAt) {
			s.history.breaks("job %s: made %v, started %v, ended %v", e.ID, e.CreatedAt, e.StartedAt, e.EndedAt)
		}
	}
	s.match(all)
	for _, id := range s.history.seen() {
		if _, ok := listed[id]; !ok {
			s.history.breaks("job %s was seen, and is not in the list", id)
		}
	}
	for n, f := range s.fates {
		if _, ok := listed[f.id]; f.id != "" && !ok {
			s.history.breaks("job %s of task %d was printed, and is not in the list", f.id, n)
		}
	}
	s.disk(listed)
	results := map[string]delegate.Result{}
	for _, e := range all {
		if res, ok := s.result(ctx, callerName(0), e.ID); ok {
			results[e.ID] = res
		} else {
			s.history.breaks("job %s has no result", e.ID)
		}
	}
	s.outcomes(listed, results)
	s.notices(ctx, all)
	s.living() // doctor may have made it worse
	return all
}

// living looks for processes that should not be. What has cleared its environment is found by its parents; when both of them were killed before
// they could end it, the supervisor and the guardian, nobody can know it any more.
func (s *soak) living() {
	lost := 0
	s.orphans = 0
	for _, f := range s.fates {
		if f.bereft() {
			lost++
		}
	}
	for _, q := range s.place.processes() {
		bare := q.role() == "child" && q.marker == "" && q.task == 0
		switch {
		case bare && q.ours && s.orphans < lost:
			s.orphans++
		case bare && !q.ours: // its parent is told of, and counted
		default:
			s.history.breaks("there lives %s", q)
		}
	}
}

// match finds the jobs of tasks whose caller died before it could print the id.
func (s *soak) match(all []entry) {
	for _, e := range all {
		if _, ok := s.owner[e.ID]; ok || e.RetryOf != "" || e.ContinueOf != "" {
			continue
		}
		for _, t := range s.tasks {
			if f := s.fates[t.n]; f.id == "" && !t.reuse && t.prompt == e.Task {
				s.owns(f, e.ID)
			}
		}
	}
}

// disk looks at the state directory itself.
func (s *soak) disk(listed map[string]entry) {
	records, err := os.ReadDir(filepath.Join(s.place.state, "jobs"))
	if err != nil {
		s.history.breaks("%v", err)
	}
	for _, r := range records {
		dir := filepath.Join(s.place.state, "jobs", r.Name())
		if _, ok := listed[r.Name()]; !ok {
			s.history.breaks("record %s is not in the list", r.Name())
		}
		if text, err := os.ReadFile(filepath.Join(dir, "supervisor.log")); err == nil && strings.Contains(string(text), "goroutine ") {
			s.history.breaks("the supervisor of job %s died of itself: %.300s", r.Name(), text)
		}
	}
	active, err := os.ReadDir(filepath.Join(s.place.state, "active"))
	if err != nil {
		s.history.breaks("%v", err)
	}
	for _, a := range active {
		// Whoever begins a job notes it before there is a record; it goes an hour later when nothing came of it.
		if _, ok := listed[a.Name()]; ok {
			s.history.breaks("%s has ended and is still noted as active", a.Name())
		}
	}
}

// outcomes holds what became of the tasks against what had to.
func (s *soak) outcomes(listed map[string]entry, results map[string]delegate.Result) {
	for _, n := range slices.Sorted(maps.Keys(s.fates)) {
		f := s.fates[n]
		e, ok := listed[f.id]
		if !ok {
			continue
		}
		t := f.task
		if owner := s.owner[f.id]; owner != n && !(t.reuse && s.fates[owner].task.prompt == t.prompt) {
			s.history.breaks("job %s was printed for task %d and for task %d", f.id, owner, n)
		}
		if res, ok := results[f.id]; ok && e.State == job.Succeeded {
			if problem := t.compare(res); problem != "" {
				s.history.breaks("task %d, job %s: %s", n, f.id, problem)
			}
			if t.written != "" && !exists(filepath.Join(s.place.project, t.written)) {
				s.history.breaks("task %d, job %s succeeded and %s is not there", n, f.id, t.written)
			}
		}
		if t.want == "" || s.wishes[f.id] || s.disturbed(f.id) {
			continue
		}
		want := t.want
		for _, id := range f.after {
			if listed[id].State != job.Succeeded {
				want = job.Skipped
			}
		}
		if e.State != want {
			s.history.breaks("task %d, job %s: nobody touched it, and it is %s, not %s: %s", n, f.id, e.State, want, results[f.id].Reason)
		}
	}
}

// disturbed reports whether a process of the job got a signal that may end it; to be stopped for a moment changes nothing.
func (s *soak) disturbed(id string) bool {
	for _, f := range s.fates { // several tasks may have come to the same job
		if f.id == id && slices.ContainsFunc(s.hits(f), func(h string) bool { return !strings.HasPrefix(h, "STOP") }) {
			return true
		}
	}
	return false
}

// compare says what is wrong with the result of a success; empty = nothing.
func (t *task) compare(res delegate.Result) string {
	switch {
	case t.digest && (res.DigestSource != "worker" || !strings.Contains(res.Digest, "Everything is as it was")):
		return fmt.Sprintf("the digest is %s: %.200q", res.DigestSource, res.Digest)
	case t.text != "" && res.Digest == "" && res.Text != t.text:
		return fmt.Sprintf("the text is %.200q, not %.200q", res.Text, t.text)
	case t.bytes != 0 && res.TextBytes != t.bytes:
		return fmt.Sprintf("the text has %d bytes, not %d", res.TextBytes, t.bytes)
	}
	return ""
}

// notices asks every caller for what it has not been told, until there is nothing more.
func (s *soak) notices(ctx context.Context, all []entry) {
	for i := range callers {
		for range len(all) + 1 {
			if s.notify(ctx, callerName(i)) == 0 {
				break
			}
		}
	}
	for _, e := range all {
		background := exists(filepath.Join(s.place.state, "jobs", e.ID, "launch.json"))
		told := s.history.noticed(e.ID)
		// Nobody is told of a job whose making was cut off before it was noted for whom it is made.
		if unborn := e.State == job.Lost && e.StartedAt == nil && !s.printed[e.ID]; told && !background || !told && background && !unborn {
			s.history.breaks("job %s, %s, in the background %v: its end was told %v", e.ID, e.State, background, told)
		}
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
