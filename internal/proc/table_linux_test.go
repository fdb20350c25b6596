package proc

import (
	"context"
	"os"
	"strings"
	"syscall"
	"testing"
)

func TestParseStat(t *testing.T) {
	const rest = " 2 3 4 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 THREADS 0 777 1000 100 18446744073709551615"
	line := func(name, state, threads string) string {
		return "99 (" + name + ") " + state + strings.Replace(rest, "THREADS", threads, 1)
	}
	want := entry{identity: identity{99, 777}, ppid: 2, pgid: 3, sid: 4}
	with := func(change func(*entry)) entry { e := want; change(&e); return e }
	for in, want := range map[string]entry{
		line("sh", "S", "1"):          want,
		line("a) R (b", "S", "1"):     want,
		line(") Z 1 1 1 (", "S", "1"): want,
		line("", "R", "9"):            want,
		line("sh", "Z", "1"):          with(func(e *entry) { e.dead = true }),
		line("sh", "X", "0"):          with(func(e *entry) { e.dead = true }),
		line("sh", "Z", "3"):          want,
		line("sh", "T", "1"):          with(func(e *entry) { e.stopped = true }),
		line("sh", "t", "1"):          with(func(e *entry) { e.stopped = true }),
		line("sh", "D", "1"):          with(func(e *entry) { e.stuck = true }),
	} {
		if got, ok := parseStat([]byte(in)); !ok || got != want {
			t.Errorf("%s: %+v, %t; want %+v", in, got, ok, want)
		}
	}
	for _, in := range []string{"", "99", "99 (sh", "99 (sh)", "99 (sh) S 2 3", line("sh", "SS", "1"), "x" + line("sh", "S", "1"), line("sh", "S", "x")} {
		if got, ok := parseStat([]byte(in)); ok {
			t.Errorf("%q: %+v", in, got)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("1 (a) S 2 3 4 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 777 1000"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if e, ok := parseStat(b); ok && e.stopped && e.dead {
			t.Errorf("%q is both stopped and dead", b)
		}
	})
}

func TestHasEntry(t *testing.T) {
	const want = "M=run-1"
	for env, ok := range map[string]bool{
		"M=run-1\x00":                     true,
		"M=run-1":                         true,
		"A=b\x00M=run-1\x00C=d\x00":       true,
		"M=run-12\x00":                    false,
		"XM=run-1\x00":                    false,
		"A=M=run-1\x00":                   false,
		"M=run-12\x00XM=run-1\x00M=run-1": true,
		"":                                false,
		"M=run-":                          false,
	} {
		if got := hasEntry([]byte(env), []byte(want)); got != ok {
			t.Errorf("%q: %t, want %t", env, got, ok)
		}
	}
}

// The marker is found wherever it stands in an environment that is as large as the kernel allows.
func TestMarkerInALargeEnvironment(t *testing.T) {
	tr := newTrial(t)
	c := tr.command("for i in 1 2 3 4 5 6 7 8 9; do eval A$i=$BIG; export A$i; done; M=$" + MarkerEnv + "; unset " + MarkerEnv +
		"; exec env " + MarkerEnv + "=$M sleep 100.TOKEN")
	c.Env = append(c.Env, "BIG="+strings.Repeat("x", 120<<10))
	tr.start(context.Background(), c)
	at := func() int {
		env, _ := os.ReadFile("/proc/" + itoa(tr.PID()) + "/environ")
		return strings.Index(string(env), MarkerEnv)
	}
	until(t, settle, func() bool { return nameOf(tr.PID()) == "sleep 100."+tr.token && at() > 1<<20 }, func() string {
		return nameOf(tr.PID()) + ": the marker is at " + itoa(at()) + ", not far enough for this test"
	})
	e, _ := look(tr.PID())
	if !marked(tr.marker)(e) {
		t.Error("not found")
	}
}

// A pid that is used again is another process.
func TestSignalReachesOneProcessOnly(t *testing.T) {
	tr := script(t, "exec sleep 100.TOKEN")
	e, ok := look(tr.PID())
	if !ok {
		t.Fatal("no child")
	}
	other := identity{e.pid, e.start - 1}
	if err := other.signal(syscall.SIGKILL); err != syscall.ESRCH {
		t.Errorf("signal to an earlier process of this pid: %v, want ESRCH", err)
	}
	if other.lives() || !e.lives() {
		t.Error("identity does not tell processes apart")
	}
	if closed(tr.Exited()) {
		t.Error("the signal reached the wrong process")
	}
	if err := e.signal(syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	if x := tr.Wait(); x.Signal != "SIGKILL" || x.ByUs {
		t.Errorf("%+v", x)
	}
	if err := e.signal(syscall.SIGKILL); err != syscall.ESRCH {
		t.Errorf("signal to a dead process: %v, want ESRCH", err)
	}
}
