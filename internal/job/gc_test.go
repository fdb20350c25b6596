package job

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/lock"
	"opencode-delegate/internal/record"
	"opencode-delegate/internal/redact"
)

// A graveyard is a state directory with records that were never run.
type graveyard struct {
	*Store
	t   *testing.T
	now time.Time
	n   int
}

func newGraveyard(t *testing.T) *graveyard {
	t.Helper()
	s, err := OpenStore(filepath.Join(t.TempDir(), "state"), redact.New(nil))
	if err != nil {
		t.Fatal(err)
	}
	return &graveyard{Store: s, t: t, now: time.Now()}
}

// bury makes the record of a job that ended some days ago, with a file of so many KiB.
func (g *graveyard) bury(days float64, kib int, change func(*State)) string {
	g.t.Helper()
	at := g.now.Add(-time.Duration(days * 24 * float64(time.Hour))).UTC()
	zero := 0
	g.n++
	st := State{Schema: Schema, ID: NewID(at.Add(-time.Duration(g.n) * time.Millisecond)), State: Succeeded, Status: fault.OK, Exit: &zero,
		Caller: "shell", Background: true, CreatedAt: at, StartedAt: &at, EndedAt: &at}
	if change != nil {
		change(&st)
	}
	if st.Live() {
		st.Status, st.Exit, st.EndedAt = "", nil, nil
	}
	data, err := json.Marshal(st)
	if err != nil {
		g.t.Fatal(err)
	}
	g.write("jobs/"+st.ID+"/state.json", string(data))
	if kib > 0 {
		g.write("jobs/"+st.ID+"/events.jsonl", strings.Repeat("x", kib<<10))
	}
	return st.ID
}

func (g *graveyard) write(name, content string) string {
	g.t.Helper()
	path := filepath.Join(g.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		g.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		g.t.Fatal(err)
	}
	return path
}

// hold takes a lock of a job until the test is over.
func (g *graveyard) hold(id, name string) {
	g.t.Helper()
	l, err := lock.Try(g.Record(id).File(name))
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(l.Release)
}

func (g *graveyard) remove(l Limits, dry bool) Removals {
	g.t.Helper()
	r, err := g.Remove(context.Background(), l, g.now, dry)
	if err != nil {
		g.t.Fatal(err)
	}
	return r
}

// files are all paths below the state directory with their sizes and times.
func (g *graveyard) files() (list []string) {
	g.t.Helper()
	err := filepath.WalkDir(g.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if err == nil {
			list = append(list, strings.TrimPrefix(path, g.root)+" "+fi.Mode().String()+" "+fi.ModTime().String())
		}
		return err
	})
	if err != nil {
		g.t.Fatal(err)
	}
	return list
}

func (r Removals) ids() (ids []string) {
	for _, g := range r.Gone {
		ids = append(ids, g.ID)
	}
	return ids
}

func older(d time.Duration) Limits { return Limits{Older: &d} }

func TestLimitsChoose(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	var ended []Removal
	for _, c := range []struct {
		id   string
		days int
	}{{"c", 3}, {"a", 40}, {"e", 1}, {"b", 31}, {"d", 2}, {"x", 40}} { // in no order; x and a ended at once
		at := now.AddDate(0, 0, -c.days)
		ended = append(ended, Removal{State: State{ID: c.id, EndedAt: &at, Session: "ses_" + c.id}, Bytes: 10})
	}
	days := func(n int) *time.Duration { d := time.Duration(n) * 24 * time.Hour; return &d }
	count := func(n int) *int { return &n }
	bytes := func(n int64) *int64 { return &n }
	for _, c := range []struct {
		name  string
		l     Limits
		total int64
		used  uses
		gone  string
		stays string
	}{
		{"nothing asked", Limits{}, 60, nil, "", ""},
		{"older", Limits{Older: days(30)}, 60, nil, "axb", ""},
		{"older, on the day", Limits{Older: days(31)}, 60, nil, "axb", ""},
		{"older, all", Limits{Older: days(0)}, 60, nil, "axbcde", ""},
		{"older than any", Limits{Older: days(400)}, 60, nil, "", ""},
		{"keep alone", Limits{Keep: count(2)}, 60, nil, "axbc", ""},
		{"keep none", Limits{Keep: count(0)}, 60, nil, "axbcde", ""},
		{"keep more than there are", Limits{Keep: count(9)}, 60, nil, "", ""},
		{"keep protects from older", Limits{Older: days(1), Keep: count(5)}, 60, nil, "a", ""},
		{"keep with older is no limit of its own", Limits{Older: days(30), Keep: count(2)}, 60, nil, "axb", ""},
		{"size", Limits{MaxBytes: bytes(35)}, 60, nil, "axb", ""},
		{"size is met exactly", Limits{MaxBytes: bytes(40)}, 60, nil, "ax", ""},
		{"what cannot go counts too", Limits{MaxBytes: bytes(40)}, 90, nil, "axbcd", ""},
		{"keep protects from size", Limits{MaxBytes: bytes(0), Keep: count(4)}, 60, nil, "ax", ""},
		{"older or size", Limits{Older: days(35), MaxBytes: bytes(30)}, 60, nil, "axb", ""},
		{"size is met by what is older", Limits{Older: days(30), MaxBytes: bytes(50)}, 60, nil, "axb", ""},
		{"used", Limits{Older: days(30)}, 60, uses{"a": "why"}, "xb", "a"},
		{"used by its session", Limits{Older: days(30)}, 60, uses{"ses_b": "why"}, "ax", "b"},
		{"what is used makes no room", Limits{MaxBytes: bytes(40)}, 60, uses{"a": "why"}, "xb", "a"},
	} {
		gone, stays := c.l.choose(slices.Clone(ended), c.total, now, c.used)
		var ids, kept string
		for _, g := range gone {
			ids += g.ID
		}
		for _, s := range stays {
			kept += s.ID
		}
		if ids != c.gone || kept != c.stays {
			t.Errorf("%s: gone %q, stay %q; want %q, %q", c.name, ids, kept, c.gone, c.stays)
		}
	}
}

func TestRemoveByAge(t *testing.T) {
	g := newGraveyard(t)
	old, older2 := g.bury(31, 100, nil), g.bury(50, 0, nil)
	young := g.bury(1, 0, nil)
	st, err := readState(g.dir(old), old)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.announce(st); err != nil {
		t.Fatal(err)
	}
	g.write("active/"+old, "")
	damaged := NewID(g.now.AddDate(0, -3, 0))
	g.write("jobs/"+damaged+"/state.json", "{")
	g.write("jobs/no-id/keep", "")

	before := g.files()
	r := g.remove(older(30*24*time.Hour), true)
	if after := g.files(); !slices.Equal(before, after) {
		t.Errorf("a dry run changed\n%q\nto\n%q", before, after)
	}
	if want := []string{older2, old}; !slices.Equal(r.ids(), want) || r.Gone[1].Bytes < 100<<10 || r.Gone[1].Bytes > 130<<10 || r.Bytes() != r.Gone[0].Bytes+r.Gone[1].Bytes {
		t.Errorf("a dry run tells %+v, want %v", r.Gone, want)
	}
	g.write("active/"+old, "")
	wet := g.remove(older(30*24*time.Hour), false)
	if !slices.Equal(wet.ids(), r.ids()) || wet.Bytes() != r.Bytes() || len(wet.Failed)+len(wet.Stays) > 0 {
		t.Errorf("%+v, the dry run told %+v", wet, r)
	}
	if len(wet.Unreadable) != 1 || wet.Unreadable[0].ID != damaged || wet.Unreadable[0].Problem == "" {
		t.Errorf("unreadable: %+v", wet.Unreadable)
	}
	for path, want := range map[string]bool{
		g.dir(old): false, g.dir(older2): false, g.dir(young): true, g.dir(damaged): true, filepath.Join(g.root, "jobs/no-id/keep"): true,
		filepath.Join(g.root, activeDir, old): false, filepath.Join(g.root, newsOf("shell"), old): false,
	} {
		if exists(path) != want {
			t.Errorf("%s is there: %v", path, !want)
		}
	}
	left, _ := os.ReadDir(filepath.Join(g.root, jobsDir))
	if len(left) != 3 {
		t.Errorf("jobs holds %v", left)
	}
	if r := g.remove(older(30*24*time.Hour), false); len(r.Gone) != 0 {
		t.Errorf("a second time: %+v", r)
	}
}

func TestRemoveSparesWhatIsInUse(t *testing.T) {
	g := newGraveyard(t)
	asLive := func(change func(*State)) string {
		id := g.bury(0, 0, func(st *State) { st.State = Waiting; change(st) })
		g.hold(id, record.Lease)
		g.write("active/"+id, "")
		return id
	}
	awaited, repeated, continued := g.bury(40, 0, nil), g.bury(41, 0, nil), g.bury(42, 0, nil)
	session := g.bury(43, 0, func(st *State) { st.Session = "ses_used" })
	live := []string{
		asLive(func(st *State) { st.After = []string{awaited} }), asLive(func(st *State) { st.RetryOf = repeated }),
		asLive(func(st *State) { st.ContinueOf = continued }), asLive(func(st *State) { st.Session = "ses_used" }),
	}
	finishing, decided := g.bury(44, 0, nil), g.bury(45, 0, nil)
	g.hold(finishing, record.Lease)
	g.hold(decided, record.Lock)
	starting := g.bury(0, 0, func(st *State) { st.State = Queued })
	g.hold(starting, record.Lock)
	free := g.bury(47, 0, func(st *State) { st.Session = "ses_free" })

	for _, dry := range []bool{true, false} {
		r := g.remove(older(0), dry)
		var stays []string
		for _, s := range r.Stays {
			stays = append(stays, s.ID)
			if s.Why == "" {
				t.Errorf("%s stays without a reason", s.ID)
			}
		}
		slices.Sort(stays)
		want := []string{awaited, repeated, continued, session, finishing, decided}
		slices.Sort(want)
		if !slices.Equal(stays, want) || !slices.Equal(r.ids(), []string{free}) || len(r.Failed) > 0 {
			t.Errorf("dry %v: stay %v, want %v; gone %v", dry, stays, want, r.ids())
		}
	}
	for _, id := range append(live, starting, awaited, repeated, continued, session, finishing, decided) {
		if !exists(g.dir(id)) {
			t.Errorf("%s is gone", id)
		}
	}
}

// A job that comes while gc is at work is seen before the next record goes.
func TestRemoveSeesNewUses(t *testing.T) {
	g := newGraveyard(t)
	awaited, free := g.bury(40, 0, nil), g.bury(41, 0, nil)
	id := g.bury(0, 0, func(st *State) { st.State, st.After = Waiting, []string{awaited} })
	g.hold(id, record.Lease)
	g.write("active/"+id, "")
	g.write("active/"+NewID(g.now), "") // one that has no record yet is looked at again
	gone := func(id string) (string, []string) {
		st, err := readState(g.dir(id), id)
		if err != nil {
			t.Fatal(err)
		}
		now, why, err := g.removeUnused(context.Background(), &Removal{State: st}, nil, uses{}, false)
		if err != nil {
			t.Fatal(err)
		}
		return why, now
	}
	if why, now := gone(awaited); !strings.Contains(why, id) || !slices.Equal(now, []string{id}) || !exists(g.dir(awaited)) {
		t.Errorf("%q, known %v", why, now)
	}
	if why, _ := gone(free); why != "" || exists(g.dir(free)) {
		t.Errorf("%q", why)
	}
}

func TestRemoveDecidesFirst(t *testing.T) {
	g := newGraveyard(t)
	dead := g.bury(40, 0, func(st *State) { st.State = Running })
	at := g.now.AddDate(0, 0, -35)
	if err := os.Chtimes(filepath.Join(g.dir(dead), record.State), at, at); err != nil {
		t.Fatal(err)
	}
	r := g.remove(older(30*24*time.Hour), false)
	if len(r.Gone) != 1 || r.Gone[0].ID != dead || r.Gone[0].State.State != Lost || exists(g.dir(dead)) {
		t.Errorf("%+v", r)
	}
}

func TestRemoveBySize(t *testing.T) {
	g := newGraveyard(t)
	first, second, third := g.bury(3, 1000, nil), g.bury(2, 1000, nil), g.bury(1, 1000, nil)
	limit := int64(2500 << 10)
	if r := g.remove(Limits{MaxBytes: &limit}, false); !slices.Equal(r.ids(), []string{first}) {
		t.Errorf("gone %v, want %v of %v", r.ids(), first, []string{first, second, third})
	}
	one := 1
	limit = 0
	if r := g.remove(Limits{MaxBytes: &limit, Keep: &one}, false); !slices.Equal(r.ids(), []string{second}) {
		t.Errorf("gone %v, want %v", r.ids(), second)
	}
}
