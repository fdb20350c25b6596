package job

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"opencode-delegate/internal/proc"
)

func TestPresencesOfProcessesThatHaveGone(t *testing.T) {
	s := open(t)
	becomes(t, s, proc.Self(), "self")
	for i := range 3 * presences {
		if err := s.writeCaller(presenceOf(gone(uint64(i+1))), presence{"x", proc.Boot()}); err != nil {
			t.Fatal(err)
		}
	}
	foreign := []string{"p-", "p-1", "p-01-2", "p-1073741824-1-2", "p-1073741824-1 ", "q-1073741824-1", "p-x-1"}
	for _, name := range foreign {
		if err := s.writeCaller(name, presence{}); err != nil {
			t.Fatal(err)
		}
	}
	count := func() (n int) {
		for _, name := range s.namesIn(callersDir) {
			if _, ok := processOf(name); ok {
				n++
			}
		}
		return n
	}
	becomes(t, s, gone(9999), "y")
	// Beside self and the one that calls; the living one may have been among those that were looked at.
	if n := count(); n != 2*presences+2 && n != 2*presences+3 {
		t.Errorf("%d are left of %d", n, 3*presences+2)
	}
	becomes(t, s, gone(9999), "z")
	becomes(t, s, gone(9999), "y")
	becomes(t, s, gone(9999), "z")
	if count() != 2 || s.Link(t.Context(), proc.Self(), "self") != nil {
		t.Errorf("%d are left", count())
	}
	for _, name := range foreign {
		if !exists(filepath.Join(s.root, callersDir, name)) {
			t.Errorf("%q is gone", name)
		}
	}
}

// What is over in callers/ and arguments/ goes with gc, and is no leftover of which doctor would tell.
func TestGcClearsCallersAndArguments(t *testing.T) {
	g := newGraveyard(t)
	aged := func(path string, age time.Duration) string {
		t.Helper()
		at := g.now.Add(-age)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const day = 24 * time.Hour
	k := byKey(40)
	linked := func(from, to int, age time.Duration) string {
		t.Helper()
		if err := g.writeCaller(callerKey(k[from]), link{k[from], k[to]}); err != nil {
			t.Fatal(err)
		}
		return aged(filepath.Join(g.root, callersDir, callerKey(k[from])), age)
	}
	becomes(t, g.Store, proc.Self(), k[30])
	g.bury(1, 0, func(st *State) { st.Caller = k[12] })
	go1 := []string{
		linked(2, 1, 31*day), linked(3, 2, 40*day), // nobody has a job of these
		aged(g.write("callers/"+callerKey(k[35]), "{"), 31*day), aged(g.write("callers/.tmp-1", ""), 25*time.Hour),
		g.write("callers/"+presenceOf(gone(1)), `{"session":"x"}`),
		aged(g.write("arguments/0011223344556677-status", "{}"), 61*time.Minute), aged(g.write("arguments/.tmp-2", ""), 2*time.Hour),
	}
	stay := []string{
		linked(5, 4, 29*day), linked(6, 5, 60*day), // one is young
		linked(11, 10, 60*day), linked(12, 11, 60*day), // one has a job
		linked(21, 20, 60*day), linked(30, 20, 60*day), // one is what a living process calls as
		aged(g.write("callers/"+callerKey(k[36]), "{"), 29*day), g.write("callers/.tmp-3", ""),
		filepath.Join(g.root, callersDir, presenceOf(proc.Self())), aged(filepath.Join(g.root, callersLock), 90*day), aged(g.write("callers/w-1-2.woken", ""), 90*day),
		aged(g.write("arguments/8899aabbccddeeff-result", "{}"), 59*time.Minute), filepath.Dir(aged(g.write("arguments/dir/old", ""), 5*day)),
	}
	if v, err := g.Survey(t.Context(), g.now); err != nil || len(v.Leftovers) != 0 {
		t.Errorf("doctor tells of %v, %v", v.Leftovers, err)
	}
	if r := g.remove(Limits{}, true); r.Leftovers != len(go1) {
		t.Errorf("a dry run tells of %d, want %d", r.Leftovers, len(go1))
	}
	for _, p := range slices.Concat(go1, stay) {
		if !exists(p) {
			t.Fatalf("a dry run removed %s", p)
		}
	}
	if r := g.remove(Limits{}, false); r.Leftovers != len(go1) {
		t.Errorf("%d went, want %d", r.Leftovers, len(go1))
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
	if g.SameCaller(k[2], k[1]) || !g.SameCaller(k[12], k[10]) {
		t.Error("the store believes what it has read before")
	}
}

// Nothing that is not our own directory is cleared.
func TestGcFollowsNoLinkToArguments(t *testing.T) {
	g := newGraveyard(t)
	aside := t.TempDir()
	old := filepath.Join(aside, "old")
	if err := os.WriteFile(old, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	past := g.now.Add(-90 * 24 * time.Hour)
	if err := os.Chtimes(old, past, past); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{argumentsDir, callersDir} {
		if err := os.Symlink(aside, filepath.Join(g.root, dir)); err != nil {
			if runtime.GOOS == "windows" {
				return // a user needs a privilege for links there
			}
			t.Fatal(err)
		}
	}
	if r := g.remove(Limits{}, false); r.Leftovers != 0 || !exists(old) {
		t.Errorf("%d went; %s is there: %v", r.Leftovers, old, exists(old))
	}
}

// A state directory that holds these is one of ours, and its mode is ours to tighten.
func TestCallersAndArgumentsAreNoStrangers(t *testing.T) {
	for _, name := range []string{callersDir, argumentsDir} {
		root := t.TempDir()
		if err := os.Mkdir(filepath.Join(root, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if !ours(root) {
			t.Errorf("%s is a stranger", name)
		}
	}
}

func BenchmarkCallerOfTenThousand(b *testing.B) {
	s := open(b)
	sessions := byKey(10_000)
	if err := makeDir(filepath.Join(s.root, callersDir)); err != nil {
		b.Fatal(err)
	}
	for i := 1; i < len(sessions); i += 2 {
		if err := s.writeCaller(callerKey(sessions[i]), link{sessions[i], sessions[0]}); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		s.links.forget()
		n := 0
		for _, session := range sessions {
			if s.SameCaller(session, sessions[0]) {
				n++
			}
		}
		if n != len(sessions)/2+1 {
			b.Fatal(fmt.Errorf("%d are one", n))
		}
	}
}
