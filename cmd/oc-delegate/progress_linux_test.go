package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// terminal returns both ends of a pseudo-terminal.
func terminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetUint32(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return master, slave
}

// On a terminal there is a live line, and nothing of it is left at the end; elsewhere there is none.
func TestProgressOnATerminal(t *testing.T) {
	p := fakePlace(t, "OC_FAKE=cost:6:400", "TERM=xterm")
	master, slave := terminal(t)
	cmd := p.command("", "x")
	cmd.Stderr = slave
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	seen := make(chan string)
	go func() {
		data, _ := io.ReadAll(master) // ends with EIO when the last slave is closed
		seen <- string(data)
	}()
	cmd.Wait()
	text := <-seen
	if strings.Count(text, "s step ") < 2 || !strings.Contains(text, "tokens") || !strings.Contains(text, "\r\x1b[K") {
		t.Errorf("no live line in %q", text)
	}
	if strings.Contains(text, "\x1b]") || strings.Contains(text, "\x1b[6n") {
		t.Errorf("the terminal was asked something: %q", text)
	}
	last := text[strings.LastIndex(text, "\x1b[K"):]
	if strings.Contains(last, "step") && !strings.HasPrefix(last, "\x1b[KOC_SIGNAL") || !strings.Contains(last, "OC_SIGNAL {") {
		t.Errorf("the live line is left: %q", last)
	}

	o := p.run("x")
	if strings.Contains(o.stderr, "\x1b") || strings.Contains(o.stderr, "step") && !strings.HasPrefix(o.stderr, "OC_SIGNAL") {
		t.Errorf("progress where nobody looks: %q", o.stderr)
	}
	if o := p.run("x", "--progress", "plain"); strings.Count(o.stderr, "\n") < 5 || !strings.Contains(o.stderr, "s read a.txt") {
		t.Errorf("plain progress: %q", o.stderr)
	}
}

// A terminal that answers nothing delays nothing.
func TestTerminalIsNotAsked(t *testing.T) {
	master, slave := terminal(t)
	cmd := exec.Command(program(t), "--version")
	cmd.Env = []string{"TERM=xterm-256color", "HOME=" + t.TempDir()}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	text, _ := io.ReadAll(master) // ends with EIO
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if d := time.Since(start); d > 2*time.Second || strings.Contains(string(text), "\x1b") || !strings.HasPrefix(string(text), "oc-delegate ") {
		t.Errorf("%v: %q", d, text)
	}
}
