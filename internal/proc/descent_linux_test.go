package proc

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// TestAdopted: which of our children would be taken for orphans of a killed guardian, alive and dead.
func TestAdopted(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	adopted := adoptedBy(os.Getpid())
	for _, c := range []struct {
		name   string
		argv   []string
		setsid bool
		want   bool
	}{
		{"a child in our session", []string{"/bin/sleep", "100"}, false, false},
		{"a daemon", []string{"/bin/sleep", "100"}, true, true},
		{"our own binary in a session, a supervisor", []string{exe, "polite", t.TempDir() + "/ready"}, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := exec.Command(c.argv[0], c.argv[1:]...)
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: c.setsid}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			pid := cmd.Process.Pid
			spared[pid] = true
			defer func() { _ = cmd.Wait() }()
			e, ok := look(pid)
			if got := adopted(e); !ok || got != c.want {
				t.Errorf("alive: %t, want %t", got, c.want)
			}
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			until(t, settle, func() bool { e, _ = look(pid); return e.dead }, func() string { return "it lives" })
			if got := adopted(e); got != c.want {
				t.Errorf("dead: %t, want %t", got, c.want)
			}
		})
	}
}
