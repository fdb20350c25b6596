package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/sys/unix"

	"opencode-delegate/internal/fault"
)

// TestMain is the view itself when a test below starts this binary again on a terminal.
func TestMain(m *testing.M) {
	if kind := os.Getenv("OC_WATCH_TEST"); kind != "" {
		os.Exit(child(kind))
	}
	os.Exit(m.Run())
}

// What the child exits with.
const (
	exitEnded  = 30
	exitUsage  = 31
	exitFailed = 32
)

func child(kind string) int {
	var mu sync.Mutex
	state := "running"
	src := Source{
		Jobs: func() ([]Row, error) {
			mu.Lock()
			defer mu.Unlock()
			return []Row{{ID: "20261129-newest", State: state, Task: "翻訳する"}, {ID: "20261129-oldest", State: "succeeded", Task: "evil\x1b]0;title\a"}}, nil
		},
		Log: func(ctx context.Context, id string, w io.Writer) error {
			for i := 0; ctx.Err() == nil; i++ {
				if _, err := fmt.Fprintf(w, "%s-wrote-%d\x1b[31m\n", id, i); err != nil {
					return err
				}
				if kind == "flood" {
					fmt.Fprintln(w, strings.Repeat(string(rune('a'+i%26)), 70))
					continue
				}
				time.Sleep(50 * time.Millisecond)
			}
			return ctx.Err()
		},
		Cancel: func(context.Context, string) error {
			mu.Lock()
			defer mu.Unlock()
			state = "cancelled"
			return nil
		},
	}
	ctx := context.Background()
	if kind == "deadline" {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, 500*time.Millisecond)
		defer cancel()
	}
	err := Run(ctx, os.Stdin, os.Stdout, src)
	var f *fault.Error
	switch {
	case err == nil:
		return 0
	case errors.As(err, &f) && f.Kind == fault.Usage:
		return exitUsage
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return exitEnded
	}
	fmt.Fprintln(os.Stderr, err)
	return exitFailed
}

// A place is a terminal that answers no question, with a view on it.
type place struct {
	t             *testing.T
	master, slave *os.File
	cmd           *exec.Cmd
	before        unix.Termios
	ended         chan error

	mu   sync.Mutex
	text string
	from int
	deaf bool // the terminal takes no more output
}

func start(t *testing.T, kind string, environ ...string) *place {
	t.Helper()
	p := &place{t: t, ended: make(chan error, 1)}
	var err error
	if p.master, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.master.Close() })
	if err := unix.IoctlSetPointerInt(int(p.master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetUint32(int(p.master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if p.slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.slave.Close() })
	p.resize(80, 24)
	p.before = p.modes()
	p.cmd = exec.Command(os.Args[0])
	p.cmd.Env = append([]string{"TERM=xterm-256color", "OC_WATCH_TEST=" + kind}, environ...)
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = p.slave, p.slave, p.slave
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.cmd.Process.Kill() })
	go func() { p.ended <- p.cmd.Wait() }()
	go p.read()
	return p
}

func (p *place) read() {
	b := make([]byte, 4096)
	for {
		p.mu.Lock()
		deaf := p.deaf
		p.mu.Unlock()
		if deaf {
			return
		}
		n, err := p.master.Read(b)
		p.mu.Lock()
		p.text += string(b[:n])
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (p *place) drawn() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text
}

func (p *place) modes() unix.Termios {
	p.t.Helper()
	m, err := unix.IoctlGetTermios(int(p.slave.Fd()), unix.TCGETS)
	if err != nil {
		p.t.Fatal(err)
	}
	return *m
}

func (p *place) resize(width, height uint16) {
	p.t.Helper()
	if err := unix.IoctlSetWinsize(int(p.master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: width, Row: height}); err != nil {
		p.t.Fatal(err)
	}
}

// see waits until each of the texts was drawn, since the last time that something was seen.
func (p *place) see(texts ...string) string {
	p.t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		p.mu.Lock()
		drawn := p.text[p.from:]
		all := true
		for _, text := range texts {
			all = all && (strings.Contains(drawn, text) || strings.Contains(ansi.Strip(drawn), text))
		}
		if all {
			p.from = len(p.text)
		}
		p.mu.Unlock()
		if all {
			return drawn
		}
		if time.Now().After(end) {
			p.t.Fatalf("no %q at the end of %q", texts, drawn[max(len(drawn)-2000, 0):])
		}
	}
}

func (p *place) press(keys string) {
	p.t.Helper()
	if _, err := p.master.WriteString(keys); err != nil {
		p.t.Fatal(err)
	}
}

// exits waits for the end and holds the terminal to what it was.
func (p *place) exits(code int) {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(20 * time.Second):
		p.t.Fatalf("the view does not end; drawn: %q", p.drawn())
	}
	if got := p.cmd.ProcessState.ExitCode(); got != code {
		p.t.Errorf("exit %d, want %d: %q", got, code, p.drawn())
	}
	if after := p.modes(); after != p.before {
		p.t.Errorf("the terminal is left with %+v, was %+v", after, p.before)
	}
}

// gaveBack holds the screen to what it was: each mode that was set is reset, the last of each kind.
func (p *place) gaveBack() {
	p.t.Helper()
	p.see("\x1b[?1049l")
	time.Sleep(50 * time.Millisecond)
	drawn := p.drawn()
	for on, off := range map[string]string{"\x1b[?1049h": "\x1b[?1049l", "\x1b[?25l": "\x1b[?25h", "\x1b[?2004h": "\x1b[?2004l"} {
		if strings.LastIndex(drawn, on) < 0 || strings.LastIndex(drawn, off) < strings.LastIndex(drawn, on) {
			p.t.Errorf("%q is not followed by %q in %q", on, off, drawn)
		}
	}
}

func TestOnATerminal(t *testing.T) {
	begin := time.Now()
	p := start(t, "view")
	p.see("\x1b[?1049h", "20261129-newest", "running", "翻訳する", "20261129-oldest", "succeeded", "evil", "q quit")
	if d := time.Since(begin); d > 3*time.Second {
		t.Errorf("the first picture took %v: a terminal that answers nothing holds it up", d)
	}
	if p.modes() == p.before {
		t.Error("the terminal still waits for whole lines")
	}
	if drawn := p.drawn(); strings.Contains(drawn, "title") || strings.Contains(drawn, "\a") {
		t.Errorf("a job's text acts on the terminal: %q", drawn)
	}

	p.press("\x1b[B\r") // down, enter
	p.see("20261129-oldest-wrote-0", "20261129-oldest-wrote-3", "live")
	p.see("wrote-8")
	p.press("\x1b[5~\x1b") // page up, escape
	p.see("20261129-newest", "enter log")
	p.press("kl") // up, open
	p.see("20261129-newest-wrote-1")
	p.press("\x1b[D") // left
	p.see("enter log")

	p.press("c")
	p.see("cancel?")
	p.press("y")
	p.see("has", "ended", "cancelled")

	p.resize(60, 10)
	p.see("20261129-newest", "翻訳する")
	p.press("q")
	p.exits(0)
	p.gaveBack()
}

// Nothing is drawn while nothing changes.
func TestStillnessCostsNothing(t *testing.T) {
	p := start(t, "view")
	p.see("20261129-newest", "q quit")
	time.Sleep(300 * time.Millisecond)
	before := len(p.drawn())
	time.Sleep(2500 * time.Millisecond) // the jobs are asked for twice
	if drawn := p.drawn()[before:]; drawn != "" {
		t.Errorf("%q was drawn", drawn)
	}
	p.press("\x03") // ctrl-c
	p.exits(0)
	p.gaveBack()
}

func TestSignals(t *testing.T) {
	for _, signal := range []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		p := start(t, "view")
		p.see("q quit")
		p.press("\r")
		p.see("wrote-1")
		if err := p.cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		p.exits(exitEnded)
		p.gaveBack()
	}
	p := start(t, "deadline")
	p.exits(exitEnded)
	p.gaveBack()
}

// A terminal whose other end takes no more output cannot keep the view from ending.
func TestStuckTerminal(t *testing.T) {
	p := start(t, "flood")
	p.see("q quit")
	p.press("\r")
	p.see("wrote-")
	p.mu.Lock()
	p.deaf = true
	p.mu.Unlock()
	// It is filled up by another writer, so that the view's next write surely waits.
	fd, err := unix.Open(p.slave.Name(), unix.O_WRONLY|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	for full := 0; full < 10; {
		if _, err := unix.Write(fd, []byte(strings.Repeat("x", 100))); err == unix.EAGAIN {
			full++
			time.Sleep(50 * time.Millisecond)
		} else if err != nil {
			t.Fatal(err)
		} else {
			full = 0
		}
	}
	begin := time.Now()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.exits(exitEnded)
	if d := time.Since(begin); d > patience+3*time.Second {
		t.Errorf("it took %v", d)
	}
}

func TestColours(t *testing.T) {
	p := start(t, "view")
	if drawn := p.see("running", "succeeded", "q quit"); !strings.Contains(drawn, "32m") {
		t.Errorf("no green: %q", drawn)
	}
	p.press("q")
	p.exits(0)
	p = start(t, "view", "NO_COLOR=yes")
	drawn := p.see("running", "succeeded", "q quit")
	for _, colour := range []string{"31", "32", "33", "36", "38"} {
		if strings.Contains(drawn, "["+colour+"m") || strings.Contains(drawn, ";"+colour+"m") || strings.Contains(drawn, "["+colour+";") || strings.Contains(drawn, ";"+colour+";") {
			t.Errorf("colour %s: %q", colour, drawn)
		}
	}
	if !strings.Contains(drawn, "\x1b[7m") {
		t.Errorf("the selected row is not reversed: %q", drawn)
	}
	p.press("q")
	p.exits(0)
}

func TestUnsuitableTerminal(t *testing.T) {
	p := start(t, "view", "TERM=dumb")
	p.exits(exitUsage)
	if drawn := p.drawn(); strings.Contains(drawn, "\x1b") {
		t.Errorf("drawn all the same: %q", drawn)
	}
	for _, keyless := range []bool{true, false} {
		p := start(t, "view") // only its terminal is of use
		p.see("q quit")
		p.press("q")
		p.exits(0)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		cmd := exec.CommandContext(ctx, os.Args[0])
		cmd.Env = []string{"OC_WATCH_TEST=view", "TERM=xterm"}
		cmd.Stdin, cmd.Stdout = p.slave, nil
		if keyless {
			cmd.Stdin, cmd.Stdout = nil, p.slave
		}
		if err := cmd.Run(); err == nil || cmd.ProcessState.ExitCode() != exitUsage {
			t.Errorf("exit %d where there is no terminal", cmd.ProcessState.ExitCode())
		}
	}
}
