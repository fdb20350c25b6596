package fakeopencode

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"opencode-delegate/internal/realopencode"
)

func TestMain(m *testing.M) {
	if strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe") == "opencode" {
		os.Exit(Main())
	}
	os.Exit(m.Run())
}

// A box is a place with a fake opencode, a private HOME and a work tree.
type box struct {
	t              *testing.T
	bin, home, dir string
	log            string
}

func newBox(t *testing.T) *box {
	t.Helper()
	root := t.TempDir()
	b := &box{t: t, bin: filepath.Join(root, "opencode"), home: filepath.Join(root, "home"), dir: filepath.Join(root, "parent", "project"), log: filepath.Join(root, "log")}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{b.home, b.dir} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(self, b.bin); err != nil {
		t.Fatal(err)
	}
	return b
}

type ran struct {
	stdout, stderr string
	exit           error
	events         []map[string]any
	timedOut       bool
}

func (r ran) code() int {
	var e *exec.ExitError
	if errors.As(r.exit, &e) {
		return e.ExitCode()
	}
	return 0
}

func (r ran) kinds() string {
	var kinds []string
	for _, e := range r.events {
		kind, _ := e["type"].(string)
		kinds = append(kinds, kind)
	}
	return strings.Join(kinds, " ")
}

func (r ran) session(t *testing.T) string {
	t.Helper()
	if len(r.events) == 0 {
		t.Fatalf("no events; stdout %q, stderr %q", r.stdout, r.stderr)
	}
	id, _ := r.events[0]["sessionID"].(string)
	return id
}

// reason is that of the last event, if it has one.
func (r ran) reason() string {
	if len(r.events) == 0 {
		return ""
	}
	part, _ := r.events[len(r.events)-1]["part"].(map[string]any)
	reason, _ := part["reason"].(string)
	return reason
}

func (b *box) run(limit time.Duration, stdin string, env []string, args ...string) ran {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, b.bin, args...)
	cmd.Dir = b.dir
	cmd.Env = append([]string{"HOME=" + b.home, "PATH=" + os.Getenv("PATH"), "OC_FAKE_LOG=" + b.log, "PWD=" + b.dir,
		"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GORACE=atexit_sleep_ms=0", // a program under the race detector else sleeps for a second at its end
	}, env...)
	cmd.Stdin = strings.NewReader(stdin)
	cmd.WaitDelay = 200 * time.Millisecond
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	r := ran{exit: cmd.Run(), timedOut: ctx.Err() != nil}
	r.stdout, r.stderr = out.String(), errs.String()
	for l := range strings.Lines(r.stdout) {
		var e map[string]any
		if json.Unmarshal([]byte(l), &e) == nil {
			r.events = append(r.events, e)
		}
	}
	return r
}

// fake is a run in a mode.
func (b *box) fake(mode string, args ...string) ran {
	b.t.Helper()
	return b.run(20*time.Second, "do it", []string{"OC_FAKE=" + mode}, append([]string{"run", "--format", "json"}, args...)...)
}

func checkout(t *testing.T, path ...string) string {
	t.Helper()
	root, err := realopencode.Root(".")
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(append([]string{root}, path...)...)
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
