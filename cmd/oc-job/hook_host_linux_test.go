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
	return h.hookIn(event, session, "", env...)
}

// hookIn is hook in a turn of the session.
func (h *host) hookIn(event, session, turn string, env ...string) *hookRun {
	h.T.Helper()
	h.runs++
	r := &hookRun{h, filepath.Join(h.Root, fmt.Sprintf("run%d-%d", h.cmd.Process.Pid, h.runs))}
	h.Write(filepath.Base(r.name)+".in", fmt.Sprintf(`{"session_id":%q,"prompt_id":%q,"hook_event_name":"SessionStart","source":"startup","prompt":"x"}`, session, turn))
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
