package proc

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
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

// roles are the children that a shell cannot play: the test binary again, with a role as its first argument.
var roles = map[string]func(args []string){
	"descriptors": playDescriptors,
	"eater":       playEater,
	"flood":       playFlood,
	"headless":    playHeadless,
	"polite":      playPolite,
	"tool":        playTool,
}

// playDescriptors prints each open descriptor with its status flags.
func playDescriptors([]string) {
	names, _ := filepath.Glob("/proc/self/fd/*")
	for _, name := range names {
		fd, _ := strconv.Atoi(filepath.Base(name))
		to, err := os.Readlink(name)
		if err != nil || strings.HasPrefix(to, "anon_inode:") || strings.HasPrefix(to, "/proc/") || strings.HasPrefix(to, "/sys/") {
			continue // of this Go program itself
		}
		flags, _ := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
		fmt.Printf("%d %s nonblock=%t\n", fd, strings.TrimRight(to, "0123456789[]:"), flags&unix.O_NONBLOCK != 0)
	}
}

// playEater holds so many MiB and burns CPU for so many milliseconds.
func playEater(args []string) {
	mib, _ := strconv.Atoi(args[0])
	ms, _ := strconv.Atoi(args[1])
	b := bytes.Repeat([]byte{1}, mib<<20)
	for end := time.Now().Add(time.Duration(ms) * time.Millisecond); time.Now().Before(end); {
		b[len(b)/2]++
	}
	runtime.KeepAlive(b)
}

// playFlood writes so many bytes to both outputs, and ends while the last of them are in the pipe.
func playFlood(args []string) {
	n, _ := strconv.ParseInt(args[0], 10, 64)
	_, _ = io.CopyN(os.Stdout, &pattern{}, n)
	_, _ = io.CopyN(os.Stderr, &pattern{}, n)
}

// pattern is an endless source that a lost or doubled block would disturb.
type pattern struct{ at int }

func (s *pattern) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte('a' + s.at%23)
		s.at++
	}
	return len(p), nil
}

// playHeadless ends its main thread and runs on in another: the kernel shows it as a zombie.
func playHeadless([]string) {
	// TestMain runs on the main thread only by chance, so look for it.
	for range 100 {
		left := make(chan bool)
		go func() {
			runtime.LockOSThread()
			if unix.Gettid() == os.Getpid() {
				left <- true
				_, _, _ = syscall.RawSyscall(syscall.SYS_EXIT, 0, 0, 0)
			}
			left <- false
			select {}
		}()
		if <-left {
			fmt.Println("ready")
			select {}
		}
	}
}

// playPolite says when it is ready and when TERM reaches it, in nanoseconds of the wall clock, and ends by it.
func playPolite([]string) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGTERM)
	fmt.Println("ready")
	<-c
	fmt.Println(time.Now().UnixNano())
}

// playTool is a tool that runs a shell script with a marker, tells the pids of its guardian and child, and waits.
func playTool(args []string) {
	p, err := Start(context.Background(), Command{
		Argv: []string{"/bin/sh", "-c", args[1]}, Dir: "/", Env: os.Environ(), Marker: args[0], Grace: 3 * time.Second,
	})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	go func() { _, _ = io.Copy(os.Stdout, p.Stdout) }()
	go func() { _, _ = io.Copy(os.Stdout, p.Stderr) }()
	e, _ := look(p.PID())
	fmt.Println("tool", e.ppid, e.pid)
	p.Wait()
}

var counter atomic.Int64

// A trial is one run in a test. Token is a number, so that it can stand in the arguments of sleep, and is in the command line
// of every process that matters; Marker is in the environment of those that keep theirs.
type trial struct {
	*Process
	keeper         int // the pid of the guardian
	t              *testing.T
	token, marker  string
	stdout, stderr chan []byte
}

func newTrial(t *testing.T) *trial {
	t.Helper()
	n := fmt.Sprintf("%d%04d", os.Getpid(), counter.Add(1))
	return &trial{t: t, token: "7" + n, marker: "trial-" + n, stdout: make(chan []byte, 1), stderr: make(chan []byte, 1)}
}

// command runs a script in which TOKEN stands for the token. A script without it is not found when it is left over.
func (tr *trial) command(script string) Command {
	return Command{
		Argv: []string{"/bin/sh", "-c", strings.ReplaceAll(script, "TOKEN", tr.token)},
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

// within waits for the end and checks its time.
func (tr *trial) within(d time.Duration) Exit {
	tr.t.Helper()
	began := time.Now()
	select {
	case <-tr.Done():
	case <-time.After(d + 20*time.Second):
		tr.t.Fatalf("not done %v after its time", 20*time.Second)
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
