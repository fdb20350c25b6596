package script

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// exits CODE COMMAND… runs a command and checks its exit code.
func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if err != nil {
		exit, ok := err.(interface{ ExitCode() int })
		if !ok {
			ts.Fatalf("%s: %v", args[1], err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// job [NAME] sets $JOB, or $NAME, from the last stdout, which has to be an id and nothing else; $RECORD becomes its record.
func cmdJob(ts *testscript.TestScript, neg bool, args []string) {
	out := ts.ReadFile("stdout")
	id := strings.TrimSuffix(out, "\n")
	if len(id) != 22 || strings.ContainsAny(id, " \n/") {
		ts.Fatalf("stdout is not an id: %q", out)
	}
	name := "JOB"
	if len(args) > 0 {
		name = args[0]
	}
	ts.Setenv(name, id)
	ts.Setenv("RECORD", filepath.Join(ts.Getenv("OC_DELEGATE_STATE"), "jobs", id))
}

// member PATH [VALUE] checks a member of the JSON on the last stdout: names, indexes and, for an array, len, joined by dots. Without a value it has to be
// there and not null; with !, absent, null or another value.
func cmdMember(ts *testscript.TestScript, neg bool, args []string) {
	var v any
	if err := json.Unmarshal([]byte(ts.ReadFile("stdout")), &v); err != nil {
		ts.Fatalf("stdout is no JSON: %v", err)
	}
	for _, name := range strings.Split(args[0], ".") {
		switch at := v.(type) {
		case map[string]any:
			v = at[name]
		case []any:
			if name == "len" {
				v = float64(len(at))
				continue
			}
			i, err := strconv.Atoi(name)
			ts.Check(err)
			if v = nil; i < len(at) {
				v = at[i]
			}
		default:
			v = nil
		}
	}
	ok := v != nil
	text, _ := json.Marshal(v)
	got := strings.Trim(string(text), `"`)
	if len(args) > 1 {
		ok = ok && got == args[1]
	}
	if ok == neg {
		ts.Fatalf("%s is %s", args[0], text)
	}
}

// no-process ID checks that within ten seconds no process carries the marker of a job.
func cmdNoProcess(ts *testscript.TestScript, neg bool, args []string) {
	want := "OC_DELEGATE_RUN=" + args[0]
	var found []string
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		found = nil
		names, _ := filepath.Glob("/proc/[0-9]*/environ")
		for _, n := range names {
			env, err := os.ReadFile(n)
			if err == nil && strings.Contains("\x00"+string(env), "\x00"+want+"\x00") {
				found = append(found, n)
			}
		}
		if len(found) == 0 {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("processes of job %s: %v", args[0], found)
		}
	}
}

// job-of NAME sets $NAME to the id in the JSON object on the last stdout.
func cmdJobOf(ts *testscript.TestScript, neg bool, args []string) {
	var v struct {
		ID string `json:"id"`
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &v))
	ts.Setenv(args[0], v.ID)
	ts.Setenv("RECORD", filepath.Join(ts.Getenv("OC_DELEGATE_STATE"), "jobs", v.ID))
}

// wait-state STATE waits, ten seconds at most, until the newest job is in a state, and sets $JOB and $RECORD.
func cmdWaitState(ts *testscript.TestScript, neg bool, args []string) {
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		records, _ := filepath.Glob(filepath.Join(ts.Getenv("OC_DELEGATE_STATE"), "jobs", "*"))
		if len(records) == 0 {
			continue
		}
		newest := records[len(records)-1]
		data, err := os.ReadFile(filepath.Join(newest, "state.json"))
		if err == nil && strings.Contains(string(data), `"state": "`+args[0]+`"`) {
			ts.Setenv("JOB", filepath.Base(newest))
			ts.Setenv("RECORD", newest)
			return
		}
	}
	ts.Fatalf("no newest job that is %s", args[0])
}

// supervisorOf is the pid that the record of a job names, 0 when it names none.
func supervisorOf(record string) int {
	var st struct {
		EndedAt    *time.Time `json:"ended_at"`
		Supervisor struct {
			PID int `json:"pid"`
		} `json:"supervisor"`
	}
	data, err := os.ReadFile(filepath.Join(record, "state.json"))
	if err != nil || json.Unmarshal(data, &st) != nil || st.EndedAt != nil {
		return 0
	}
	return st.Supervisor.PID
}

// endJobs ends what a script has left running; a guardian ends the rest.
func endJobs(state string) {
	records, _ := filepath.Glob(filepath.Join(state, "jobs", "*"))
	for _, r := range records {
		if pid := supervisorOf(r); pid > 1 {
			_ = kill(pid, "KILL")
		}
	}
}

// end SIGNAL ID… sends a signal to the supervisors of jobs, as their records name them.
func cmdEnd(ts *testscript.TestScript, neg bool, args []string) {
	for _, id := range args[1:] {
		pid := 0 // which it writes down a moment after it has the lease
		for deadline := time.Now().Add(10 * time.Second); pid == 0 && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			pid = supervisorOf(filepath.Join(ts.Getenv("OC_DELEGATE_STATE"), "jobs", id))
		}
		if pid < 2 {
			ts.Fatalf("job %s has no supervisor", id)
		}
		ts.Check(kill(pid, args[0]))
		for deadline := time.Now().Add(10 * time.Second); args[0] == "KILL" && alive(strconv.Itoa(pid)) && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
	}
}
