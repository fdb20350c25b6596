package script

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/testscript"

	"opencode-delegate/internal/testplace"
)

// commands are what scripts can use beside the commands of testscript itself.
var commands = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	"signal":      cmdSignal,
	"signal-has":  cmdSignalHas,
	"record":      cmdRecord,
	"within":      cmdWithin,
	"living":      cmdLiving,
	"wait-for":    cmdWaitFor,
	"send":        cmdSend,
	"limit-runes": cmdLimitRunes,
	"exits":       cmdExits,
	"job":         cmdJob,
	"job-of":      cmdJobOf,
	"wait-state":  cmdWaitState,
	"member":      cmdMember,
	"no-process":  cmdNoProcess,
	"end":         cmdEnd,
}

// lastSignal is the object of the last line of the last command's stderr; it has to be the only signal line there.
func lastSignal(ts *testscript.TestScript) map[string]any {
	stderr := ts.ReadFile("stderr")
	lines := strings.Split(strings.TrimSuffix(stderr, "\n"), "\n")
	last := lines[len(lines)-1]
	text, ok := strings.CutPrefix(last, "OC_SIGNAL ")
	if !ok {
		ts.Fatalf("the last line of stderr is no signal line: %q", last)
	}
	if strings.Count("\n"+stderr, "\nOC_SIGNAL ") != 1 {
		ts.Fatalf("not exactly one signal line:\n%s", stderr)
	}
	var obj map[string]any
	if err := json.Unmarshal([]byte(text), &obj); err != nil {
		ts.Fatalf("the signal is no JSON: %v: %s", err, text)
	}
	return obj
}

// signal STATUS EXIT checks the signal line.
func cmdSignal(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: signal STATUS EXIT")
	}
	s := lastSignal(ts)
	if s["status"] != args[0] || strconv.FormatFloat(s["exit"].(float64), 'f', -1, 64) != args[1] {
		ts.Fatalf("signal is %v %v, want %s %s: %v", s["status"], s["exit"], args[0], args[1], s["reason"])
	}
	for _, name := range []string{"reason", "retryable", "retry"} {
		if _, ok := s[name]; !ok {
			ts.Fatalf("signal has no %s", name)
		}
	}
}

// signal-has NAME[=VALUE]… checks members of the signal line; with !, that none is there.
func cmdSignalHas(ts *testscript.TestScript, neg bool, args []string) {
	s := lastSignal(ts)
	for _, a := range args {
		name, want, valued := strings.Cut(a, "=")
		got, ok := s[name]
		if valued {
			text, _ := json.Marshal(got)
			ok = ok && strings.Trim(string(text), `"`) == want
		}
		if ok == neg {
			ts.Fatalf("signal member %s is %v; want %q to be %v", name, got, a, !neg)
		}
	}
}

// record sets $RECORD, $JOB and $SESSION from the signal line.
func cmdRecord(ts *testscript.TestScript, neg bool, args []string) {
	s := lastSignal(ts)
	for env, name := range map[string]string{"RECORD": "record", "JOB": "job", "SESSION": "session"} {
		v, _ := s[name].(string)
		ts.Setenv(env, v)
	}
}

// within SECONDS checks that the last run, by its own account, took no longer; on a slow machine it has more time.
func cmdWithin(ts *testscript.TestScript, neg bool, args []string) {
	limit, err := strconv.ParseFloat(args[0], 64)
	ts.Check(err)
	got, ok := lastSignal(ts)["duration_s"].(float64)
	if got > limit && !neg {
		limit *= testplace.Busy()
	}
	if !ok || got > limit == !neg {
		ts.Fatalf("duration_s is %v, limit %v", got, limit)
	}
}

// living FILE checks that a process whose pid is listed in the file lives; with !, that none does. A zombie is dead. Both
// are waited for, ten seconds at most: after our own SIGKILL the guardian needs a moment.
func cmdLiving(ts *testscript.TestScript, neg bool, args []string) {
	pids := strings.Fields(ts.ReadFile(args[0]))
	if len(pids) == 0 {
		ts.Fatalf("%s lists no pid", args[0])
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		var found []string
		for _, pid := range pids {
			if alive(pid) {
				found = append(found, pid)
			}
		}
		if (len(found) > 0) == !neg {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("living: %v of %v", found, pids)
		}
	}
}

// alive reports whether a process lives. A zombie does not, once its last thread has gone too: until then it holds what it held.
func alive(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	_, rest, ok := strings.Cut(string(stat), ") ")
	f := strings.Fields(rest) // f[0] is field 3 of proc_pid_stat(5), f[17] the number of threads
	if err != nil || !ok || len(f) < 18 {
		return false
	}
	return f[0] != "X" && (f[0] != "Z" || f[17] != "0" && f[17] != "1")
}

// wait-for FILE waits until a file is there and not empty, ten seconds at most.
func cmdWaitFor(ts *testscript.TestScript, neg bool, args []string) {
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if fi, err := os.Stat(ts.MkAbs(args[0])); err == nil && fi.Size() > 0 {
			return
		}
	}
	ts.Fatalf("%s did not come", args[0])
}

// send SIGNAL sends INT, TERM, HUP or KILL to the background commands that still run.
func cmdSend(ts *testscript.TestScript, neg bool, args []string) {
	sig := map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP, "KILL": syscall.SIGKILL}[args[0]]
	for _, c := range ts.BackgroundCmds() {
		if c.ProcessState == nil {
			ts.Check(c.Process.Signal(sig))
		}
	}
}

// limit-runes N checks that the last stdout has at most N code points, and some.
func cmdLimitRunes(ts *testscript.TestScript, neg bool, args []string) {
	limit, err := strconv.Atoi(args[0])
	ts.Check(err)
	if n := utf8.RuneCountInString(ts.ReadFile("stdout")); n == 0 || n > limit {
		ts.Fatalf("stdout has %d code points, limit %d", n, limit)
	}
}
