package proc

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"
)

func TestIDNamesOneProcessOfOneBoot(t *testing.T) {
	self := Self()
	if self.PID != os.Getpid() || self.Start == 0 || len(self.Boot) != 36 || self.Boot != Boot() || !self.Lives() || self != Self() {
		t.Errorf("%+v", self)
	}
	for name, change := range map[string]func(*ID){
		"a pid that is used again":   func(id *ID) { id.Start++ },
		"an earlier one":             func(id *ID) { id.Start-- },
		"another boot":               func(id *ID) { id.Boot = "00000000-0000-4000-8000-000000000001" },
		"no boot":                    func(id *ID) { id.Boot = "" },
		"no start":                   func(id *ID) { id.Start = 0 },
		"another process":            func(id *ID) { id.PID = os.Getppid() },
		"no process":                 func(id *ID) { id.PID = 1 << 30 },
		"all processes of the group": func(id *ID) { id.PID = 0 },
		"all processes":              func(id *ID) { id.PID = -1 },
	} {
		id := self
		change(&id)
		if id.Lives() {
			t.Errorf("%s: %+v lives", name, id)
		}
		if err := id.Kill(); !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if (ID{}).Lives() {
		t.Error("nothing lives")
	}
	data, err := json.Marshal(self)
	var back ID
	if err != nil || json.Unmarshal(data, &back) != nil || back != self {
		t.Errorf("%s is not %+v", data, self)
	}
}

func TestIDKill(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	e, ok := look(cmd.Process.Pid)
	id := ID{PID: e.pid, Start: e.start, Boot: Boot()}
	if !ok || !id.Lives() {
		t.Fatalf("%+v does not live", id)
	}
	if err := id.Kill(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(2 * time.Second); id.Lives(); time.Sleep(time.Millisecond) { // a zombie is dead
		if time.Now().After(deadline) {
			t.Fatal("it lives")
		}
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.String() != "signal: killed" {
		t.Errorf("it ended with %v", err)
	}
	if err := id.Kill(); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("%v", err)
	}
}
