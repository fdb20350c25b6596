package verify

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"opencode-delegate/internal/proc"
	"opencode-delegate/internal/redact"
	"opencode-delegate/internal/sandbox"
)

// check is a command in a directory of its own, with a marker that no other test has.
func check(t *testing.T, shell string) Command {
	t.Helper()
	dir := t.TempDir()
	return Command{
		Shell: shell, Dir: dir, Env: []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}, Marker: fmt.Sprintf("check-%s-%d", filepath.Base(t.TempDir()), time.Now().UnixNano()),
		Grace: 200 * time.Millisecond, Timeout: time.Minute, Log: filepath.Join(dir, "log"),
	}
}

func run(t *testing.T, c Command) Outcome {
	t.Helper()
	o, err := Run(t.Context(), c)
	if err != nil {
		t.Fatalf("%s: %v", c.Shell, err)
	}
	return o
}

func logOf(t *testing.T, c Command) string {
	t.Helper()
	text, err := os.ReadFile(c.Log)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		shell, reason string
		verdict       Verdict
		exit          int // -1: none
		signal        string
	}{
		{"true", "", Pass, 0, ""},
		{"echo a; echo b >&2", "", Pass, 0, ""},
		{"exit 3", "exit 3", Fail, 3, ""},
		{"false", "exit 1", Fail, 1, ""},
		{"true | false", "exit 1", Fail, 1, ""},
		{"exit 129", "exit 129", Fail, 129, ""}, // git, when it is called wrongly
		{"exit 255", "exit 255", Fail, 255, ""},
		{"exit 128", "exit 128", Fail, 128, ""},
		{"exit 119", "exit 119", Fail, 119, ""}, // which is also what a cage says that could not be closed
		{"no-such-program", "exit 127", CouldNotRun, 127, ""},
		{"touch x; ./x", "exit 126", CouldNotRun, 126, ""},
		{"kill -9 $$", "SIGKILL", CouldNotRun, -1, "SIGKILL"},
		{"kill -SEGV $$", "SIGSEGV", CouldNotRun, -1, "SIGSEGV"},
		{`sh -c 'kill -SEGV $$'; exit $?`, "SIGSEGV", CouldNotRun, 139, ""},
		{`true && sh -c 'kill -9 $$' && true`, "SIGKILL", CouldNotRun, 137, ""},
		{`sh -c 'kill -ABRT $$' || exit $?`, "SIGABRT", CouldNotRun, 134, ""},
	} {
		o := run(t, check(t, c.shell))
		exit := -1
		if o.Exit != nil {
			exit = *o.Exit
		}
		if o.Verdict != c.verdict || exit != c.exit || o.Signal != c.signal || !strings.Contains(o.Reason, c.reason) || (c.reason == "") != (o.Reason == "") {
			t.Errorf("%s: %+v, exit %d", c.shell, o, exit)
		}
		if o.Duration <= 0 || o.Duration > time.Minute {
			t.Errorf("%s: took %s", c.shell, o.Duration)
		}
	}
}

func TestWorst(t *testing.T) {
	for _, c := range []struct {
		of   []Verdict
		want Verdict
	}{
		{nil, None}, {[]Verdict{Pass}, Pass}, {[]Verdict{Pass, Pass}, Pass}, {[]Verdict{Pass, CouldNotRun}, CouldNotRun}, {[]Verdict{CouldNotRun, Pass}, CouldNotRun},
		{[]Verdict{Fail, CouldNotRun}, Fail}, {[]Verdict{CouldNotRun, Fail}, Fail}, {[]Verdict{Pass, Fail}, Fail}, {[]Verdict{Fail, Pass}, Fail}, {[]Verdict{None, Pass}, Pass},
	} {
		if got := Worst(c.of...); got != c.want {
			t.Errorf("%v: %s, want %s", c.of, got, c.want)
		}
	}
}

// TestOutputIsInOrder: both outputs in the order in which they were written, without what is secret, in a file of the caller's alone.
func TestOutputIsInOrder(t *testing.T) {
	c := check(t, `for i in 1 2 3 4 5 6 7 8 9; do echo out $i; echo err $i >&2; done; echo "$SECRET_KEY"; read x; echo "in=[$x]"; exit 1`)
	c.Env = append(c.Env, "SECRET_KEY=s3cr3t-value-0815")
	c.Redact = redact.New(c.Env)
	o := run(t, c)
	var want strings.Builder
	for i := 1; i <= 9; i++ {
		fmt.Fprintf(&want, "out %d\nerr %d\n", i, i)
	}
	want.WriteString(redact.Mark + "\nin=[]\n")
	if got := logOf(t, c); got != want.String() {
		t.Errorf("%q", got)
	}
	if !strings.Contains(o.Excerpt, "err 9") || strings.Contains(o.Excerpt, "s3cr3t") || o.Bytes != int64(want.Len())+int64(len("s3cr3t-value-0815")-len(redact.Mark)) && o.Bytes != int64(want.Len()) || o.LogBytes != int64(want.Len()) {
		t.Errorf("%+v", o)
	}
	if info, err := os.Stat(c.Log); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if _, err := Run(t.Context(), c); err == nil {
		t.Error("a log was written a second time")
	}
}

// TestFailuresComeFirst: of much output, what shows is the failure in its middle.
func TestFailuresComeFirst(t *testing.T) {
	c := check(t, `seq 1 20000; echo "--- FAIL: TestX"; echo "x_test.go:7: want 1, got 2"; seq 1 20000; exit 1`)
	c.Excerpt = 800
	o := run(t, c)
	if !strings.Contains(o.Excerpt, "x_test.go:7") || len([]rune(o.Excerpt)) > 800 {
		t.Errorf("%s", o.Excerpt)
	}
}

// TestNothingOutlivesACheck: daemons of every kind end with it, and none that holds its output makes it wait.
func TestNothingOutlivesACheck(t *testing.T) {
	for name, escape := range map[string]string{
		"background":  `sleep 300.7 &`,
		"setsid":      `setsid sleep 300.7 &`,
		"double fork": `(setsid sh -c 'sleep 300.7 & exit' &)`,
		"no marker":   `(env -i setsid sleep 300.7 &)`,
		"deaf":        `sh -c 'trap "" TERM HUP; while :; do sleep 0.1; done' &`,
	} {
		c := check(t, escape+"\nsleep 0.3; echo done; exit 0")
		began := time.Now()
		o := run(t, c)
		if o.Verdict != Pass || len(o.Survivors) == 0 || time.Since(began) > 20*time.Second || logOf(t, c) != "done\n" {
			t.Errorf("%s: %+v", name, o)
		}
		if left := proc.Marked(c.Marker); len(left) > 0 {
			t.Errorf("%s: left: %+v", name, left)
		}
	}
}

func TestTimeLimit(t *testing.T) {
	c := check(t, `echo begun; trap "" TERM; while :; do sleep 0.1; done`)
	c.Timeout = time.Second
	began := time.Now()
	o := run(t, c)
	if o.Verdict != CouldNotRun || o.Exit != nil || !strings.Contains(o.Reason, "within 1s") || logOf(t, c) != "begun\n" || time.Since(began) > 30*time.Second {
		t.Errorf("%+v", o)
	}
	if left := proc.Marked(c.Marker); len(left) > 0 {
		t.Errorf("left: %+v", left)
	}
}

func TestCancelled(t *testing.T) {
	cause := errors.New("the user said so")
	c := check(t, `echo begun; sleep 300`)
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(500*time.Millisecond, func() { cancel(cause) })
	if o, err := Run(ctx, c); !errors.Is(err, cause) || o.Verdict == Pass || o.Verdict == Fail {
		t.Errorf("%+v, %v", o, err)
	}
	c = check(t, "true")
	if o, err := Run(ctx, c); !errors.Is(err, cause) || o.Verdict != CouldNotRun {
		t.Errorf("before the start: %+v, %v", o, err)
	}
	if _, err := os.Stat(c.Log); err == nil {
		t.Error("there is a log of what did not start")
	}
}

// TestItCannotBeStarted: a cage that fails, before or in its process, and a directory that is not there.
func TestItCannotBeStarted(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*Command){
		"wrap": func(c *Command) {
			c.Wrap = func([]string) ([]string, []string, error) { return nil, nil, errors.New("no policy") }
		},
		"cage": func(c *Command) {
			c.Wrap = func(argv []string) ([]string, []string, error) {
				wrapped, env, err := sandbox.Policy{Write: []string{c.Dir}}.Command(self, argv)
				return wrapped, append(env, sandbox.NoLandlockEnv+"=1"), err
			}
		},
		"directory": func(c *Command) { c.Dir = filepath.Join(c.Dir, "none") },
	} {
		c := check(t, "echo ran")
		spoil(&c)
		if o := run(t, c); o.Verdict != CouldNotRun || o.Exit != nil || !strings.Contains(o.Reason, "could not be started") || strings.Contains(logOf(t, c), "ran") {
			t.Errorf("%s: %+v", name, o)
		}
	}
}

// TestInACage: the check runs under the policy that it is given.
func TestInACage(t *testing.T) {
	if s := sandbox.Detect(os.Getenv); !s.OK() {
		t.Fatal(s.Reason)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := check(t, `echo in >inside && ! echo out >"$OUT/outside" && echo ok`)
	out := t.TempDir()
	c.Env = append(c.Env, "OUT="+out)
	c.Wrap = func(argv []string) ([]string, []string, error) {
		return sandbox.Policy{Write: []string{c.Dir}}.Command(self, argv)
	}
	if o := run(t, c); o.Verdict != Pass || !strings.HasSuffix(logOf(t, c), "ok\n") {
		t.Errorf("%+v\n%s", o, logOf(t, c))
	}
	if _, err := os.Stat(filepath.Join(out, "outside")); err == nil {
		t.Error("it wrote outside")
	}
}

// TestMuchOutput: 200 MB take a log of 64 MiB and no memory to speak of.
func TestMuchOutput(t *testing.T) {
	c := check(t, `echo first; yes 'a line of a build that says the same again and again' | head -c 200000000; echo; echo last; exit 1`)
	c.Timeout = 5 * time.Minute
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	o := run(t, c)
	runtime.ReadMemStats(&after)
	info, err := os.Stat(c.Log)
	if err != nil {
		t.Fatal(err)
	}
	if o.Verdict != Fail || o.Bytes != 200000000+12 || info.Size() < LogLimit || info.Size() > LogLimit+100 || o.LogBytes != LogLimit {
		t.Errorf("%+v, log of %d bytes", o, info.Size())
	}
	if grown := int64(after.HeapSys) - int64(before.HeapSys); grown > 64<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
	text := logOf(t, c)
	if !strings.HasPrefix(text, "first\n") || !strings.HasSuffix(text, "\nlast\n") || !strings.Contains(text, fmt.Sprintf("\n[%d bytes left out]\n", o.Bytes-o.LogBytes)) {
		t.Errorf("%q … %q", text[:80], text[len(text)-80:])
	}
	t.Logf("%s for 200 MB", o.Duration)
}

// BenchmarkTrue is what one check costs; the difference to BenchmarkSh is the price.
func BenchmarkTrue(b *testing.B) {
	dir := b.TempDir()
	for i := 0; b.Loop(); i++ {
		c := Command{Shell: "true", Dir: dir, Env: os.Environ(), Marker: "bench", Log: filepath.Join(dir, fmt.Sprint(i))}
		if o, err := Run(context.Background(), c); err != nil || o.Verdict != Pass {
			b.Fatal(o, err)
		}
	}
}

func BenchmarkSh(b *testing.B) {
	for b.Loop() {
		if err := exec.Command("/bin/sh", "-c", "true").Run(); err != nil {
			b.Fatal(err)
		}
	}
}
