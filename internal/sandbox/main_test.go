package sandbox

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestMain lets the test binary play the hidden role, as every main of the product does.
func TestMain(m *testing.M) {
	if code, ok := Main(os.Args); ok {
		os.Exit(code)
	}
	if len(os.Args) == 3 && os.Args[1] == mcpRole {
		os.Exit(serveMCP(os.Stdin, os.Stdout, os.Args[2]))
	}
	if code, ok := callsMain(os.Args); ok {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// A bench is a home, a project and all that a run needs, in a directory that no default grant covers.
type bench struct {
	run  Run
	root string // holds everything
	out  string // outside the project and every grant
}

// newBench makes one below the test's temporary directory. When that lies in /tmp, a writing run is not granted /tmp, since it holds a home.
func newBench(t *testing.T) bench {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(root, "home")
	b := bench{root: root, out: filepath.Join(root, "outside"), run: Run{
		Home: home, Dir: filepath.Join(root, "project"), Tmp: filepath.Join(root, "private-tmp"),
		StateRoot: filepath.Join(home, ".local/state/opencode-delegate"),
		Environ:   []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")},
	}}
	for _, dir := range []string{home, b.out, b.run.Dir, b.run.Tmp, b.run.StateRoot} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if b.run.Opencode, err = Dirs(b.run.Environ); err != nil {
		t.Fatal(err)
	}
	if err := b.run.Opencode.Ensure(); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b bench) readOnly(t *testing.T) Policy {
	t.Helper()
	p, err := b.run.ReadOnly()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (b bench) writing(t *testing.T) Policy {
	t.Helper()
	p, err := b.run.Writing()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// sh runs a script in the project under a policy and returns all its output and its exit code.
func (b bench) sh(t *testing.T, p Policy, script string, environ ...string) (string, int) {
	t.Helper()
	return b.exec(t, p, []string{"/bin/bash", "-c", script}, environ...)
}

func (b bench) exec(t *testing.T, p Policy, argv []string, environ ...string) (string, int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	wrapped, env, err := p.Command(self, argv)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, wrapped[0], wrapped[1:]...)
	cmd.Dir = b.run.Dir
	cmd.Env = append(append(append([]string{}, b.run.Environ...), env...), append([]string{"TMPDIR=" + b.run.Tmp, "LC_ALL=C"}, environ...)...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func content(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}
