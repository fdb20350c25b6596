package proc

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The leader's end does not make its other threads dead.
func TestProcessWhoseMainThreadEnded(t *testing.T) {
	tr := newTrial(t)
	tr.start(context.Background(), tr.role("headless"))
	until(t, settle, func() bool {
		b := make([]byte, 1024)
		n, _ := readFile("/proc/"+itoa(tr.PID())+"/stat", b)
		return strings.Contains(string(b[:n]), ") Z ")
	}, func() string { return "the main thread does not end" })
	time.Sleep(100 * time.Millisecond)
	if closed(tr.Exited()) {
		t.Fatal("taken for dead")
	}
	tr.Stop()
	if x := tr.within(1300 * time.Millisecond); x.Signal == "" || !x.ByUs {
		t.Errorf("%+v", x)
	}
	tr.nothingLeft()
}

// Trees that grow while they are killed. Each process leaves a mark in $T, and none starts when $T is gone.
func TestStorm(t *testing.T) {
	const hop = `[ -d $T ] || exit; echo >>$T/marks; trap "" TERM; `
	for _, c := range []struct{ name, script string }{
		// Each process starts its successor and ends: there is never a pid that lasts.
		{"hopping", `S='` + hop + `sh -c "$S" TOKEN & exit'; export S; sh -c "$S" TOKEN & exec sleep 100.TOKEN`},
		{"hopping sessions", `S='` + hop + `setsid sh -c "$S" TOKEN & exit'; export S; sh -c "$S" TOKEN & exec sleep 100.TOKEN`},
		{"hopping without environment", `cat >$T/s <<'E'
` + hop + `
env -i T=$T setsid sh $T/s TOKEN &
exit
E
sh $T/s TOKEN & exec sleep 100.TOKEN`},
		{"hopping without exec", `"$SELF" hopper $T & exec sleep 100.TOKEN`},
		// Every process starts two, four deep, again and again.
		{"bushy", `S='` + hop + `n=$1; while [ -d $T ]; do [ $n -gt 0 ] && sh -c "$S" s $((n-1)) TOKEN & [ $n -gt 0 ] && sh -c "$S" s $((n-1)) TOKEN & wait; [ $n -gt 0 ] || { sleep 0.02; exit; }; done'; export S; exec sh -c "$S" s 4 TOKEN`},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir() + "/T"
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(dir) // before anything else: a storm that goes on ends with it
			tr := newTrial(t)
			cmd := tr.command(c.script)
			cmd.Env = append(cmd.Env, "T="+dir, "SELF="+tr.role().Argv[0])
			cmd.Grace = 100 * time.Millisecond
			tr.start(context.Background(), cmd)
			marks := func() int64 {
				st, err := os.Stat(dir + "/marks")
				if err != nil {
					return 0
				}
				return st.Size()
			}
			until(t, settle, func() bool { return marks() >= 20 }, func() string { return "the storm does not rise" })
			tr.Stop()
			x := tr.within(3 * time.Second)
			if x.Remaining != nil {
				t.Errorf("%+v", x)
			}
			n := marks()
			time.Sleep(100 * time.Millisecond)
			if more := marks() - n; more > 0 {
				t.Errorf("the storm goes on: %d processes more", more)
			}
			tr.nothingLeft()
			t.Logf("%d processes", n)
		})
	}
}

// The processes that the tool starts by other means are none of our business: not to kill, not to wait for.
func TestOtherChildrenAreSpared(t *testing.T) {
	other := exec.Command("/bin/sh", "-c", "sleep 0.8; exit 9")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	spared[other.Process.Pid] = true
	for _, end := range []func(*trial){
		func(tr *trial) { tr.Stop() },
		func(tr *trial) { _ = syscall.Kill(tr.guardian(), syscall.SIGKILL) },
	} {
		tr := script(t, "setsid sleep 100.TOKEN & exec sleep 100.TOKEN")
		beside := script(t, "exec sleep 100.TOKEN")
		tr.await(2)
		later := exec.Command("/bin/sh", "-c", "sleep 100; exit 9")
		if err := later.Start(); err != nil {
			t.Fatal(err)
		}
		spared[later.Process.Pid] = true
		end(tr)
		tr.within(1500 * time.Millisecond)
		if gone(later.Process.Pid) {
			t.Error("a younger child of the tool is dead")
		}
		_ = later.Process.Kill()
		if err := later.Wait(); later.ProcessState == nil {
			t.Errorf("its status is lost: %v", err)
		}
		tr.token, beside.token = beside.token, tr.token
		if l := tr.left(); len(l) != 1 {
			t.Errorf("the run beside: %v, want one process", l)
		}
		beside.Kill()
		if x := beside.within(time.Second); !x.ByUs {
			t.Errorf("%+v", x)
		}
	}
	if err := other.Wait(); other.ProcessState.ExitCode() != 9 {
		t.Errorf("the other child: %v, want exit 9", err)
	}
}
