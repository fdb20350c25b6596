package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A host stands in for Claude Code: a process that starts each hook in a session of its own, as sh -c, and lives until it is killed.
type host struct {
	*place
	cmd  *exec.Cmd
	in   io.WriteCloser
	runs int
}

// newHost starts one. It reads lines of a shell and runs each beside the others.
func (p *place) newHost() *host {
	p.T.Helper()
	h := &host{place: p, cmd: exec.Command("/bin/sh", "-c", `while read -r line; do sh -c "$line" & done; sleep 1000`)}
	h.cmd.Dir = p.Project
	dir, err := programs()
	if err != nil {
		p.T.Fatal(err)
	}
	h.cmd.Env = append(p.Env, "PATH="+dir+":"+os.Getenv("PATH"), "CLAUDE_CODE_ENTRYPOINT=cli")
	if h.in, err = h.cmd.StdinPipe(); err == nil {
		err = h.cmd.Start()
	}
	if err != nil {
		p.T.Fatal(err)
	}
	p.T.Cleanup(func() { h.kill() })
	return h
}

// kill ends the host and nothing that it started.
func (h *host) kill() {
	h.cmd.Process.Kill() // an error means that it has gone
	h.cmd.Wait()
}

// A hookRun is one run of a hook.
type hookRun struct {
	h    *host
	name string
}

// hook starts a hook for a session. env is set for it alone.
func (h *host) hook(event, session string, env ...string) *hookRun {
	h.T.Helper()
	h.runs++
	r := &hookRun{h, filepath.Join(h.Root, fmt.Sprintf("run%d-%d", h.cmd.Process.Pid, h.runs))}
	h.Write(filepath.Base(r.name)+".in", fmt.Sprintf(`{"session_id":%q,"hook_event_name":"SessionStart","source":"startup","prompt":"x"}`, session))
	// setsid execs where it leads no group: the shell that it runs is then the leader, and this process its parent.
	line := fmt.Sprintf(`exec setsid sh -c '%s oc-job hook %s <%[3]s.in >%[3]s.out 2>%[3]s.err; echo $? >%[3]s.tmp; mv %[3]s.tmp %[3]s.exit' </dev/null`, strings.Join(env, " "), event, r.name)
	if _, err := io.WriteString(h.in, line+"\n"); err != nil {
		h.T.Fatal(err)
	}
	return r
}

// exit is the exit code, -1 while it runs.
func (r *hookRun) exit() int {
	data, err := os.ReadFile(r.name + ".exit")
	n, cerr := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil || cerr != nil {
		return -1
	}
	return n
}

// end waits for the end of a run, and returns what it said.
func (r *hookRun) end(within time.Duration, want int) string {
	r.h.T.Helper()
	for deadline := time.Now().Add(within); r.exit() < 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			r.h.T.Fatalf("%s did not end within %v", r.name, within)
		}
	}
	if r.exit() != want {
		r.h.T.Fatalf("exit %d, want %d: %s", r.exit(), want, r.said())
	}
	return r.said()
}

func (r *hookRun) said() string {
	r.h.T.Helper()
	data, err := os.ReadFile(r.name + ".err")
	if err != nil {
		r.h.T.Fatal(err)
	}
	return string(data)
}

// stays checks that a run goes on for a while.
func (r *hookRun) stays(d time.Duration) {
	r.h.T.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if n := r.exit(); n >= 0 {
			r.h.T.Fatalf("it ended with %d: %s", n, r.said())
		}
	}
}

// watchers are the processes of `oc-job hook Watch` that have the place's state directory.
func (p *place) watchers() (pids []int) {
	p.T.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		p.T.Fatal(err)
	}
	for _, path := range all {
		args, err := os.ReadFile(path)
		env, eerr := os.ReadFile(filepath.Join(filepath.Dir(path), "environ"))
		if err != nil || eerr != nil || !bytes.Contains(args, []byte("oc-job\x00hook\x00Watch\x00")) || !bytes.Contains(env, []byte("OC_DELEGATE_STATE="+filepath.Join(p.Root, "state")+"\x00")) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			p.T.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}

// gone waits until no watcher is left.
func (p *place) gone(within time.Duration) time.Duration {
	p.T.Helper()
	began := time.Now()
	for len(p.watchers()) > 0 {
		if time.Since(began) > within {
			p.T.Fatalf("watchers are left after %v: %v", within, p.watchers())
		}
		time.Sleep(10 * time.Millisecond)
	}
	return time.Since(began)
}

// in is the environment of a call that a session makes.
func (p *place) in(session string) *place {
	other := *p.Place
	other.Env = append(append([]string{}, p.Env...), "CLAUDE_CODE_SESSION_ID="+session)
	return &place{&other}
}

// ended waits until no job of the place lives, without hearing of it.
func (p *place) ended() {
	p.T.Helper()
	p.until("the end of all jobs", func() bool {
		left, err := os.ReadDir(filepath.Join(p.Root, "state", "active"))
		return err == nil && len(left) == 0
	})
}

// TestWatchWakesOnce: an end wakes once, by exit 2 and a line on stderr; the watcher that comes after it does not wake for the same again, nor
// for what the conductor has heard otherwise.
func TestWatchWakesOnce(t *testing.T) {
	t.Parallel()
	p := fakePlace(t)
	h := p.newHost()
	h.hook("SessionStart", "s1").end(10*time.Second, 0)
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
	p := fakePlace(t)
	h := p.newHost()
	h.hook("SessionStart", "s1").end(10*time.Second, 0)
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

// TestWatchFollowsItsSession: after /clear the ends of the new session's jobs wake, and of the old one's; another session's do not.
func TestWatchFollowsItsSession(t *testing.T) {
	t.Parallel()
	p := fakePlace(t)
	h := p.newHost()
	h.hook("SessionStart", "s1").end(10*time.Second, 0)
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
	p := fakePlace(t)
	h := p.newHost()
	h.hook("SessionStart", "s1").end(10*time.Second, 0)
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
