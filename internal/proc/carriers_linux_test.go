package proc

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestCarriers(t *testing.T) {
	one, other := script(t, `echo >>READY; sleep 100.TOKEN; :`), script(t, `echo >>READY; sleep 100.TOKEN; :`)
	for _, tr := range []*trial{one, other} {
		tr.awaitReady(1)
		var pids []int
		for _, c := range Carriers() {
			if c.Marker == tr.marker {
				pids = append(pids, c.PID)
			}
		}
		if !slices.Contains(pids, tr.PID()) || slices.Contains(pids, os.Getpid()) {
			t.Errorf("%s: %v, want %d among them", tr.marker, pids, tr.PID())
		}
	}
	one.Kill()
	one.Wait()
	for _, c := range Carriers() {
		if c.Marker == one.marker {
			t.Errorf("%+v is dead", c)
		}
	}
}

func TestMarkerIn(t *testing.T) {
	for env, want := range map[string]string{
		"":                                      "",
		"A=b\x00" + MarkerEnv + "=run-1\x00":    "run-1",
		MarkerEnv + "=run-1":                    "run-1",
		"X" + MarkerEnv + "=run-1\x00":          "",
		"A=" + MarkerEnv + "=run-1\x00":         "",
		MarkerEnv + "=\x00":                     "",
		MarkerEnv + "=a\x00" + MarkerEnv + "=b": "a",
	} {
		if got := markerIn([]byte(env)); got != want {
			t.Errorf("%q: %q, want %q", env, got, want)
		}
	}
}

// TestMarkersThatBelongTogether: what looks for a run finds its parts, a part finds neither the other nor a run whose id begins alike.
func TestMarkersThatBelongTogether(t *testing.T) {
	env := func(marker string) []byte { return []byte("A=b\x00" + MarkerEnv + "=" + marker + "\x00C=d\x00") }
	for _, c := range []struct {
		look, has string
		want      bool
	}{{"x", "x", true}, {"x", "x.2", true}, {"x.2", "x.2", true}, {"x.2", "x", false}, {"x.2", "x.21", false}, {"x.1", "x.2", false}, {"x", "xy", false}, {"x", "xy.2", false}} {
		if got := hasEntry(env(c.has), []byte(MarkerEnv+"="+c.look)); got != c.want {
			t.Errorf("who looks for %s finds %s: %v", c.look, c.has, got)
		}
	}
	if got := markerIn(env("x.2")); got != "x" {
		t.Errorf("the run of x.2 is %q", got)
	}
}

func TestStopped(t *testing.T) {
	tr := script(t, `echo >>READY; sleep 100.TOKEN; :`).awaitReady(1)
	e, ok := look(tr.PID())
	if !ok {
		t.Fatal("the child is not there")
	}
	id := ID{PID: e.pid, Start: e.start, Boot: Boot()}
	if id.Stopped() {
		t.Error("a process that runs counts as stopped")
	}
	if err := syscall.Kill(e.pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	until(t, settle, id.Stopped, func() string { return "it does not count as stopped" })
	for _, stranger := range []ID{{PID: e.pid, Start: e.start + 1, Boot: Boot()}, {PID: e.pid, Start: e.start, Boot: "another"}, {PID: e.pid}} {
		if stranger.Stopped() {
			t.Errorf("%+v is another process", stranger)
		}
	}
}

func TestHolders(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.lock")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got := Holders(path); len(got) != 0 {
		t.Errorf("a file that is open and not locked: %+v", got)
	}
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK}); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path, filepath.Join(link, "a.lock")} {
		if got := Holders(p); len(got) != 1 || got[0].PID != os.Getpid() || got[0].Name == "" {
			t.Errorf("%s: %+v, want this process", p, got)
		}
	}
	if got := Holders(filepath.Join(dir, "none")); len(got) != 0 {
		t.Errorf("a file that is not there: %+v", got)
	}
	began := time.Now()
	Holders(path)
	t.Logf("one look takes %s", time.Since(began))
}
