package proc

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestStarter: the starter of a session is told from deep below its leader, and is not the leader.
func TestStarter(t *testing.T) {
	if os.Getenv("STARTER_TELL") != "" {
		id, ok := Starter()
		fmt.Printf("STARTER %d %v %v %v\n", id.PID, ok, id.Lives(), SessionOf(0) == os.Getpid())
		return
	}
	cmd := exec.Command("/bin/sh", "-c", `"$0" -test.run='^TestStarter$'; true`, os.Args[0])
	cmd.Env = append(os.Environ(), "STARTER_TELL=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := cmd.Output()
	if want := fmt.Sprintf("STARTER %d true true false\n", os.Getpid()); err != nil || !strings.Contains(string(out), want) {
		t.Errorf("%v: %q, want %q", err, out, want)
	}
}

func TestOf(t *testing.T) {
	if id, ok := Of(os.Getpid()); !ok || id != Self() || !id.Lives() {
		t.Errorf("%+v %v, want %+v", id, ok, Self())
	}
	cmd := exec.Command("/bin/true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for {
		if e, ok := look(cmd.Process.Pid); !ok || e.dead { // not waited for, it is there
			break
		}
		time.Sleep(time.Millisecond)
	}
	if id, ok := Of(cmd.Process.Pid); ok {
		t.Errorf("a zombie is %+v", id)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if id, ok := Of(cmd.Process.Pid); ok {
		t.Errorf("a process that has gone is %+v", id)
	}
	if SessionOf(os.Getpid()) != SessionOf(0) {
		t.Errorf("session %d and %d", SessionOf(os.Getpid()), SessionOf(0))
	}
}
