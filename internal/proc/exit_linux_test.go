package proc

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestExitTellsHowTheChildEnded(t *testing.T) {
	for script_, want := range map[string]Exit{
		"exit 0":         {Code: 0},
		"exit 3":         {Code: 3},
		"exit 255":       {Code: 255},
		"kill -KILL $$":  {Code: -1, Signal: "SIGKILL"},
		"kill -SEGV $$":  {Code: -1, Signal: "SIGSEGV"},
		"kill -TERM $$":  {Code: -1, Signal: "SIGTERM"},
		"kill -HUP $$":   {Code: -1, Signal: "SIGHUP"},
		"exec sh -c :":   {Code: 0},
		"exec 1>&- 2>&-": {Code: 0},
	} {
		got := script(t, script_).within(5 * time.Second)
		if got.Code != want.Code || got.Signal != want.Signal || got.ByUs || got.Survivors != nil || got.Remaining != nil {
			t.Errorf("%s: %+v, want %+v", script_, got, want)
		}
	}
}

func TestExitCountsTheChildsOwnUse(t *testing.T) {
	tr := newTrial(t)
	x := tr.start(context.Background(), tr.role("eater", "64", "150")).within(10 * time.Second)
	if x.MaxRSS < 64<<20 || x.MaxRSS > 512<<20 {
		t.Errorf("MaxRSS %d, want a little over 64 MiB", x.MaxRSS)
	}
	if x.CPU < 30*time.Millisecond || x.CPU > 5*time.Second {
		t.Errorf("CPU %v, want some of 150ms", x.CPU)
	}
}

func TestStopAfterTheEndIsNotByUs(t *testing.T) {
	tr := script(t, "exit 5")
	<-tr.Exited()
	tr.Stop()
	if x := tr.within(2 * time.Second); x.Code != 5 || x.ByUs {
		t.Errorf("%+v", x)
	}
}

func TestOutputIsWhole(t *testing.T) {
	const n = 10 << 20
	tr := newTrial(t)
	tr.start(context.Background(), tr.role("flood", "10485760"))
	want, _ := io.ReadAll(io.LimitReader(&pattern{}, n))
	if out := <-tr.stdout; !bytes.Equal(out, want) {
		t.Errorf("stdout: %d bytes, want %d", len(out), n)
	}
	if out := <-tr.stderr; !bytes.Equal(out, want) {
		t.Errorf("stderr: %d bytes, want %d", len(out), n)
	}
	tr.within(5 * time.Second)
}

// A reader that comes late finds all that the pipe held when the tree died, then the end.
func TestOutputIsKeptForALateReader(t *testing.T) {
	tr := newTrial(t)
	p, err := Start(context.Background(), tr.command("echo first; echo second >&2; sleep 100.TOKEN & exit 0"))
	if err != nil {
		t.Fatal(err)
	}
	p.Wait()
	out, err1 := io.ReadAll(p.Stdout)
	serr, err2 := io.ReadAll(p.Stderr)
	if string(out) != "first\n" || string(serr) != "second\n" || err1 != nil || err2 != nil {
		t.Errorf("%q %v, %q %v", out, err1, serr, err2)
	}
	if n, err := p.Stdout.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("after the end: %d, %v", n, err)
	}
	if err := p.Stdout.Close(); err != nil {
		t.Errorf("close after the end: %v", err)
	}
}

// A child need not wait for a reader that is busy with what it has read.
func TestStdoutHoldsAMegabyte(t *testing.T) {
	const n = 1000 << 10
	tr := newTrial(t)
	p, err := Start(context.Background(), tr.command("head -c 1024000 /dev/zero"))
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.Done():
	case <-time.After(settle):
		p.Kill()
		t.Error("the child waits for its reader")
	}
	out, err := io.ReadAll(p.Stdout)
	if len(out) != n || err != nil {
		t.Errorf("%d bytes, %v; want %d", len(out), err, n)
	}
	p.Stderr.Close()
}

// What holds the pipe need not belong to the tree: here it is the test itself.
func TestOutputEndsThoughAStrangerHoldsThePipe(t *testing.T) {
	tr := script(t, "echo text; exec sleep 100.TOKEN")
	until(t, settle, func() bool { return nameOf(tr.PID()) == "sleep 100."+tr.token }, func() string { return nameOf(tr.PID()) })
	held, err := os.OpenFile(filepath.Join("/proc", itoa(tr.PID()), "fd/1"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	tr.Stop()
	tr.within(1300 * time.Millisecond)
	select {
	case out := <-tr.stdout:
		if string(out) != "text\n" {
			t.Errorf("%q", out)
		}
	case <-time.After(time.Second):
		t.Error("the output does not end")
	}
	tr.nothingLeft()
}

func TestStdin(t *testing.T) {
	big := strings.Repeat("0123456789abcdef", 512<<10) // 8 MiB
	for _, c := range []struct {
		name, script string
		stdin        io.Reader
		want         string
	}{
		{"none is the null device", "readlink /proc/self/fd/0; cat", nil, "/dev/null\n"},
		{"whole", "wc -c", strings.NewReader(big), "8388608\n"},
		{"empty", "cat; echo end", strings.NewReader(""), "end\n"},
		{"slowly", "sleep 0.1; head -c 4; sleep 0.1; wc -c", strings.NewReader("abcdef"), "abcd2\n"},
		{"never read", "echo out", strings.NewReader(big), "out\n"},
		{"closed at once", "exec 0<&-; echo out", strings.NewReader(big), "out\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := newTrial(t)
			cmd := tr.command(c.script)
			cmd.Stdin = c.stdin
			tr.start(context.Background(), cmd)
			if out := <-tr.stdout; string(out) != c.want {
				t.Errorf("%q, want %q", out, c.want)
			}
			tr.within(5 * time.Second)
			tr.nothingLeft()
		})
	}
}

func TestSignalsHaveNames(t *testing.T) {
	if got := []string{signalName(syscall.SIGKILL), signalName(syscall.Signal(40))}; !slices.Equal(got, []string{"SIGKILL", "signal 40"}) {
		t.Errorf("%q", got)
	}
}
