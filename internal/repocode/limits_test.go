//go:build unix

package repocode

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestAnOverfullHooksDirectoryIsMovedAway(t *testing.T) {
	w := newWorld(t)
	w.repo(w.dir)
	w.hook(w.dir + "/.git/hooks/pre-push")
	before := w.capture(w.dir)
	w.writeMode(w.dir+"/.git/hooks/pre-push", "evil", 0o755)
	for i := range maxHooks + 10 {
		w.must(os.WriteFile(fmt.Sprintf("%s/.git/hooks/x%d", w.dir, i), nil, 0o755))
	}
	list := w.check(before)
	if len(list) != 2 || !strings.Contains(list[0].What, "too many entries") {
		t.Errorf("%d: %+v", len(list), list[:min(3, len(list))])
	}
	if got, err := os.ReadDir(w.dir + "/.git/hooks"); err != nil || len(got) != 1 || w.read(w.dir+"/.git/hooks/pre-push") != w.script() {
		t.Errorf("%v %v", got, err)
	}
	if w.read(list[0].Kept+"/pre-push") != "evil" {
		t.Error("the run's version was not kept")
	}
}

// A hook that was too large to hold is not run in the run's version: it is taken away, and that is said.
func TestALargeHookIsTakenAway(t *testing.T) {
	w := newWorld(t)
	w.repo(w.dir)
	hook := w.dir + "/.git/hooks/pre-push"
	w.writeMode(hook, strings.Repeat("x", maxText+1), 0o755)
	before := w.capture(w.dir)
	if list := w.check(before); len(list) != 0 {
		t.Fatalf("without a change: %v", list)
	}
	w.writeMode(hook, strings.Repeat("x", maxText)+"y", 0o755)
	list, err := Check(context.Background(), before, w.keep)
	if !errors.Is(err, ErrIncomplete) || len(list) != 1 || list[0].Mended || !strings.Contains(err.Error(), "too large") {
		t.Fatalf("%v %v", list, err)
	}
	if _, serr := os.Lstat(hook); serr == nil || len(w.read(list[0].Kept)) != maxText+1 {
		t.Error("the run's hook is still there, or was not kept")
	}
}

func TestLimits(t *testing.T) {
	w := newWorld(t)
	w.repo(w.dir)
	for i := range 50 {
		w.write(fmt.Sprintf("%s/d%d/f", w.dir, i), "")
	}
	s, err := Capture(context.Background(), w.dir, Options{MaxEntries: 20})
	if err != nil || len(s.Problems()) != 1 {
		t.Errorf("limit: %v %v", s.Problems(), err)
	}
	if _, err := Inspect(context.Background(), s); !errors.Is(err, ErrIncomplete) {
		t.Errorf("Inspect after a limit: %v", err)
	}
	if _, err := Check(context.Background(), s, w.keep); !errors.Is(err, ErrIncomplete) {
		t.Errorf("Check after a limit: %v", err)
	}
	w.must(os.MkdirAll(w.dir+strings.Repeat("/d", maxTreeDepth+5), 0o755))
	if s, err := Capture(context.Background(), w.dir, Options{}); err != nil || len(s.Problems()) != 1 || !strings.Contains(s.Problems()[0], "too many levels") {
		t.Errorf("depth: %v %v", s.Problems(), err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Capture(ctx, w.dir, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := Capture(context.Background(), w.dir+"/missing", Options{}); err == nil {
		t.Error("a missing directory was captured")
	}
}

func TestManyViolations(t *testing.T) {
	w := newWorld(t)
	w.repo(w.dir)
	before := w.capture(w.dir)
	for i := range maxViolations + 200 {
		w.write(fmt.Sprintf("%s/.git/hooks/h%d\n", w.dir, i), "x")
	}
	list := w.check(before)
	if len(list) != maxViolations {
		t.Errorf("%d", len(list))
	}
	for _, v := range list {
		if strings.ContainsAny(v.What, "\n\r") {
			t.Fatalf("%q", v.What)
		}
	}
}

// What the run made unreadable is put back all the same. root reads everything, so root runs this as another user.
func TestUnreadable(t *testing.T) {
	if os.Getenv("REPOCODE_TEST_AS_USER") == "" && os.Geteuid() == 0 {
		dir, err := os.MkdirTemp("/tmp", "repocode-user-*")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		exe, err := os.ReadFile(self)
		if err == nil {
			err = errors.Join(os.WriteFile(dir+"/test", exe, 0o755), os.Chmod(dir, 0o777))
		}
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(dir+"/test", "-test.run", "^TestUnreadable$", "-test.v")
		cmd.Env = []string{"REPOCODE_TEST_AS_USER=1", "TMPDIR=" + dir, "PATH=" + os.Getenv("PATH")}
		cmd.Dir = dir
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestUnreadable") {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	w := newWorld(t)
	w.repo(w.dir)
	w.hook(w.dir + "/.git/hooks/pre-push")
	mine := w.read(w.dir + "/.git/config")
	before := w.capture(w.dir)
	w.write(w.dir+"/.git/config", "[alias]\nx=!y\n")
	w.must(os.Chmod(w.dir+"/.git/config", 0))
	w.writeMode(w.dir+"/.git/hooks/pre-push", "evil", 0)
	w.must(os.Chmod(w.dir+"/.git/hooks", 0))
	list := w.check(before)
	if len(list) != 3 {
		t.Errorf("%+v", list)
	}
	if w.read(w.dir+"/.git/config") != mine || w.read(w.dir+"/.git/hooks/pre-push") != w.script() {
		t.Error("not put back")
	}
	w.must(os.Mkdir(w.dir+"/closed", 0))
	defer os.Chmod(w.dir+"/closed", 0o700)
	if _, err := Inspect(context.Background(), before); !errors.Is(err, ErrIncomplete) || !strings.Contains(err.Error(), filepath.Join(w.dir, "closed")) {
		t.Errorf("a directory that cannot be read: %v", err)
	}
}
