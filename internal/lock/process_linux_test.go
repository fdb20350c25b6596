package lock

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain lets this binary be a process that holds a lock.
func TestMain(m *testing.M) {
	path := os.Getenv("LOCK_TEST_PATH")
	switch os.Getenv("LOCK_TEST_ROLE") {
	case "hold": // until it is killed or stdin ends
		l, err := Try(path)
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("held")
		bufio.NewReader(os.Stdin).ReadByte()
		fmt.Println(time.Now().UnixNano())
		l.Release()
		os.Exit(0)
	case "leave": // a child that lives on, with every descriptor that it inherits
		if _, err := Try(path); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		child := exec.Command("sleep", "60")
		if err := child.Start(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(child.Process.Pid)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func role(t *testing.T, name, path string) (cmd *exec.Cmd, out *bufio.Reader, say func()) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd = exec.Command(self)
	cmd.Env = append(os.Environ(), "LOCK_TEST_ROLE="+name, "LOCK_TEST_PATH="+path, "GORACE=atexit_sleep_ms=0")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd, bufio.NewReader(stdout), func() { in.Close() }
}

func line(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	s, err := r.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(s)
}

func TestTheLockIsExclusiveBetweenProcessesAndEndsWithItsHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lease")
	cmd, out, _ := role(t, "hold", path)
	if s := line(t, out); s != "held" {
		t.Fatal(s)
	}
	if held, err := Held(path); !held || err != nil {
		t.Errorf("held %v, %v", held, err)
	}
	if _, err := Try(path); !errors.Is(err, ErrHeld) {
		t.Errorf("%v", err)
	}
	freed := make(chan time.Time, 1)
	go func() {
		if err := Free(t.Context(), path); err != nil {
			t.Error(err)
		}
		freed <- time.Now()
	}()
	// A process that is stopped holds what it held.
	cmd.Process.Signal(syscall.SIGSTOP)
	time.Sleep(50 * time.Millisecond)
	if held, _ := Held(path); !held {
		t.Error("a stopped process lost its lock")
	}
	killed := time.Now()
	cmd.Process.Kill()
	cmd.Wait()
	select {
	case at := <-freed:
		if at.Before(killed) || at.Sub(killed) > time.Second {
			t.Errorf("freed %v after the kill", at.Sub(killed))
		}
	case <-time.After(5 * time.Second):
		t.Fatal("the end of the holder was not seen")
	}
	// For a moment a process that another test starts at this time holds whatever was open here.
	soon, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	l, err := Take(soon, path)
	if err != nil {
		t.Fatal(err)
	}
	l.Release()
}

func cpu(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// The end is heard in the moment in which it comes, and nothing is done before.
func TestFreeWaitsWithoutWork(t *testing.T) {
	dir := t.TempDir()
	var late []time.Duration
	for i := range 9 {
		path := filepath.Join(dir, fmt.Sprint("lease", i))
		l, err := Try(path)
		if err != nil {
			t.Fatal(err)
		}
		released := make(chan time.Time, 1)
		time.AfterFunc(30*time.Millisecond, func() { released <- time.Now(); l.Release() })
		if err := Free(t.Context(), path); err != nil {
			t.Fatal(err)
		}
		late = append(late, time.Since(<-released))
	}
	slices.Sort(late)
	if median := late[len(late)/2]; median > 5*time.Millisecond {
		t.Errorf("median latency %v of %v", median, late)
	}

	_, out, end := role(t, "hold", filepath.Join(dir, "long"))
	if s := line(t, out); s != "held" {
		t.Fatal(s)
	}
	done := make(chan error, 20)
	for range cap(done) {
		go func() { done <- Free(t.Context(), filepath.Join(dir, "long")) }()
	}
	time.Sleep(100 * time.Millisecond)
	before := cpu(t)
	time.Sleep(500 * time.Millisecond)
	if spent := cpu(t) - before; spent > 25*time.Millisecond {
		t.Errorf("twenty who wait spent %v in half a second", spent)
	}
	end()
	for range cap(done) {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func TestNoChildInheritsTheLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lease")
	cmd, out, _ := role(t, "leave", path)
	var child int
	if _, err := fmt.Sscan(line(t, out), &child); err != nil {
		t.Fatal(err)
	}
	defer syscall.Kill(child, syscall.SIGKILL)
	cmd.Wait()
	if err := syscall.Kill(child, 0); err != nil {
		t.Fatalf("the child does not live: %v", err)
	}
	if held, err := Held(path); held || err != nil {
		t.Errorf("the child holds the lock: %v, %v", held, err)
	}
}

// A directory that cannot be written can be asked. Where root may write everywhere, the files at least are not.
func TestAReadOnlyDirectoryCanBeAsked(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "lease")
	l, err := Try(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release()
	os.Chmod(path, 0o400)
	os.Chmod(dir, 0o500)
	defer os.Chmod(dir, 0o700)
	if held, err := Held(path); !held || err != nil {
		t.Errorf("held %v, %v", held, err)
	}
	if held, err := Held(path + "2"); held || err != nil {
		t.Errorf("a missing one: held %v, %v", held, err)
	}
}

func TestAskingLeavesNothingOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lease")
	l, err := Try(path)
	if err != nil {
		t.Fatal(err)
	}
	open := func() int {
		names, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(names)
	}
	before := open()
	for range 100 {
		_, _ = Held(path)
		_, _ = Try(path)
	}
	l.Release()
	for range 100 {
		_ = Free(t.Context(), path)
		if l, err := Try(path); err == nil {
			l.Release()
		}
	}
	if n := open(); n > before+20 { // other tests may have opened some
		t.Errorf("%d files are open, %d were before", n, before)
	}
}

// A pipe in place of a lock has nobody at its other end.
func TestAPipeHangsNobody(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lease")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if held, err := Held(path); held || err == nil {
			t.Errorf("held %v, %v", held, err)
		}
		if _, err := Try(path); err == nil || errors.Is(err, ErrHeld) {
			t.Errorf("taken: %v", err)
		}
		if err := Free(t.Context(), path); err == nil {
			t.Error("free")
		}
	}()
	select {
	case <-done:
	case <-time.After(2 * time.Second):
		t.Fatal("a pipe is waited for")
	}
}
