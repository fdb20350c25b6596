package proc

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if exit, ok := Main(os.Args); ok {
		os.Exit(exit)
	}
	if len(os.Args) > 1 {
		if play, ok := roles[os.Args[1]]; ok {
			play(os.Args[2:])
			os.Exit(0)
		}
	}
	// The race detector's runtime would let each process of these tests sleep for a second at its end.
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	os.Exit(m.Run())
}

var counter atomic.Int64

// A trial is one run in a test. Token is a number, so that it can stand in the arguments of sleep, and is in the command line
// of every process that matters; Marker is in the environment of those that keep theirs.
type trial struct {
	*Process
	keeper         int // the pid of the guardian
	t              *testing.T
	token, marker  string
	file           string // READY: each line in it is a process that is what it is to be
	stdout, stderr chan []byte
}

func newTrial(t *testing.T) *trial {
	t.Helper()
	n := fmt.Sprintf("%d%04d", os.Getpid(), counter.Add(1))
	return &trial{t: t, file: t.TempDir() + "/ready", token: "7" + n, marker: "trial-" + n, stdout: make(chan []byte, 1), stderr: make(chan []byte, 1)}
}

// command runs a script in which TOKEN stands for the token, and READY for a file to which a process that is ready adds a line.
// A script without TOKEN is not found when it is left over.
func (tr *trial) command(script string) Command {
	return Command{
		Argv: []string{"/bin/sh", "-c", strings.NewReplacer("TOKEN", tr.token, "READY", tr.file).Replace(script)},
		Dir:  "/", Env: os.Environ(), Marker: tr.marker, Grace: 300 * time.Millisecond,
	}
}

func (tr *trial) role(args ...string) Command {
	c := tr.command("")
	exe, err := os.Executable()
	if err != nil {
		tr.t.Fatal(err)
	}
	c.Argv = append([]string{exe}, append(args, tr.token)...)
	return c
}

func (tr *trial) start(ctx context.Context, c Command) *trial {
	tr.t.Helper()
	p, err := Start(ctx, c)
	if err != nil {
		tr.t.Fatal(err)
	}
	tr.Process = p
	if e, ok := look(p.PID()); ok && e.ppid != os.Getpid() {
		tr.keeper = e.ppid
	}
	tr.t.Cleanup(func() {
		p.Kill()
		p.Wait()
		Sweep(context.Background(), tr.marker, 0)
	})
	go collect(p.Stdout, tr.stdout)
	go collect(p.Stderr, tr.stderr)
	return tr
}

func collect(r io.Reader, to chan<- []byte) {
	b, err := io.ReadAll(r)
	if err != nil {
		b = append(b, "\nread error: "+err.Error()...)
	}
	to <- b
}

func script(t *testing.T, s string) *trial {
	t.Helper()
	tr := newTrial(t)
	return tr.start(context.Background(), tr.command(s))
}

// guardian is the pid of the child's parent.
func (tr *trial) guardian() int {
	tr.t.Helper()
	e, ok := look(tr.PID())
	if !ok {
		tr.t.Fatal("the child is not there")
	}
	return e.ppid
}

// awaits n processes with the token in their command line.
func (tr *trial) await(n int) {
	tr.t.Helper()
	until(tr.t, settle, func() bool { return len(tr.left()) >= n }, func() string {
		return fmt.Sprintf("%d processes, want %d: %v", len(tr.left()), n, tr.left())
	})
}

// awaitReady waits until n processes are.
func (tr *trial) awaitReady(n int) *trial {
	tr.t.Helper()
	until(tr.t, settle, func() bool {
		b, _ := os.ReadFile(tr.file)
		return bytes.Count(b, []byte("\n")) >= n
	}, func() string { return fmt.Sprintf("not %d processes are ready: %v", n, tr.left()) })
	return tr
}

// left lists what lives of the trial, by command line and by environment, read without the code under test.
func (tr *trial) left() []string {
	var list []string
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if pid == os.Getpid() {
			continue
		}
		line, _ := os.ReadFile(dir + "/cmdline")
		env, _ := os.ReadFile(dir + "/environ")
		status, _ := os.ReadFile(dir + "/status")
		if bytes.Contains(line, []byte(tr.token)) || bytes.Contains(env, []byte("\x00"+MarkerEnv+"="+tr.marker+"\x00")) ||
			bytes.HasPrefix(env, []byte(MarkerEnv+"="+tr.marker+"\x00")) {
			state, _, _ := strings.Cut(string(status[bytes.Index(status, []byte("State:"))+1:]), "\n")
			list = append(list, fmt.Sprintf("%d %s %q", pid, state, line))
		}
	}
	return list
}

// nothingLeft is the promise: not a process of the run, and no dead child that we did not wait for.
func (tr *trial) nothingLeft() {
	tr.t.Helper()
	if l := tr.left(); len(l) > 0 {
		tr.t.Errorf("left over: %s", strings.Join(l, "\n"))
	}
	if tr.keeper != 0 && strings.Contains(nameOf(tr.keeper), guardianRole) && closed(tr.Done()) {
		if e, ok := look(tr.keeper); ok && e.ppid == os.Getpid() && !e.dead {
			tr.t.Errorf("the guardian is left: %+v", e)
		}
	}
	until(tr.t, time.Second, func() bool { return len(strays()) == 0 }, func() string {
		why := fmt.Sprintf("children of the tool are left: %+v", strays())
		for _, e := range strays() {
			if e.dead { // reported once, not by each test that follows
				_, _ = syscall.Wait4(e.pid, nil, syscall.WNOHANG, nil)
			}
		}
		return why
	})
}

// strays are children of the test process that are neither a guardian nor a fork that has yet to become one, nor spared.
func strays() []entry {
	table, _ := readTable()
	return slices.DeleteFunc(table, func(e entry) bool {
		comm, err := os.ReadFile("/proc/" + itoa(e.pid) + "/comm")
		return e.ppid != os.Getpid() || spared[e.pid] || err != nil || string(comm) == "oc-guardian\n"
	})
}

// spared are children that a test started by other means than this package.
var spared = map[int]bool{}

// patience stretches a bound on a machine that has more to do than processors, in proportion: by the mean of the last minute
// or what can run right now, whichever is more (proc_loadavg(5)). An idle machine is held to the bound itself.
func patience(d time.Duration) time.Duration {
	b, _ := os.ReadFile("/proc/loadavg")
	var minute, five, fifteen float64
	var running int
	_, _ = fmt.Sscanf(string(b), "%g %g %g %d/", &minute, &five, &fifteen, &running)
	return time.Duration(float64(d) * max(1, max(minute, float64(running))/float64(runtime.NumCPU())))
}

// within waits for the end and checks its time.
func (tr *trial) within(d time.Duration) Exit {
	tr.t.Helper()
	began := time.Now()
	d = patience(d)
	select {
	case <-tr.Done():
	case <-time.After(d + settle):
		tr.t.Fatalf("not done %v after its time", settle)
	}
	if took := time.Since(began); took > d {
		tr.t.Errorf("done after %v, want at most %v", took, d)
	}
	return tr.Wait()
}

func until(t *testing.T, d time.Duration, ok func() bool, why func() string) {
	t.Helper()
	for end := time.Now().Add(d); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(why())
		}
	}
}

func itoa(n int) string { return strconv.Itoa(n) }

// settle is how long a busy machine may take to bring about what a test needs.
const settle = 20 * time.Second
