package job

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/lock"
	"opencode-delegate/internal/record"
)

func TestSurvey(t *testing.T) {
	g := newGraveyard(t)
	lost := func(st *State) { st.State, st.Status = Lost, fault.JobLost }
	missed, resumed, forgotten := g.bury(1, 0, lost), g.bury(2, 0, lost), g.bury(8, 0, lost)
	g.bury(0.5, 0, func(st *State) { st.ContinueOf = resumed })
	dead := g.bury(3, 0, func(st *State) { st.State = Running })
	live := g.bury(0, 0, func(st *State) { st.State = Running })
	g.hold(live, record.Lease)
	starting := g.bury(0, 0, func(st *State) { st.State = Queued })
	g.hold(starting, record.Lock)
	cut := NewID(g.now.Add(-time.Hour))
	g.write("jobs/"+cut+"/prompt.md", "x")
	unborn := NewID(g.now)
	g.write("jobs/"+unborn+"/prompt.md", "x")
	damaged := NewID(g.now.AddDate(0, -1, 0))
	g.write("jobs/"+damaged+"/state.json", `{"schema":99}`)
	linked := NewID(g.now.AddDate(0, -2, 0))
	if err := os.Symlink(g.dir(live), g.dir(linked)); err != nil && runtime.GOOS != "windows" {
		t.Fatal(err)
	} else if err != nil {
		g.write("jobs/"+linked, "")
	}
	queue, err := lock.Try(filepath.Join(g.root, "queue.lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer queue.Release()
	news := filepath.Join(g.root, newsOf("[shell"), "news.lock")
	os.MkdirAll(filepath.Dir(news), 0o700)
	l, err := lock.Try(news)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release()

	before := g.files()
	v, err := g.Survey(context.Background(), g.now)
	if err != nil {
		t.Fatal(err)
	}
	if after := g.files(); !slices.Equal(before, after) {
		t.Errorf("a survey changed\n%q\nto\n%q", before, after)
	}
	ids := func(list []State) (ids []string) {
		for _, st := range list {
			ids = append(ids, st.ID)
		}
		slices.Sort(ids)
		return ids
	}
	sorted := func(ids ...string) []string { slices.Sort(ids); return ids }
	if v.Jobs != 10 || !slices.Equal(ids(v.Lost), []string{missed}) || !slices.Equal(ids(v.Undecided), sorted(dead, cut)) || !slices.Equal(ids(v.Live), sorted(live, starting)) {
		t.Errorf("%d jobs, lost %v, undecided %v, live %v (%s is older than is told)", v.Jobs, ids(v.Lost), ids(v.Undecided), ids(v.Live), forgotten)
	}
	if len(v.Unreadable) != 2 || v.Unreadable[0].ID != damaged || !strings.Contains(v.Unreadable[0].Problem, "99") ||
		v.Unreadable[1].ID != linked || !strings.Contains(v.Unreadable[1].Problem, "not a directory") {
		t.Errorf("unreadable: %+v", v.Unreadable)
	}
	if want := []string{filepath.Join(g.root, "queue.lock"), news, g.Record(starting).File(record.Lock)}; !slices.Equal(v.Locks, want) {
		t.Errorf("locks %v, want %v", v.Locks, want)
	}
}
