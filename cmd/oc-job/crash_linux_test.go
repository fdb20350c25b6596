package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"opencode-delegate/internal/lock"
	"opencode-delegate/internal/record"
)

// A walk is a process that is ended, in one run after the other, after each thing that it writes.
type walk struct {
	name string
	role string                        // OC_CRASH_ROLE
	with []string                      // further environment
	act  func(p *crashPlace) *exec.Cmd // what is done in a new place; the command is the one that the points are in, or starts it
	dies bool                          // it is the command itself that dies, not a process that it starts
	only []string                      // these places; empty = all
	told bool                          // what is printed is an end that its caller knows then
	then func(p *crashPlace)           // what has to be so after each crash; nil = nothing beside what always has
}

var walks = []walk{
	{name: "start", role: "!__supervisor", dies: true, act: func(p *crashPlace) *exec.Cmd { return p.command("oc-job", "start", "the task") }},
	{name: "start --reuse", role: "!__supervisor", dies: true, only: []string{"lock file create.lock#1", "locked create.lock#1", "renamed state.json#1"}, act: func(p *crashPlace) *exec.Cmd {
		p.run(p.command("oc-job", "start", "--reuse", "another task"))
		return p.command("oc-job", "start", "--reuse", "the task")
	}},
	{name: "supervisor", role: "__supervisor", act: func(p *crashPlace) *exec.Cmd {
		return p.command("oc-job", "start", "--out", filepath.Join(p.root, "out.txt"), "--on-finish", "cat", "the task")
	}},
	{name: "supervisor of a long run", role: "__supervisor", with: []string{"OC_FAKE=todo,slowfirst", "OC_FAKE_SEC=0.3"},
		only: []string{"temporary file progress.json#1", "written progress.json#1", "renamed progress.json#1"},
		act:  func(p *crashPlace) *exec.Cmd { return p.command("oc-job", "start", "the task") }},
	{name: "supervisor of an isolated job", role: "__supervisor", with: []string{"OC_FAKE=sh", "OC_FAKE_SH=echo work >work.txt; echo changed >file.txt"}, act: func(p *crashPlace) *exec.Cmd {
		p.repository()
		return p.command("oc-job", "start", "--write", "--isolate", "--verify", "test -e work.txt", "the task")
	}, then: func(p *crashPlace) { p.workIsFound() }},
	{name: "supervisor of a run in place", role: "__supervisor", with: []string{"OC_FAKE=sh", "OC_FAKE_SH=echo work >work.txt; echo changed >file.txt"}, act: func(p *crashPlace) *exec.Cmd {
		p.repository()
		return p.command("oc-job", "start", "--write", "the task")
	}, then: func(p *crashPlace) { p.undone() }},
	{name: "oc-delegate", role: "!__supervisor", dies: true, act: func(p *crashPlace) *exec.Cmd { return p.command("oc-delegate", "the task") }},
	{name: "the next reader", dies: true, act: func(p *crashPlace) *exec.Cmd {
		id := p.running()
		p.kill(id)
		if err := lock.Free(p.t.Context(), p.store.Record(id).File(record.Lease)); err != nil {
			p.t.Fatal(err)
		}
		return p.command("oc-job", "list", "--json")
	}},
	{name: "cancel", dies: true, told: true, act: func(p *crashPlace) *exec.Cmd { return p.command("oc-job", "cancel", p.running()) }},
	{name: "notify", dies: true, told: true, act: func(p *crashPlace) *exec.Cmd {
		p.ended()
		p.ended()
		return p.command("oc-job", "notify")
	}},
	{name: "wait", dies: true, told: true, act: func(p *crashPlace) *exec.Cmd { return p.command("oc-job", "wait", p.ended(), p.ended()) }},
	{name: "result", dies: true, told: true, act: func(p *crashPlace) *exec.Cmd { return p.command("oc-job", "result", "--json", p.ended()) }},
	{name: "hook SessionStart", dies: true, act: func(p *crashPlace) *exec.Cmd {
		p.run(p.session("one"))
		return p.session("two")
	}, then: func(p *crashPlace) {
		p.run(p.session("three"))
		if !p.store.SameCaller("one", "three") {
			p.t.Error("the sessions before and after the crash are not one caller")
		}
	}},
}

// points runs a walk and returns the places that it passes; it ends at one of them, empty = at none.
func (w walk) points(p *crashPlace, at string) (passed []string, printed string) {
	p.t.Helper()
	p.env = append(p.env, w.with...)
	cmd := w.act(p)
	log := filepath.Join(p.root, "points")
	cmd.Env = append(cmd.Env, "OC_CRASH_LOG="+log, "OC_CRASH_ROLE="+w.role, "OC_CRASH_POINT="+at)
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	err := cmd.Run()
	var exit *exec.ExitError
	killed := errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
	if killed != (w.dies && at != "") {
		p.t.Errorf("the command ended with %v", err)
	}
	if !w.dies { // the job's supervisor writes also after the end of the job
		for deadline := time.Now().Add(10 * time.Second); p.supervisors() && time.Now().Before(deadline); {
			time.Sleep(5 * time.Millisecond)
		}
	}
	data, err := os.ReadFile(log)
	if err != nil {
		p.t.Error(err)
	}
	if err == nil {
		passed = strings.Split(strings.TrimSpace(string(data)), "\n")
	}
	return passed, strings.TrimSpace(stdout.String())
}

// TestCrashWalk ends a process after each thing that it writes. CRASH_TABLE names a file for the table of what each leaves.
func TestCrashWalk(t *testing.T) {
	bin, err := os.MkdirTemp("", "oc-crash-") // its name must hold no role
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(bin) })
	if err := buildInto(bin, "crashpoints", ".", "../oc-delegate"); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err == nil {
		err = exec.Command("cp", self, filepath.Join(bin, "opencode")).Run() // the name makes it the fake
	}
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	table := map[string][]string{}
	t.Run("walk", func(t *testing.T) {
		slots := make(chan struct{}, 6) // a place mostly waits
		for _, w := range walks {
			t.Run(w.name, func(t *testing.T) {
				t.Parallel()
				whole := newCrashPlace(t, bin)
				points, printed := w.points(whole, "")
				if len(points) == 0 {
					t.Fatal("no point was passed")
				}
				whole.remember(w, printed)
				whole.decided(w, printed)
				if len(w.only) > 0 {
					points = w.only
				}
				// How often the progress is written depends on the time that a run takes.
				points = slices.DeleteFunc(slices.Clone(points), func(s string) bool { return len(w.only) == 0 && strings.Contains(s, record.Progress) })
				rows := make([]string, len(points))
				var all sync.WaitGroup
				for i, point := range points {
					all.Go(func() {
						slots <- struct{}{}
						defer func() { <-slots }()
						t.Run(fmt.Sprint(i+1, " ", point), func(t *testing.T) {
							p := newCrashPlace(t, bin)
							passed, printed := w.points(p, point)
							if n := len(passed); n == 0 || passed[n-1] != point {
								t.Errorf("it passed %v", passed)
							}
							p.remember(w, printed)
							rows[i] = fmt.Sprintf("%s\t%s\t%s", w.name, point, p.decided(w, printed))
							if w.then != nil {
								w.then(p)
							}
							p.goesOn()
						})
					})
				}
				all.Wait()
				mu.Lock()
				table[w.name] = rows
				mu.Unlock()
			})
		}
	})
	if name := os.Getenv("CRASH_TABLE"); name != "" {
		var b strings.Builder
		for _, w := range walks {
			for _, row := range table[w.name] {
				fmt.Fprintln(&b, row)
			}
		}
		if err := os.WriteFile(name, []byte(b.String()), 0o644); err != nil {
			t.Error(err)
		}
	}
}
