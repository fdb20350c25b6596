package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"opencode-delegate/internal/delegate"
	"opencode-delegate/internal/realopencode"
	"opencode-delegate/internal/testmodel"
)

// built is the program as it is shipped: static, without the race detector.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "oc-delegate-built-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "oc-delegate")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", errors.New(string(out))
	}
	return path, nil
})

// builtOnce tells that there is something to clean up.
var builtOnce atomic.Bool

func program(t *testing.T) string {
	t.Helper()
	builtOnce.Store(true)
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// A place is a user's machine for one test: a home with nothing in it, a project, a model on loopback, the real opencode.
type place struct {
	t       *testing.T
	root    string // holds everything; not below /tmp, where a writing run may write
	project string
	env     []string
	model   *testmodel.Server
}

func realPlace(t *testing.T) *place {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		t.Fatal(err)
	}
	root, err := os.MkdirTemp(cache, "oc-delegate-real-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	model, err := testmodel.Start(testmodel.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { model.Close() })
	p := &place{t: t, root: root, project: filepath.Join(root, "project"), model: model}
	config := filepath.Join(root, "opencode.json")
	p.write("opencode.json", string(model.Config()))
	p.write("project/a.txt", "hello\n")
	p.write("home/.config/opencode/keep", "") // opencode needs the directory, and we make it
	p.git("init", "-q")
	p.git("config", "user.name", "t")
	p.git("config", "user.email", "t@example.org")
	p.git("add", ".")
	p.git("commit", "-q", "-m", "one")
	p.env = realopencode.Environ(filepath.Join(root, "home"), "OPENCODE_CONFIG="+config,
		"OC_DELEGATE_STATE="+filepath.Join(root, "state"), "OC_DELEGATE_OPENCODE="+realopencode.Path(t), "OC_DELEGATE_MODEL=mock/worker")
	return p
}

func (p *place) write(name, content string) {
	p.t.Helper()
	path := filepath.Join(p.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) git(args ...string) string {
	p.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = p.project
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("git %v: %v: %s", args, err, out)
	}
	return string(out)
}

// A call is what one run of the program came to.
type outcome struct {
	stdout, stderr string
	signal         map[string]any
	took           time.Duration
}

func (p *place) command(stdin string, args ...string) *exec.Cmd {
	cmd := exec.Command(program(p.t), args...)
	cmd.Dir, cmd.Env, cmd.Stdin = p.project, p.env, strings.NewReader(stdin)
	return cmd
}

// run runs the program, with a task on stdin, and reads its signal line.
func (p *place) run(task string, args ...string) outcome {
	p.t.Helper()
	cmd := p.command(task, append(args, "-")...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	start := time.Now()
	cmd.Run() // the signal line tells more than the exit code
	o := outcome{stdout: stdout.String(), stderr: stderr.String(), took: time.Since(start)}
	lines := strings.Split(strings.TrimSpace(o.stderr), "\n")
	text, ok := strings.CutPrefix(lines[len(lines)-1], "OC_SIGNAL ")
	if !ok || json.Unmarshal([]byte(text), &o.signal) != nil {
		p.t.Fatalf("no signal line at the end of: %s", o.stderr)
	}
	if code := cmd.ProcessState.ExitCode(); float64(code) != o.signal["exit"] {
		p.t.Errorf("exit code %d, signal says %v", code, o.signal["exit"])
	}
	return o
}

// signalOf reads the signal line at the end of stderr.
func signalOf(t *testing.T, stderr string) map[string]any {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	var s map[string]any
	text, ok := strings.CutPrefix(lines[len(lines)-1], "OC_SIGNAL ")
	if !ok || json.Unmarshal([]byte(text), &s) != nil {
		t.Fatalf("no signal line: %s", stderr)
	}
	return s
}

// want checks the status.
func (o outcome) want(t *testing.T, status string) outcome {
	t.Helper()
	if o.signal["status"] != status {
		t.Fatalf("status %v, want %s\nstdout: %.2000s\nstderr: %.4000s", o.signal["status"], status, o.stdout, o.stderr)
	}
	return o
}

// result reads result.json of the run.
func (p *place) result(o outcome) delegate.Result {
	p.t.Helper()
	var r delegate.Result
	record, _ := o.signal["record"].(string)
	data, err := os.ReadFile(filepath.Join(record, "result.json"))
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return r
}

// snapshot is every file below the root, with its content and mode, but for opencode's own data, our records and the
// directories that are named.
func (p *place) snapshot(but ...string) map[string]string {
	p.t.Helper()
	files := map[string]string{}
	but = append(but, "project/.git/opencode") // opencode's own name for the project
	err := filepath.WalkDir(p.root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(p.root, path)
		if rel == "state" || rel == "home/.local" || rel == "home/.cache" || slices.Contains(but, rel) {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		content := fi.Mode().String()
		if fi.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			content += " " + string(data)
		}
		files[rel] = content
		return nil
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return files
}

func sameFiles(t *testing.T, before, after map[string]string) {
	t.Helper()
	for name, content := range after {
		if old, ok := before[name]; !ok {
			t.Errorf("new: %s", name)
		} else if old != content {
			t.Errorf("changed: %s: %.200q, was %.200q", name, content, old)
		}
	}
	for name := range before {
		if _, ok := after[name]; !ok {
			t.Errorf("gone: %s", name)
		}
	}
}
