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
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// roles are the children that a shell cannot play: the test binary again, with a role as its first argument.
var roles = map[string]func(args []string){
	"descriptors": playDescriptors,
	"eater":       playEater,
	"flood":       playFlood,
	"hopper":      playHopper,
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

// playHopper forks and ends, and so does its child, each in a session of its own, as long as a directory exists. Each adds
// a byte to the file marks in it. No runtime is needed for what the children do: system calls only.
func playHopper(args []string) {
	dir, err := unix.BytePtrFromString(args[0])
	fd, ferr := unix.Open(args[0]+"/marks", unix.O_WRONLY|unix.O_CREAT|unix.O_APPEND, 0o600)
	if err != nil || ferr != nil {
		panic("no marks")
	}
	signal.Ignore(syscall.SIGTERM)
	hop(uintptr(unsafe.Pointer(dir)), uintptr(fd))
	runtime.KeepAlive(dir)
}

//go:norace
//go:nosplit
func hop(dir, fd uintptr) {
	for {
		if _, _, gone := syscall.RawSyscall6(syscall.SYS_FACCESSAT, ^uintptr(99), dir, 0, 0, 0, 0); gone != 0 {
			syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 0, 0, 0)
		}
		syscall.RawSyscall(syscall.SYS_SETSID, 0, 0, 0)
		syscall.RawSyscall(syscall.SYS_WRITE, fd, dir, 1)
		if pid, _, _ := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0); pid != 0 {
			syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 0, 0, 0)
		}
	}
}

// playPolite adds to a file when it is ready, prints when TERM reaches it, in nanoseconds of the wall clock, and ends.
func playPolite(args []string) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGTERM)
	if err := os.WriteFile(args[0], []byte("\n"), 0o600); err != nil {
		panic(err)
	}
	<-c
	fmt.Println(time.Now().UnixNano())
}

// playTool is a tool that runs a shell script with a marker, tells the pids of its guardian and child, stops them on USR1, and
// tells how that ended and how long it took.
func playTool(args []string) {
	p, err := Start(context.Background(), Command{
		Argv: []string{"/bin/sh", "-c", args[1]}, Dir: "/", Env: os.Environ(), Marker: args[0], Grace: 300 * time.Millisecond,
	})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	go func() { _, _ = io.Copy(os.Stdout, p.Stdout) }()
	go func() { _, _ = io.Copy(os.Stdout, p.Stderr) }()
	e, _ := look(p.PID())
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGUSR1)
	fmt.Println("tool", e.ppid, e.pid)
	<-c
	began := time.Now()
	p.Stop()
	x := p.Wait()
	fmt.Println("end", x.Signal, x.ByUs, len(x.Remaining), time.Since(began).Milliseconds())
}
