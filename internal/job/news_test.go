package job

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/lock"
)

// news is what a caller is told now.
func news(t testing.TB, s *Store, caller string, limit int) (ids []string) {
	t.Helper()
	err := s.News(t.Context(), caller, limit, func(ended []View, more int) error {
		for _, v := range ended {
			ids = append(ids, v.ID)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	return ids
}

// endAt ends a job at a time.
func endAt(t testing.TB, j *Job, at time.Time) string {
	t.Helper()
	res := ended(j, fault.RunFailed)
	res.EndedAt = at
	if err := j.finish(res); err != nil {
		t.Fatal(err)
	}
	return j.state.ID
}

func TestNewsAreToldOnceInTheOrderOfTheEnds(t *testing.T) {
	s := open(t)
	if told := news(t, s, "shell", 9); told != nil {
		t.Errorf("told %v", told)
	}
	now := time.Now()
	first, second := in(t, s, Running), in(t, s, Running)
	running := in(t, s, Running)
	defer running.dies()
	made(t, s, foreground()).finish(ended(first, fault.OK))
	o := order()
	o.Request.Caller = "../../another"
	other := supervised(t, s, o)
	want := []string{endAt(t, second, now), endAt(t, first, now.Add(time.Second))}
	if told := news(t, s, "shell", 9); !slices.Equal(told, want) {
		t.Errorf("told %v, want %v", told, want)
	}
	if told := news(t, s, "shell", 9); told != nil {
		t.Errorf("told again: %v", told)
	}
	id := other.dies()
	if told := news(t, s, "../../another", 9); len(told) != 1 || told[0] != id {
		t.Errorf("told the other %v: a lost job is news too", told)
	}
	if told := news(t, s, "../../another", 9); told != nil {
		t.Errorf("told again: %v", told)
	}
}

func TestNewsHaveALimit(t *testing.T) {
	s := open(t)
	now := time.Now()
	var ids []string
	for i := range 5 {
		ids = append(ids, endAt(t, in(t, s, Running), now.Add(time.Duration(i)*time.Second)))
	}
	err := s.News(t.Context(), "shell", 2, func(ended []View, more int) error {
		if len(ended) != 2 || more != 3 || ended[0].ID != ids[0] || ended[1].ID != ids[1] {
			t.Errorf("%v, %d more", ended, more)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if told := news(t, s, "shell", 3); !slices.Equal(told, ids[2:]) {
		t.Errorf("told %v, want %v", told, ids[2:])
	}
}

// Who could not tell them has not told them.
func TestNewsThatWereNotToldStay(t *testing.T) {
	s := open(t)
	id := endAt(t, in(t, s, Running), time.Now())
	broken := errors.New("broken pipe")
	if err := s.News(t.Context(), "shell", 9, func([]View, int) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	if told := news(t, s, "shell", 9); len(told) != 1 || told[0] != id {
		t.Errorf("told %v", told)
	}
}

func TestNewsAreToldToOneOfMany(t *testing.T) {
	s := open(t)
	want := map[string]bool{}
	for range 20 {
		want[endAt(t, in(t, s, Running), time.Now())] = true
	}
	var mu sync.Mutex
	times := map[string]int{}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 5 {
				told := news(t, s, "shell", 3)
				mu.Lock()
				for _, id := range told {
					times[id]++
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	for id := range want {
		if times[id] != 1 {
			t.Errorf("%s was told %d times", id, times[id])
		}
	}
	if len(times) != len(want) {
		t.Errorf("%d were told, want %d", len(times), len(want))
	}
}

func TestNewsOfWhatIsNotThereAreForgotten(t *testing.T) {
	s := open(t)
	j := in(t, s, Running)
	cleared := NewID(time.Now())
	if err := s.announce(State{ID: cleared, Caller: "shell"}); err != nil {
		t.Fatal(err)
	}
	unborn := NewID(time.Now()) // somebody makes it at this moment
	if err := os.Mkdir(s.dir(unborn), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := s.announce(State{ID: unborn, Caller: "shell"}); err != nil {
		t.Fatal(err)
	}
	if told := news(t, s, "shell", 9); told != nil {
		t.Errorf("told %v", told)
	}
	ids, _ := s.ids(newsOf("shell"))
	if slices.Contains(ids, cleared) || !slices.Contains(ids, unborn) || !slices.Contains(ids, j.state.ID) {
		t.Errorf("kept %v", ids)
	}
	endAt(t, j, time.Now())
}

func TestNewsLockOfAStoppedProcess(t *testing.T) {
	t.Parallel()
	s := open(t)
	endAt(t, in(t, s, Running), time.Now())
	l, err := lock.Try(filepath.Join(s.root, newsOf("shell"), "news.lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release()
	err = s.News(t.Context(), "shell", 9, func([]View, int) error { t.Error("told without the lock"); return nil })
	if kindOf(err) != fault.RunFailed {
		t.Errorf("%v", err)
	}
}
