package job

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"opencode-delegate/internal/proc"
)

// TestRemoveOpensClosedDirectories: a worker can leave a directory in its TMPDIR that its owner may not enter.
func TestRemoveOpensClosedDirectories(t *testing.T) {
	g := newGraveyard(t)
	id := g.bury(40, 0, nil)
	g.write("jobs/"+id+"/tmp/a/b/c", "x")
	outside := t.TempDir()
	closed := filepath.Join(outside, "closed")
	os.Mkdir(closed, 0o555)
	os.Symlink(closed, filepath.Join(g.dir(id), "tmp", "a", "link"))
	if os.Geteuid() == 0 {
		// Root may enter everywhere: this thread becomes an ordinary user for the file system (setfsuid(2)).
		for dir := outside; dir != "/tmp" && dir != "/"; dir = filepath.Dir(dir) {
			os.Chmod(dir, 0o755)
		}
		filepath.WalkDir(filepath.Dir(g.root), func(path string, _ os.DirEntry, _ error) error { return os.Lchown(path, 65534, -1) })
		os.Lchown(closed, 65534, -1)
		runtime.LockOSThread() // and never unlocked: the thread ends with the test
		if err := syscall.Setfsuid(65534); err != nil {
			t.Fatal(err)
		}
		defer syscall.Setfsuid(0)
	}
	for _, dir := range []string{"tmp/a/b", "tmp/a", "tmp"} {
		if err := os.Chmod(filepath.Join(g.dir(id), dir), 0); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.ReadDir(filepath.Join(g.dir(id), "tmp")); err == nil {
		t.Fatal("the directory is not closed: this test would show nothing")
	}
	if err := removeTree(g.dir(id)); err != nil || exists(g.dir(id)) {
		t.Errorf("%v", err)
	}
	if fi, err := os.Lstat(closed); err != nil || fi.Mode().Perm() != 0o555 {
		t.Errorf("a link was followed: %v %v", fi, err)
	}
}

// carry starts a process with the marker of a job.
func carry(t *testing.T, id string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sleep", "60")
	cmd.Env = append(os.Environ(), proc.MarkerEnv+"="+id)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd
}

func TestProcessesOfEndedJobs(t *testing.T) {
	g := newGraveyard(t)
	ended, live := g.bury(40, 0, nil), g.bury(0, 0, func(st *State) { st.State = Running })
	g.hold(live, "lease")
	stranger := NewID(g.now)
	orphan := carry(t, ended)
	carry(t, live)
	before, err := g.Survey(context.Background(), g.now)
	if err != nil {
		t.Fatal(err)
	}
	carry(t, stranger)
	v, err := g.Survey(context.Background(), g.now)
	if err != nil {
		t.Fatal(err)
	}
	if len(v.Orphans) != 1 || v.Orphans[0].PID != orphan.Process.Pid || v.Orphans[0].Marker != ended || v.Strangers <= before.Strangers-1 {
		t.Errorf("orphans %+v, strangers %d and then %d", v.Orphans, before.Strangers, v.Strangers)
	}
	r := g.remove(older(0), false)
	if len(r.Gone) != 0 || len(r.Stays) != 1 || !strings.Contains(r.Stays[0].Why, "sleep") || !exists(g.dir(ended)) {
		t.Errorf("%+v", r)
	}
	orphan.Process.Kill()
	orphan.Wait()
	if r := g.remove(older(0), false); len(r.Gone) != 1 {
		t.Errorf("%+v", r)
	}
}
