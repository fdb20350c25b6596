//go:build unix

package repocode

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A world is a home, a work tree and a marker that the run's code would make.
type world struct {
	t                                    *testing.T
	root, home, dir, marker, keep, stdin string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, root: root, home: root + "/home", dir: root + "/work", marker: root + "/marker", keep: root + "/record/kept"}
	for _, d := range []string{w.home, w.dir} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// repo makes dir a repository with one commit.
func (w *world) repo(dir string) {
	w.t.Helper()
	w.git(filepath.Dir(dir), "init", "-q", "-b", "main", dir)
	w.write(dir+"/a.txt", "hello\n")
	w.git(dir, "add", "a.txt")
	w.git(dir, "commit", "-q", "-m", "first")
}

func (w *world) tryGit(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", append([]string{"-c", "protocol.file.allow=always"}, args...)...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.home, "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C", "GIT_TERMINAL_PROMPT=0",
		"GIT_EDITOR=true", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b"}
	cmd.Stdin = strings.NewReader(w.stdin)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (w *world) git(dir string, args ...string) string {
	w.t.Helper()
	out, err := w.tryGit(dir, args...)
	if err != nil {
		w.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (w *world) write(path, text string) {
	w.t.Helper()
	w.writeMode(path, text, 0o644)
}

func (w *world) writeMode(path, text string, mode os.FileMode) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		w.t.Fatal(err)
	}
}

// hook writes a script that leaves the marker.
func (w *world) hook(path string) { w.writeMode(path, w.script(), 0o755) }

func (w *world) script() string {
	return "#!/bin/sh\ntouch '" + w.marker + "'\ncat 2>/dev/null\nexit 0\n"
}

func (w *world) fill(s string) string {
	return strings.NewReplacer("TOUCH", w.touch(), "MARKER", w.marker).Replace(s)
}

func (w *world) touch() string { return "touch '" + w.marker + "'" }

func (w *world) read(path string) string {
	w.t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(b)
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// fired reports whether the marker is there, and takes it away.
func (w *world) fired() bool { return os.Remove(w.marker) == nil }

func (w *world) capture(dir string) *State {
	w.t.Helper()
	s, err := Capture(context.Background(), dir, Options{Home: w.home, UserConfig: UserConfig(w.home, func(string) string { return "" })[1:]})
	if err != nil || len(s.Problems()) > 0 {
		w.t.Fatalf("Capture: %v %v", err, s.Problems())
	}
	return s
}

// check puts back, and proves that a second look finds nothing.
func (w *world) check(before *State) []Violation {
	w.t.Helper()
	list, err := Check(context.Background(), before, w.keep)
	if err != nil {
		w.t.Fatalf("Check: %v (%v)", err, list)
	}
	again, err := Inspect(context.Background(), before)
	if err != nil || len(again) != 0 {
		w.t.Fatalf("after Check: %v %v", err, again)
	}
	return list
}
