package job

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"opencode-delegate/internal/call"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/lock"
	"opencode-delegate/internal/proc"
	"opencode-delegate/internal/redact"
)

// byKey are sessions in the order of their keys, the smallest first.
func byKey(n int) (sessions []string) {
	for i := range n {
		sessions = append(sessions, fmt.Sprintf("00000000-0000-4000-8000-%012d", i))
	}
	slices.SortFunc(sessions, func(a, b string) int { return cmp.Compare(callerKey(a), callerKey(b)) })
	return sessions
}

// again is the same state directory in another process.
func again(t testing.TB, s *Store) *Store {
	t.Helper()
	other, err := OpenStore(s.root, redact.New(nil))
	if err != nil {
		t.Fatal(err)
	}
	return other
}

func becomes(t testing.TB, s *Store, process proc.ID, sessions ...string) {
	t.Helper()
	for _, session := range sessions {
		if err := s.Link(context.Background(), process, session); err != nil {
			t.Fatalf("%s: %v", session, err)
		}
	}
}

// gone is a process that is not there.
func gone(start uint64) proc.ID { return proc.ID{PID: 1 << 30, Start: start, Boot: proc.Boot()} }

// one reports whether callers are one for a store and for a new one.
func one(t testing.TB, s *Store, callers ...string) bool {
	t.Helper()
	fresh := again(t, s)
	same := s.SameCaller(callers[0], callers[1])
	for _, c := range callers[1:] {
		if s.SameCaller(callers[0], c) != same || fresh.SameCaller(c, callers[0]) != same {
			t.Errorf("%v: some are one and some are not", callers)
		}
	}
	return same
}

func TestSessionsOfAProcessAreOneCaller(t *testing.T) {
	s := open(t)
	a, b, c := "session-a", "session-b", "session-c"
	becomes(t, s, proc.Self(), a)
	if one(t, s, a, b) || s.CallerOf(a) != a || s.CallerOf(call.Shell) != call.Shell {
		t.Errorf("linked before there is a second one: %q", s.CallerOf(a))
	}
	becomes(t, s, proc.Self(), b)
	if !one(t, s, a, b) || one(t, s, a, c) || one(t, s, b, call.Shell) {
		t.Errorf("%q, %q, %q", s.CallerOf(a), s.CallerOf(b), s.CallerOf(c))
	}
	dir := filepath.Join(s.root, callersDir)
	before := snapshot(t, dir)
	becomes(t, s, proc.Self(), b) // after /compact
	same(t, before, snapshot(t, dir))
	becomes(t, s, proc.Self(), c, a, c)
	if !one(t, s, a, b, c) {
		t.Errorf("%q, %q, %q", s.CallerOf(a), s.CallerOf(b), s.CallerOf(c))
	}
	if after := snapshot(t, dir); len(after) != len(before)+1 { // what is linked already is not linked again
		t.Errorf("%d files, want %d", len(after), len(before)+1)
	}
	delete(before, ".")
	if len(before) != 3 { // a presence, a link, the lock
		t.Errorf("%d files: %v", len(before), slices.Sorted(maps.Keys(before)))
	}
	for name, is := range before {
		if !strings.HasPrefix(is, "-rw-------") && runtime.GOOS != "windows" {
			t.Errorf("%s is %.20q", name, is)
		}
	}
}

// Whatever the order of their keys, and of the links: no chain of links comes back to where it began, and no session is left out.
func TestLinkedGroupsBecomeOne(t *testing.T) {
	sessions := byKey(6)
	for seed := range uint64(24) {
		order := slices.Clone(sessions)
		rand.New(rand.NewPCG(seed, 0)).Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		s := open(t)
		becomes(t, s, gone(1), order[0], order[1])
		becomes(t, s, gone(2), order[2], order[3])
		if one(t, s, order[0], order[2]) || one(t, s, order[1], order[4]) {
			t.Errorf("%v: one too early", order)
		}
		becomes(t, s, proc.Self(), order[4], order[1], order[3])
		if !one(t, s, order[:5]...) || one(t, s, order[0], order[5]) {
			t.Errorf("%v: %q is left out", order, order[:5])
		}
	}
}

// A hundred sessions and as many processes, each of which goes on in a session of an earlier one: no chain is longer than is followed.
func TestManyLinkedSessions(t *testing.T) {
	s := open(t)
	var all []string
	for i := range 100 {
		fresh, earlier := fmt.Sprint("fresh-", i), fmt.Sprint("fresh-", i*7%max(i, 1))
		becomes(t, s, gone(uint64(i+1)), fresh, earlier)
		all = append(all, fresh)
	}
	if !one(t, s, all...) {
		t.Error("not one")
	}
}

func TestWhoCannotBeLinked(t *testing.T) {
	s := open(t)
	becomes(t, s, proc.Self(), "a")
	before := snapshot(t, s.root)
	for _, session := range []string{"", call.Shell, strings.Repeat("x", 129), "a\nb", "a\x00", "\xff"} {
		if err := s.Link(t.Context(), proc.Self(), session); kindOf(err) != fault.Usage {
			t.Errorf("session %q: %v", session, err)
		}
	}
	for _, process := range []proc.ID{{}, {PID: 1}, {Start: 5}, {PID: -1, Start: 5}} {
		if err := s.Link(t.Context(), process, "b"); kindOf(err) != fault.Usage {
			t.Errorf("process %+v: %v", process, err)
		}
	}
	same(t, before, snapshot(t, s.root))
}

// Pid and start time of a process come again after the machine was restarted.
func TestAPresenceOfAnotherBootIsNobodys(t *testing.T) {
	s := open(t)
	then := proc.Self()
	then.Boot = "00000000-0000-4000-8000-000000000001"
	becomes(t, s, then, "a")
	becomes(t, s, proc.Self(), "b")
	if one(t, s, "a", "b") {
		t.Error("linked over a restart")
	}
	later := proc.Self()
	later.Start++
	becomes(t, s, later, "c")
	if one(t, s, "b", "c") {
		t.Error("linked over another process")
	}
}

// A process that watches for hours hears of links that others make.
func TestNewLinksAreHeardOf(t *testing.T) {
	s, other := open(t), (*Store)(nil)
	other = again(t, s)
	becomes(t, s, proc.Self(), "a")
	if other.SameCaller("a", "b") {
		t.Error("one")
	}
	becomes(t, s, proc.Self(), "b")
	for deadline := time.Now().Add(5 * time.Second); !other.SameCaller("a", "b"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("never heard of")
		}
	}
}

func TestLinksOfManyAtOnce(t *testing.T) {
	s := open(t)
	var all sync.WaitGroup
	var sessions []string
	for i := range 20 {
		session := fmt.Sprint("session-", i)
		sessions = append(sessions, session)
		all.Go(func() {
			other := s
			if i%2 == 0 {
				other = again(t, s)
			}
			for range 3 {
				if err := other.Link(context.Background(), proc.Self(), session); err != nil {
					t.Error(err)
				}
				other.CallerOf(session)
			}
		})
	}
	all.Wait()
	if s = again(t, s); !one(t, s, sessions...) {
		t.Error("not one")
	}
}

func TestLinkOfAStoppedProcess(t *testing.T) {
	t.Parallel()
	s := open(t)
	becomes(t, s, proc.Self(), "a")
	l, err := lock.Try(filepath.Join(s.root, callersLock))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release()
	becomes(t, s, proc.Self(), "a") // for which no lock is needed
	if err := s.Link(t.Context(), proc.Self(), "b"); kindOf(err) != fault.RunFailed {
		t.Errorf("%v", err)
	}
	if v, err := s.Survey(t.Context(), time.Now()); err != nil || !slices.Equal(v.Locks, []string{filepath.Join(s.root, callersLock)}) {
		t.Errorf("%v, %v", v.Locks, err)
	}
}

// A process that died between the link and its presence has linked all that the next one does not know of.
func TestLinkThatWasCutOff(t *testing.T) {
	s := open(t)
	becomes(t, s, proc.Self(), "a")
	if err := s.unite("a", "b"); err != nil { // and then it died
		t.Fatal(err)
	}
	becomes(t, s, proc.Self(), "c")
	if !one(t, s, "a", "b", "c") {
		t.Errorf("%q, %q, %q", s.CallerOf("a"), s.CallerOf("b"), s.CallerOf("c"))
	}
}
