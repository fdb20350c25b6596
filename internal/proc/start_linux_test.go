package proc

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestStartErrorsNameTheInput(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "plain")
	lost := filepath.Join(dir, "lost")
	if err := errors.Join(os.WriteFile(file, []byte("text"), 0o600), os.WriteFile(lost, []byte("#!/no/such/interpreter\n"), 0o700)); err != nil {
		t.Fatal(err)
	}
	base := func(change func(*Command)) Command {
		c := Command{Argv: []string{"/bin/true"}, Dir: "/", Marker: "m"}
		change(&c)
		return c
	}
	for _, c := range []struct {
		name string
		cmd  Command
		want error
		text string
	}{
		{"missing program", base(func(c *Command) { c.Argv[0] = dir + "/none" }), syscall.ENOENT, dir + "/none"},
		{"not executable", base(func(c *Command) { c.Argv[0] = file }), os.ErrPermission, file},
		{"missing interpreter", base(func(c *Command) { c.Argv[0] = lost }), syscall.ENOENT, "interpreter"},
		{"missing directory", base(func(c *Command) { c.Dir = dir + "/gone" }), os.ErrNotExist, dir + "/gone"},
		{"directory is a file", base(func(c *Command) { c.Dir = file }), syscall.ENOTDIR, file},
		{"long argument", base(func(c *Command) { c.Argv = append(c.Argv, strings.Repeat("x", 200<<10)) }), syscall.E2BIG, "too long"},
		{"huge arguments", base(func(c *Command) { c.Argv = append(c.Argv, strings.Repeat("x", 9<<20)) }), syscall.E2BIG, "too long"},
		{"relative program", base(func(c *Command) { c.Argv[0] = "true" }), nil, `"true"`},
		{"relative directory", base(func(c *Command) { c.Dir = "here" }), nil, `"here"`},
		{"no program", base(func(c *Command) { c.Argv = nil }), nil, "no program"},
		{"NUL in an argument", base(func(c *Command) { c.Argv = append(c.Argv, "a\x00b") }), nil, "argument 1"},
		{"NUL in a variable", base(func(c *Command) { c.Env = []string{"A=b\x00c"} }), nil, `"A"`},
		{"variable without value", base(func(c *Command) { c.Env = []string{"ABC"} }), nil, `"ABC"`},
		{"no marker", base(func(c *Command) { c.Marker = "" }), nil, "marker"},
		{"bad marker", base(func(c *Command) { c.Marker = "a\nb" }), nil, "marker"},
		{"negative grace", base(func(c *Command) { c.Grace = -1 }), nil, "grace"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Start(context.Background(), c.cmd)
			if err == nil || !strings.Contains(err.Error(), c.text) || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("%v; want %v, with %q", err, c.want, c.text)
			}
		})
	}
	newTrial(t).nothingLeft()
}

func TestStartUnderAnEndedContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("no longer wanted")
	cancel(why)
	if _, err := Start(ctx, newTrial(t).command("exit 0")); !errors.Is(err, why) {
		t.Errorf("%v, want %v", err, why)
	}
}

// The context ends at every moment of a start: either there is an error and no process, or a process that stops.
func TestContextEndsDuringStart(t *testing.T) {
	for i := range 12 {
		tr := newTrial(t)
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(2*i)*time.Millisecond)
		p, err := Start(ctx, tr.command("exec sleep 100.TOKEN"))
		if err == nil {
			tr.Process = p
			if x := tr.within(1300 * time.Millisecond); !x.ByUs || x.Signal != "SIGTERM" {
				t.Errorf("%+v", x)
			}
			p.Stdout.Close()
			p.Stderr.Close()
		} else if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		tr.nothingLeft()
		cancel()
	}
}

func TestArgumentsAndEnvironmentArriveAsTheyAre(t *testing.T) {
	tr := newTrial(t)
	c := tr.command(`printf '%s|' "$1" "$2" "$ODD" "$` + MarkerEnv + `" "$HOME"; pwd`)
	c.Argv = append(c.Argv, "sh", "\xff not utf-8 \u2028", "two\nlines")
	c.Env = []string{"ODD=\xfe$(true)`", MarkerEnv + "=another"}
	c.Dir = t.TempDir()
	tr.start(context.Background(), c)
	want := "\xff not utf-8 \u2028|two\nlines|\xfe$(true)`|" + tr.marker + "||" + c.Dir + "\n"
	if out := <-tr.stdout; string(out) != want {
		t.Errorf("%q, want %q", out, want)
	}
}

// A terminal's Ctrl-C goes to the foreground group of its session.
func TestChildIsOutOfReachOfTheTerminal(t *testing.T) {
	tr := script(t, "exec sleep 100.TOKEN")
	us, _ := look(os.Getpid())
	child, _ := look(tr.PID())
	keeper, _ := look(tr.guardian())
	if child.sid == us.sid || child.pgid == us.pgid || keeper.sid != keeper.pid || child.pgid == keeper.pgid {
		t.Errorf("tool %+v, guardian %+v, child %+v", us, keeper, child)
	}
}

func TestChildHoldsNoDescriptorOfOurs(t *testing.T) {
	// One that survives an exec, as a caller's shell would leave it to us.
	var fd [2]int
	if err := syscall.Pipe(fd[:]); err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd[0])
	defer syscall.Close(fd[1])
	other := script(t, "exec sleep 100.TOKEN") // whose pipes must not leak either
	other.await(1)
	tr := newTrial(t)
	c := tr.role("descriptors")
	c.Stdin = strings.NewReader("x")
	tr.start(context.Background(), c)
	want := "0 pipe nonblock=false\n1 pipe nonblock=false\n2 pipe nonblock=false\n"
	if out := <-tr.stdout; string(out) != want {
		t.Errorf("the child holds\n%swant\n%s", out, want)
	}
	// The guardian keeps no end of the child's output: its end shows that the tree closed it.
	closing := script(t, "exec 1>&- 2>&-; exec sleep 100.TOKEN")
	select {
	case <-closing.stdout:
	case <-time.After(5 * time.Second):
		t.Error("no end of output, though the child closed it")
	}
}

// Signals that we ignore, as under nohup, are not ignored by the child.
func TestChildTakesSignals(t *testing.T) {
	tr := script(t, `exec grep SigIgn /proc/self/status`)
	out := strings.TrimSpace(strings.TrimPrefix(string(<-tr.stdout), "SigIgn:"))
	set, err := strconv.ParseUint(out, 16, 64)
	// 32 and 33 are the C library's own; whoever started the tests may have left them ignored.
	if set &^= 3 << 31; err != nil || set != 0 {
		t.Errorf("SigIgn %s, %v", out, err)
	}
}

func TestNothingLeaks(t *testing.T) {
	run := func() {
		tr := newTrial(t)
		c := tr.command("cat >/dev/null; echo x")
		c.Stdin = strings.NewReader("some")
		p, err := Start(context.Background(), c)
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.Copy(io.Discard, p.Stdout)
		p.Stderr.Close()
		p.Wait()
	}
	fail := func() {
		if _, err := Start(context.Background(), Command{Argv: []string{"/none"}, Dir: "/", Marker: "m"}); err == nil {
			t.Fatal("started /none")
		}
	}
	count := func() (fds, goroutines int) {
		names, _ := os.ReadDir("/proc/self/fd")
		return len(names), runtime.NumGoroutine()
	}
	run()
	fds, goroutines := count()
	var four sync.WaitGroup // at once, for time's sake
	for range 4 {
		four.Go(func() {
			for range leakRuns / 4 {
				run()
			}
		})
	}
	four.Wait()
	for range leakRuns / 10 {
		fail()
	}
	until(t, settle, func() bool {
		f, g := count()
		return f <= fds && g <= goroutines
	}, func() string {
		f, g := count()
		return "descriptors and goroutines grew from " + itoa(fds) + ", " + itoa(goroutines) + " to " + itoa(f) + ", " + itoa(g)
	})
	newTrial(t).nothingLeft()
}

func TestMainKnowsAGuardianByItsPipes(t *testing.T) {
	if _, ok := Main([]string{"tool", guardianRole}); ok {
		t.Error("a word on the command line was taken for the tool's order")
	}
	if _, ok := Main([]string{"tool"}); ok {
		t.Error("no role, yet ok")
	}
}
