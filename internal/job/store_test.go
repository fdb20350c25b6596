package job

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"opencode-delegate/internal/delegate"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/redact"
)

func open(t testing.TB) *Store {
	t.Helper()
	s, err := OpenStore(filepath.Join(t.TempDir(), "state"), redact.New(nil))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// order is a background job that nothing keeps from running.
func order() Order {
	return Order{
		Request: delegate.Request{Schema: 1, Dir: "/project", Model: "mock/worker", Profile: "read-only", Caller: "shell"},
		Prompt:  "do it",
		Launch:  &Launch{Schema: 1, Cwd: "/project", MaxJobs: 4},
	}
}

// foreground is the same as a job that its caller supervises.
func foreground() Order {
	o := order()
	o.Launch = nil
	return o
}

// made is a job as it is before it has a supervisor: guarded by record.lock.
func made(t testing.TB, s *Store, o Order) *Job {
	t.Helper()
	return madeAt(t, s, o, time.Now())
}

func madeAt(t testing.TB, s *Store, o Order, at time.Time) *Job {
	t.Helper()
	j, twin, err := s.create(t.Context(), o, at)
	if err != nil || twin != nil {
		t.Fatalf("%v, twin %v", err, twin)
	}
	return j
}

type closed struct{ io.Writer }

func (closed) Close() error { return nil }

// supervised is a job whose supervisor is this process.
func supervised(t testing.TB, s *Store, o Order) *Job {
	t.Helper()
	j := made(t, s, o)
	j.release()
	var said strings.Builder
	a, err := s.adopt(t.Context(), Supervision{ID: j.state.ID, Launch: *o.Launch, say: closed{&said}})
	if err != nil || a == nil || said.String() != held {
		t.Fatalf("adopted %v, %v, said %q", a, err, said.String())
	}
	return a
}

// in is a supervised job in a phase.
func in(t testing.TB, s *Store, p Phase) *Job {
	t.Helper()
	o := order()
	if p == Waiting {
		o.After = []string{NewID(time.Now())}
	}
	j := supervised(t, s, o)
	var err error
	switch {
	case p == Waiting || p == Queued:
	case p == Skipped:
		err = j.store.settled(in(t, s, Waiting), p, &j)
	default:
		at := time.Now().UTC()
		if err = j.Update(func(st *State) { st.State, st.StartedAt = Running, &at }); err == nil && p != Running {
			err = j.store.settled(j, p, &j)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// settled writes a terminal state and keeps the lease.
func (s *Store) settled(j *Job, p Phase, now **Job) error {
	*now = j
	exit, at := 0, time.Now().UTC()
	return j.Update(func(st *State) { st.State, st.Exit, st.EndedAt = p, &exit, &at })
}

// dies ends a supervisor of this process as a kill does: nothing is written any more.
func (j *Job) dies() string {
	j.release()
	return j.state.ID
}

func ended(j *Job, k fault.Kind) delegate.Result {
	now := time.Now()
	return delegate.Unjudged(delegate.Request{Model: j.state.Model, Dir: j.state.Dir}, delegate.Job{ID: j.state.ID, Record: j.Record},
		fault.New(k, "as the test wants"), now, now, delegate.Remains{})
}

func look(t testing.TB, s *Store, id string) View {
	t.Helper()
	v, err := s.Look(context.Background(), id)
	if err != nil {
		t.Fatalf("look at %s: %v", id, err)
	}
	return v
}

func kindOf(err error) fault.Kind {
	var f *fault.Error
	if errors.As(err, &f) {
		return f.Kind
	}
	return fault.Kind(fmt.Sprint(err))
}

// snapshot is every file below a directory, with mode and content.
func snapshot(t testing.TB, root string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := os.Lstat(path)
		if err != nil {
			return err
		}
		content := fi.Mode().String()
		if fi.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			content += " " + string(data)
		}
		rel, _ := filepath.Rel(root, path)
		files[rel] = content
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// same compares two snapshots, but for names that begin with one of the exceptions.
func same(t testing.TB, before, after map[string]string, but ...string) {
	t.Helper()
	excepted := func(name string) bool {
		for _, b := range but {
			if strings.HasPrefix(name, b) {
				return true
			}
		}
		return false
	}
	for name, content := range after {
		if old, ok := before[name]; !ok && !excepted(name) {
			t.Errorf("new: %s", name)
		} else if old != content && !excepted(name) {
			t.Errorf("changed: %s: %.200q, was %.200q", name, content, old)
		}
	}
	for name := range before {
		if _, ok := after[name]; !ok && !excepted(name) {
			t.Errorf("gone: %s", name)
		}
	}
}
