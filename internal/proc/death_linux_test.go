package proc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// escape are daemons of every kind, and a child that ignores TERM. Each adds a line to READY when it is what it is to be.
const escape = `trap "" TERM
setsid sh -c 'echo >>READY; exec sleep 100.TOKEN' &
(setsid sh -c '(echo >>READY; exec sleep 100.TOKEN) & exit' &)
(env -i setsid sh -c 'trap "" TERM; (echo >>READY; while :; do sleep 0.05; done; : TOKEN) & exit' >/dev/null 2>&1 </dev/null &)
env -i setsid sh -c 'trap "" TERM; echo >>READY; while :; do sleep 0.05; done; : TOKEN' &
sh -c 'echo >>READY; kill -STOP $$; sleep 100; : TOKEN' &
echo >>READY; while :; do sleep 0.05; done; : TOKEN`

const escaped = 6

// A tool is another process that runs a script; it can be killed.
type tool struct {
	cmd             *exec.Cmd
	guardian, child int
	says            *bufio.Reader
}

func startTool(t *testing.T, tr *trial, script string) *tool {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// The tool's own command line must not hold the token: it is not a part of the tree.
	cmd := exec.Command(exe, "tool", tr.marker, "eval \"$SCRIPT\"; : ")
	cmd.Env = append(os.Environ(), "SCRIPT="+tr.command(script).Argv[2])
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	spared[cmd.Process.Pid] = true
	to := &tool{cmd: cmd, says: bufio.NewReader(out)}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		Sweep(context.Background(), tr.marker, 0)
	})
	line, err := to.says.ReadString('\n')
	if n, _ := fmt.Sscanf(line, "tool %d %d", &to.guardian, &to.child); n != 2 {
		t.Fatalf("the tool said %q, %v", line, err)
	}
	return to
}

func gone(pid int) bool {
	e, ok := look(pid)
	return !ok || e.dead
}

func TestToolIsKilled(t *testing.T) {
	tr := newTrial(t)
	to := startTool(t, tr, escape)
	tr.awaitReady(escaped)
	if err := to.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = to.cmd.Wait()
	until(t, patience(2*time.Second), func() bool { return len(tr.left()) == 0 && gone(to.guardian) }, func() string {
		return fmt.Sprintf("2 s after the tool, left: %v, guardian %s", tr.left(), nameOf(to.guardian))
	})
	reapAdopted()
	tr.nothingLeft()
}

// reapAdopted takes what came to the test because it is a subreaper itself; init would do it for a tool's parent.
func reapAdopted() {
	table, _ := readTable()
	for _, e := range table {
		if e.ppid == os.Getpid() && e.dead && !spared[e.pid] {
			_, _ = syscall.Wait4(e.pid, nil, syscall.WNOHANG, nil)
		}
	}
}

// When tool and guardian die at once the kernel kills the child, and no more; Sweep finds what kept its environment.
func TestToolAndGuardianAreKilledAtOnce(t *testing.T) {
	tr := newTrial(t)
	to := startTool(t, tr, `setsid sleep 100.TOKEN & trap "" TERM; while :; do sleep 0.05; done; : TOKEN`)
	daemon := func(s Survivor) bool { return s.Name == "sleep 100."+tr.token }
	until(t, settle, func() bool { return slices.ContainsFunc(Marked(tr.marker), daemon) }, func() string { return "no daemon" })
	// Stopped, the guardian cannot act before its own end.
	if err := syscall.Kill(to.guardian, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	until(t, settle, func() bool { e, _ := look(to.guardian); return e.stopped }, func() string { return "the guardian runs on" })
	for _, step := range []error{to.cmd.Process.Kill(), syscall.Kill(to.guardian, syscall.SIGKILL)} {
		if step != nil {
			t.Fatal(step)
		}
	}
	_ = to.cmd.Wait()
	until(t, patience(2*time.Second), func() bool { return gone(to.child) }, func() string { return "the child lives: " + nameOf(to.child) })
	if swept := Sweep(context.Background(), tr.marker, 200*time.Millisecond); !slices.ContainsFunc(swept, daemon) {
		t.Errorf("swept %+v, want the daemon", swept)
	}
	reapAdopted()
	tr.nothingLeft()
}

func TestGuardianIsKilled(t *testing.T) {
	tr := script(t, escape).awaitReady(escaped)
	if err := syscall.Kill(tr.guardian(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	x := tr.within(time.Second)
	if x.ByUs || x.Code != -1 || x.Signal != "SIGKILL" || x.Remaining != nil {
		t.Errorf("%+v", x)
	}
	if len(x.Survivors) < escaped-1 {
		t.Errorf("survivors %+v, want %d", x.Survivors, escaped-1)
	}
	tr.nothingLeft()
}

// Dead at the same moment as a Stop, before it or after.
func TestGuardianIsKilledDuringStop(t *testing.T) {
	for _, after := range []time.Duration{-5, 0, 1, 5, 50} {
		tr := script(t, escape).awaitReady(escaped)
		keeper := tr.guardian()
		if after >= 0 {
			tr.Stop()
			time.Sleep(after * time.Millisecond)
		}
		if err := syscall.Kill(keeper, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		tr.Stop()
		if x := tr.within(1300 * time.Millisecond); x.Signal != "SIGKILL" {
			t.Errorf("%v: %+v", after, x)
		}
		tr.nothingLeft()
	}
}

func TestGuardianIsStopped(t *testing.T) {
	for _, again := range []bool{false, true} {
		t.Run(fmt.Sprintf("again=%t", again), func(t *testing.T) {
			tr := script(t, escape).awaitReady(escaped)
			keeper := tr.guardian()
			stop := func() error { return syscall.Kill(keeper, syscall.SIGSTOP) }
			if err := stop(); err != nil {
				t.Fatal(err)
			}
			if again {
				go func() {
					for stop() == nil && !closed(tr.Done()) {
						time.Sleep(100 * time.Microsecond)
					}
				}()
			}
			tr.Stop()
			if x := tr.within(1300 * time.Millisecond); !x.ByUs || x.Signal != "SIGKILL" || x.Remaining != nil {
				t.Errorf("%+v", x)
			}
			tr.nothingLeft()
			if !gone(keeper) {
				t.Error("the guardian lives")
			}
		})
	}
}

// A guardian that a debugger holds is not woken by CONT. The debugger is the test, an ancestor as Yama asks for.
func TestGuardianIsHeld(t *testing.T) {
	tr := newTrial(t)
	to := startTool(t, tr, escape)
	tr.awaitReady(escaped)
	runtime.LockOSThread() // a tracer is a thread
	defer runtime.UnlockOSThread()
	if err := errors.Join(unix.PtraceSeize(to.guardian), unix.PtraceInterrupt(to.guardian)); err != nil {
		t.Fatal(err)
	}
	until(t, settle, func() bool { e, _ := look(to.guardian); return e.stopped }, func() string { return "the guardian runs on" })
	if err := to.cmd.Process.Signal(syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	for ended := false; !ended; { // the dead are the tracer's before they are the parent's
		var ws syscall.WaitStatus
		if _, err := syscall.Wait4(to.guardian, &ws, unix.WALL, nil); err != nil {
			t.Fatal(err)
		}
		ended = ws.Exited() || ws.Signaled()
	}
	line, err := to.says.ReadString('\n')
	var sig string
	var byUs bool
	var remaining, took int
	if n, _ := fmt.Sscanf(line, "end %s %t %d %d", &sig, &byUs, &remaining, &took); n != 4 || sig != "SIGKILL" || !byUs || remaining != 0 || took > int(patience(1300*time.Millisecond).Milliseconds()) {
		t.Errorf("the tool said %q, %v", line, err)
	}
	_ = to.cmd.Wait()
	tr.nothingLeft()
}

// A child that ended by itself, unknown to us, before we wanted it to end.
func TestStopAfterAnUnreportedEnd(t *testing.T) {
	tr := script(t, "exec sleep 100.TOKEN")
	child := tr.PID()
	for _, err := range []error{syscall.Kill(tr.guardian(), syscall.SIGSTOP), syscall.Kill(child, syscall.SIGSEGV)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	until(t, settle, func() bool { return gone(child) }, func() string { return "the child lives" })
	tr.Stop()
	if x := tr.within(1300 * time.Millisecond); x.ByUs || x.Signal != "SIGSEGV" {
		t.Errorf("%+v", x)
	}
	tr.nothingLeft()
}

func TestGuardianHeedsOnlyKill(t *testing.T) {
	tr := script(t, "sleep 0.3; exit 4; : TOKEN")
	keeper := tr.guardian()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGALRM, syscall.SIGTSTP} {
		if err := syscall.Kill(keeper, sig); err != nil {
			t.Fatal(err)
		}
	}
	if x := tr.within(3 * time.Second); x.Code != 4 || x.ByUs {
		t.Errorf("%+v", x)
	}
	tr.nothingLeft()
}

// A group signal by the child (`kill 0`) reaches neither the guardian nor us.
func TestChildSignalsItsGroup(t *testing.T) {
	tr := script(t, "sleep 100.TOKEN & kill -KILL 0")
	if x := tr.within(2 * time.Second); x.Signal != "SIGKILL" || x.ByUs {
		t.Errorf("%+v", x)
	}
	tr.nothingLeft()
}

// A worker that kills its parent, of which it knows nothing, does not escape.
func TestChildKillsItsGuardian(t *testing.T) {
	tr := script(t, `env -i setsid sh -c 'while :; do sleep 0.05; done; : TOKEN' & sleep 0.1; kill -KILL $PPID; sleep 100.TOKEN`)
	if x := tr.within(3 * time.Second); x.Remaining != nil || x.ByUs {
		t.Errorf("%+v", x)
	}
	tr.nothingLeft()
}
