package job

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/record"
	"opencode-delegate/internal/redact"
)

func TestLeftoversGo(t *testing.T) {
	g := newGraveyard(t)
	past := g.now.Add(-25 * time.Hour)
	old := func(path string) string {
		if err := os.Chtimes(path, past, past); err != nil {
			t.Fatal(err)
		}
		return path
	}
	ended, live := g.bury(1, 0, nil), g.bury(0, 0, func(st *State) { st.State = Running })
	g.hold(live, record.Lease)
	finishing := g.bury(2, 0, nil) // its supervisor has yet to remove the note
	g.hold(finishing, record.Lease)
	nobody := NewID(g.now.AddDate(0, 0, -2))
	g.CacheDir()
	go1 := []string{
		filepath.Dir(g.write("jobs/.removed-"+nobody+"/state.json", "{}")), old(g.write(".tmp-123", "")), old(g.write("cache/.tmp-4", "")),
		g.write("active/"+ended, ""), old(g.write("active/"+nobody, "")), old(g.write(newsOf("shell")+"/"+nobody, "")),
	}
	stay := []string{
		g.write("active/"+finishing, ""), g.write(".tmp-new", ""), g.write("active/"+live, ""), g.write("active/"+NewID(g.now), ""), old(g.write(newsOf("shell")+"/news.lock", "")),
		old(g.write("queue.lock", "")), old(g.write(newsOf("shell")+"/"+ended, "")), old(g.write("cache/opencode-1.json", "")),
	}
	if r := g.remove(Limits{}, true); r.Leftovers != len(go1) {
		t.Errorf("a dry run tells of %d leftovers, want %d", r.Leftovers, len(go1))
	}
	if r := g.remove(Limits{}, false); r.Leftovers > len(go1) || r.Leftovers < len(go1)-1 {
		t.Errorf("%d leftovers, want %d", r.Leftovers, len(go1))
	}
	for _, p := range go1 {
		if exists(p) {
			t.Errorf("%s stayed", p)
		}
	}
	for _, p := range stay {
		if !exists(p) {
			t.Errorf("%s is gone", p)
		}
	}
}

func TestRemoveFollowsNoLink(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege there")
	}
	g := newGraveyard(t)
	outside := t.TempDir()
	foreign := filepath.Join(outside, "foreign")
	if err := os.WriteFile(foreign, []byte("keep"), 0o644); err != nil {
		t.Fatal(err)
	}
	link := func(to, from string) {
		if err := os.Symlink(to, from); err != nil {
			t.Fatal(err)
		}
	}
	holds := g.bury(40, 0, nil)
	link(outside, filepath.Join(g.dir(holds), "kept"))
	link(foreign, filepath.Join(g.dir(holds), "file"))
	locked := g.bury(41, 0, nil)
	link(foreign, filepath.Join(g.dir(locked), record.Lock))
	linked := NewID(g.now.AddDate(0, -2, 0))
	elsewhere := g.bury(42, 0, nil)
	if err := os.Rename(g.dir(elsewhere), filepath.Join(outside, "record")); err != nil {
		t.Fatal(err)
	}
	link(filepath.Join(outside, "record"), g.dir(linked))
	link(outside, filepath.Join(g.root, jobsDir, removedPrefix+"x"))

	r := g.remove(older(0), false)
	if !slices.Equal(r.ids(), []string{holds}) || len(r.Failed) != 1 || r.Failed[0].ID != locked || len(r.Unreadable) != 1 || r.Unreadable[0].ID != linked {
		t.Errorf("%+v", r)
	}
	if data, err := os.ReadFile(foreign); string(data) != "keep" || err != nil {
		t.Errorf("%q %v", data, err)
	}
	if fi, err := os.Stat(foreign); err != nil || fi.Mode().Perm() != 0o644 {
		t.Errorf("%v %v", fi.Mode(), err)
	}
	if !exists(filepath.Join(outside, "record", record.State)) || exists(filepath.Join(g.root, jobsDir, removedPrefix+"x")) {
		t.Error("a link was followed, or stayed")
	}
}

func TestTwoRemoveAtOnce(t *testing.T) {
	g := newGraveyard(t)
	for i := range 60 {
		g.bury(31+float64(i)/100, 8, nil)
	}
	young := g.bury(1, 0, nil)
	results := make([]Removals, 3)
	var wg sync.WaitGroup
	for i := range results {
		wg.Go(func() {
			s, err := OpenStore(g.root, redact.New(nil))
			if err == nil {
				results[i], err = s.Remove(context.Background(), older(30*24*time.Hour), g.now, false)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	gone := map[string]int{}
	for _, r := range results {
		for _, id := range r.ids() {
			gone[id]++
		}
		if len(r.Failed) > 0 {
			t.Errorf("failed: %+v", r.Failed)
		}
	}
	if len(gone) != 60 {
		t.Errorf("%d of 60 are told to be gone", len(gone))
	}
	for id, n := range gone {
		if n != 1 {
			t.Errorf("%s was removed %d times", id, n)
		}
	}
	if left, _ := os.ReadDir(filepath.Join(g.root, jobsDir)); len(left) != 1 || left[0].Name() != young {
		t.Errorf("left: %v", left)
	}
}

func TestRemoveEndsWithItsContext(t *testing.T) {
	g := newGraveyard(t)
	id := g.bury(40, 0, nil)
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(fault.New(fault.Interrupted, "enough"))
	if _, err := g.Remove(ctx, older(0), g.now, false); fault.Of(err) == nil || fault.Of(err).Kind != fault.Interrupted || !exists(g.dir(id)) {
		t.Errorf("%v", err)
	}
}

// What cannot be written down, since the disk is full, is decided for each reader anew, and may become something else.
func TestRemoveWantsTheEndOnTheDisk(t *testing.T) {
	g := newGraveyard(t)
	id := g.bury(40, 0, func(st *State) { st.State = Running })
	if why, err := g.hide(id, filepath.Join(g.root, jobsDir, removedPrefix+id), false); why == "" || err != nil || !exists(g.dir(id)) {
		t.Errorf("%q %v", why, err)
	}
}
