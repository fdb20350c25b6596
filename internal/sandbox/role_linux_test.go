package sandbox

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// The supervisor has to be able to end what it has locked in.
func TestTheOutsideCanKill(t *testing.T) {
	b := newBench(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	wrapped, env, err := b.readOnly(t).Command(self, []string{"/bin/bash", "-c", "echo $$; exec sleep 60"})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(wrapped[0], wrapped[1:]...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if pid := strings.TrimSpace(line); err != nil || pid != strconv.Itoa(cmd.Process.Pid) {
		t.Errorf("the command runs as process %q (%v), started was %d", pid, err, cmd.Process.Pid)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if s, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || s.Signal() != syscall.SIGTERM {
		t.Errorf("ended as %v", cmd.ProcessState)
	}
}

func TestRefusesRatherThanRunsFree(t *testing.T) {
	b := newBench(t)
	linked := filepath.Join(b.root, "linked")
	if err := os.Symlink(b.run.Home, linked); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		policy Policy
		env    string
		argv   []string
	}{
		"no Landlock":            {Policy{}, NoLandlockEnv + "=1", nil},
		"no policy":              {Policy{}, policyEnv + "=", nil},
		"a policy of another":    {Policy{}, policyEnv + "=[]", nil},
		"a grant became a link":  {Policy{Write: []string{linked}}, "", nil},
		"a link inside of grant": {Policy{Write: []string{filepath.Join(linked, ".local")}}, "", nil},
		"no such program":        {Policy{}, "", []string{"/no/such/program"}},
	} {
		argv := c.argv
		if argv == nil {
			argv = []string{"/bin/bash", "-c", "echo STARTED"}
		}
		var environ []string
		if c.env != "" {
			environ = []string{c.env}
		}
		out, code := b.exec(t, c.policy, argv, environ...)
		if code != Refused || strings.Contains(out, "STARTED") || !strings.HasPrefix(out, "oc-delegate: sandbox: ") || strings.Count(out, "\n") != 1 {
			t.Errorf("%s: exit %d, %q", name, code, out)
		}
	}
}

func TestThePolicyGoesNoFurther(t *testing.T) {
	b := newBench(t)
	out, code := b.sh(t, b.readOnly(t), "env; cat /proc/self/status | grep -i NoNewPrivs", "MARK=kept", "EMPTY=")
	if code != 0 || strings.Contains(out, policyEnv) || !strings.Contains(out, "MARK=kept") || !strings.Contains(out, "EMPTY=") || !strings.Contains(out, "NoNewPrivs:\t1") {
		t.Errorf("exit %d, %s", code, out)
	}
	if out, _ = b.exec(t, b.readOnly(t), []string{"/bin/echo", "a b", "*", "--", "__sandbox", ""}); out != "a b * -- __sandbox \n" {
		t.Errorf("the arguments arrived as %q", out)
	}
}

func TestSupportNamesGaps(t *testing.T) {
	for abi, want := range map[int]struct {
		ok   bool
		gaps int
	}{1: {false, 0}, 2: {false, 0}, 3: {true, 2}, 4: {true, 2}, 5: {true, 1}, 6: {true, 0}, 99: {true, 0}} {
		if s := supportOf(abi); s.OK() != want.ok || len(s.Gaps) != want.gaps {
			t.Errorf("ABI %d: %+v", abi, s)
		}
	}
	if s := Detect(func(name string) string { return map[string]string{NoLandlockEnv: "1"}[name] }); s.OK() || s.ABI != 0 {
		t.Errorf("with %s: %+v", NoLandlockEnv, s)
	}
	if handled(3).HandledAccessFS>>15 != 0 || handled(5).Scoped != 0 || handled(6).Scoped == 0 || handled(5).HandledAccessFS>>15 != 1 {
		t.Error("a ruleset asks an old kernel for what it does not know")
	}
	if s := Detect(os.Getenv); !s.OK() {
		t.Errorf("these tests need a kernel with Landlock: %s", s.Reason)
	}
}
