package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// begun is a place with a Claude Code in which the session s1 has begun.
func begun(t *testing.T) (*place, *host) {
	t.Helper()
	p := fakePlace(t)
	h := p.newHost()
	h.hook("SessionStart", "s1").end(10*time.Second, 0)
	return p, h
}

// TestWatchWakesOnce: an end wakes once, by exit 2 and a line on stderr; the watcher that comes after it does not wake for the same again, nor
// for what the conductor has heard otherwise.
func TestWatchWakesOnce(t *testing.T) {
	t.Parallel()
	p, h := begun(t)
	w := h.hook("Watch", "s1")
	w.stays(1500 * time.Millisecond)
	id := p.in("s1").begin("--name", "nightly", "x")
	p.ended()
	began := time.Now()
	said := w.end(10*time.Second, 2)
	t.Logf("woken %v after the end", time.Since(began))
	if want := "A background job of oc-delegate has ended:\n" + id + " nightly: OK\nRead: oc-job result " + id + "\n"; said != want {
		t.Errorf("said %q, want %q", said, want)
	}
	// It has not been acknowledged, and is not told again: the next prompt does that.
	w = h.hook("Watch", "s1")
	w.stays(4 * time.Second)
	other := p.in("s1").begin("--name", "second", "y")
	said = w.end(10*time.Second, 2)
	if !strings.Contains(said, other) || strings.Contains(said, id) {
		t.Errorf("said %q, want %s alone", said, other)
	}
	// What a call in the foreground has told is no news.
	w = h.hook("Watch", "s1")
	third := p.in("s1").begin("z")
	p.in("s1").job("wait", third).want(t, 0, "")
	w.stays(4 * time.Second)
	h.kill()
	p.gone(2 * time.Second)
}

// TestWatchIsOne: however many begin at once, one stays. Without a person at a terminal, without the wish to be told, and without a process to
// stay beside none does.
func TestWatchIsOne(t *testing.T) {
	t.Parallel()
	p, h := begun(t)
	h.hook("Watch", "s1", "CLAUDE_CODE_ENTRYPOINT=sdk-cli").end(5*time.Second, 0)
	h.hook("Watch", "s1", "CLAUDE_PLUGIN_OPTION_NOTIFY=false").end(5*time.Second, 0)
	if left := p.watchers(); len(left) > 0 {
		t.Fatalf("left: %v", left)
	}
	var all []*hookRun
	for range 8 {
		all = append(all, h.hook("Watch", "s1"))
	}
	p.until("one watcher", func() bool { return len(p.watchers()) == 1 && staying(all) == 1 })
	time.Sleep(1500 * time.Millisecond)
	if n := staying(all); n != 1 {
		t.Fatalf("%d stay", n)
	}
	for _, r := range all {
		if said := r.said(); said != "" {
			t.Errorf("said %q", said)
		}
	}
	// Another process of Claude Code has one of its own.
	second := p.newHost()
	second.hook("SessionStart", "s2").end(10*time.Second, 0)
	w := second.hook("Watch", "s2")
	w.stays(1500 * time.Millisecond)
	second.kill()
	h.kill()
	p.gone(2 * time.Second)
}

func staying(all []*hookRun) (n int) {
	for _, r := range all {
		if r.exit() < 0 {
			n++
		}
	}
	return n
}

// TestWatchStepsAside: within a turn nobody is woken. The watcher of the turn before ends without a word, the one that the end of the turn starts
// takes its place even if that has not gone yet, and one that comes late, when the next turn has begun already, does not stay.
func TestWatchStepsAside(t *testing.T) {
	t.Parallel()
	p, h := begun(t)
	first := h.hook("Watch", "s1")
	first.stays(1500 * time.Millisecond)
	h.hookIn("UserPromptSubmit", "s1", "turn1").end(10*time.Second, 0)
	second := h.hookIn("Watch", "s1", "turn1") // a short turn: it has ended already
	if said := first.end(5*time.Second, 0); said != "" {
		t.Errorf("said %q", said)
	}
	second.stays(4 * time.Second)
	h.hookIn("UserPromptSubmit", "s1", "turn2").end(10*time.Second, 0)
	second.end(5*time.Second, 0)
	id := p.in("s1").begin("x")
	p.ended()
	late := h.hookIn("Watch", "s1", "turn1")
	if said := late.end(5*time.Second, 0); said != "" {
		t.Errorf("woken within a turn: %q", said)
	}
	if said := h.hookIn("Watch", "s1", "turn2").end(10*time.Second, 2); !strings.Contains(said, id) {
		t.Errorf("said %q", said)
	}
	h.kill()
	p.gone(2 * time.Second)
}

// TestWatchFollowsItsSession: after /clear the ends of the new session's jobs wake, and of the old one's; another session's do not.
func TestWatchFollowsItsSession(t *testing.T) {
	t.Parallel()
	p, h := begun(t)
	w := h.hook("Watch", "s1")
	w.stays(1500 * time.Millisecond)
	p.in("stranger").begin("x")
	h.hook("SessionStart", "s2").end(10*time.Second, 0)
	w.stays(4 * time.Second)
	id := p.in("s2").begin("x")
	if said := w.end(10*time.Second, 2); !strings.Contains(said, id) || strings.Count(said, "\n") != 3 {
		t.Errorf("said %q, want %s alone", said, id)
	}
}

// TestWatchIsNeverLeft: a watcher goes with Claude Code, with whoever started it, and when it is told to.
func TestWatchIsNeverLeft(t *testing.T) {
	t.Parallel()
	p := fakePlace(t)
	for _, end := range []struct {
		name string
		do   func(h *host, pid int)
	}{
		{"Claude Code is killed", func(h *host, _ int) { h.kill() }},
		{"its shell is killed", func(_ *host, pid int) { syscall.Kill(parentOf(t, pid), syscall.SIGKILL) }},
		{"SIGTERM", func(_ *host, pid int) { syscall.Kill(pid, syscall.SIGTERM) }},
		{"SIGHUP", func(_ *host, pid int) { syscall.Kill(pid, syscall.SIGHUP) }},
	} {
		h := p.newHost()
		h.hook("SessionStart", "s1").end(10*time.Second, 0)
		h.hook("Watch", "s1")
		p.until("a watcher", func() bool { return len(p.watchers()) == 1 })
		time.Sleep(300 * time.Millisecond)
		end.do(h, p.watchers()[0])
		t.Logf("%s: gone after %v", end.name, p.gone(2*time.Second))
		h.kill()
	}
}

func parentOf(t *testing.T, pid int) int {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	n, err := strconv.Atoi(strings.Fields(rest)[1])
	if err != nil || n < 2 {
		t.Fatalf("the parent of %d is %q", pid, rest)
	}
	return n
}

// TestWatchNeedsItsNote: a watcher that cannot note for what it wakes does not wake, since it would again and again.
func TestWatchNeedsItsNote(t *testing.T) {
	t.Parallel()
	p, h := begun(t)
	w := h.hook("Watch", "s1")
	locks := filepath.Join(p.Root, "state/callers/w-*.lock")
	p.until("a lock", func() bool { found, _ := filepath.Glob(locks); return len(found) == 1 })
	found, err := filepath.Glob(locks)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(strings.TrimSuffix(found[0], ".lock")+".woken", 0o700); err != nil {
		t.Fatal(err)
	}
	p.in("s1").begin("x")
	if said := w.end(10*time.Second, 0); strings.Count(said, "\n") != 1 || !strings.Contains(said, "hook Watch") {
		t.Errorf("said %q", said)
	}
	// What a watcher of a process that has gone has left, the next one clears away.
	h.kill()
	other := p.newHost()
	other.hook("SessionStart", "s2").end(10*time.Second, 0)
	w = other.hook("Watch", "s2")
	w.stays(500 * time.Millisecond)
	if left, _ := filepath.Glob(locks); len(left) != 1 || left[0] == found[0] {
		t.Errorf("locks: %v, want one that is not %s", left, found[0])
	}
}

// TestLimitWatchCost: a watcher is a guest for hours: little memory, and hardly any time.
func TestLimitWatchCost(t *testing.T) {
	const seconds = 6
	p, h := begun(t)
	w := h.hook("Watch", "s1")
	p.until("a watcher", func() bool { return len(p.watchers()) == 1 })
	pid := p.watchers()[0]
	time.Sleep(500 * time.Millisecond)
	began := cpuOf(t, pid)
	w.stays(seconds * time.Second)
	used := cpuOf(t, pid) - began
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "RssAnon:")
	anon, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d KiB of its own, %v of the processor in %d s", anon, used, seconds)
	if anon > 12<<10 {
		t.Errorf("it holds %d KiB of its own, more than 12 MiB", anon)
	}
	if used > seconds*5*time.Millisecond {
		t.Errorf("it used %v in %d s, more than half a percent", used, seconds)
	}
}

// cpuOf is the time of the processor that a process has used, to the nanosecond.
func cpuOf(t *testing.T, pid int) time.Duration {
	t.Helper()
	total := int64(0)
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(tasks) == 0 {
		t.Fatalf("threads of %d: %v", pid, err)
	}
	for _, task := range tasks {
		data, err := os.ReadFile(task)
		if err != nil {
			continue // a thread that has gone
		}
		n, err := strconv.ParseInt(strings.Fields(string(data))[0], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		total += n
	}
	return time.Duration(total)
}

// TestWhoIsClaudeCode: who started the session in which a hook runs, also where an outer Claude Code has left its pid in the environment; and
// whose pid is there, where a hook has no session of its own.
func TestWhoIsClaudeCode(t *testing.T) {
	t.Parallel()
	p := fakePlace(t)
	h := p.newHost()
	presence := func(process int) bool {
		found, err := filepath.Glob(filepath.Join(p.Root, fmt.Sprintf("state/callers/p-%d-*", process)))
		return err == nil && len(found) == 1
	}
	h.hook("SessionStart", "inner", fmt.Sprintf("CLAUDE_PID=%d", os.Getpid())).end(10*time.Second, 0)
	if host := h.cmd.Process.Pid; !presence(host) || presence(os.Getpid()) {
		t.Errorf("not %d calls as the session", host)
	}
	cmd := p.command("hook", "SessionStart")
	cmd.Env = append(cmd.Env, fmt.Sprintf("CLAUDE_PID=%d", os.Getpid()))
	cmd.Stdin = strings.NewReader(`{"session_id":"own","source":"startup"}`)
	if out, err := cmd.CombinedOutput(); err != nil || !presence(os.Getpid()) {
		t.Errorf("not %d calls as the session: %v %s", os.Getpid(), err, out)
	}
}
