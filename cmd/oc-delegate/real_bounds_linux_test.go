package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"opencode-delegate/internal/verify"
)

// A check runs what the worker has written, and is bounded as the worker is: in its processes, in its output, and in its time (one that hangs is among the liars).
func TestRealCheckIsBounded(t *testing.T) {
	// Processes that want to stay: with the check's output open, in a session of its own, without a trace in its environment, forked twice and deaf.
	const daemons = `sleep 311 & setsid sleep 312 & (env -i setsid sleep 313 &) ; (setsid sh -c "trap '' TERM HUP; sleep 314; sleep 315" >/dev/null 2>&1 </dev/null &) ; sleep 1; `
	for _, c := range []struct {
		name, work, want, verdict string
		where                     []string
		says                      string // in what is shown of it
		log                       int64  // bytes of its log, but for a line about what was left out
	}{
		{"daemons", daemons + "exit 0", "OK", "pass", nil, "", 0},
		{"daemons of one that fails", daemons + "exit 1", "VERIFY_FAILED", "fail", []string{"--isolate"}, "", 0},
		{"a gigabyte of lines", `yes "a line of a build that says the same again and again" | head -c 1000000000; echo; echo "FAIL: work_test.sh:7: no goodbye"; yes "and goes on" | head -c 100000; exit 3`,
			"VERIFY_FAILED", "fail", []string{"--isolate"}, "FAIL: work_test.sh:7: no goodbye", verify.LogLimit},
		{"a gigabyte in a line", `head -c 1000000000 /dev/zero | tr "\0" x >&2; exit 3`, "VERIFY_FAILED", "fail", nil, "xxxx", verify.LogLimit},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			p := realPlace(t)
			p.Write("project/work.sh", "exit 1\n")
			p.Git("add", ".")
			p.Git("commit", "-q", "-m", "two")
			o := p.run(lie(t, "cat >work.sh <<'E'\n"+c.work+"\nE\n"), append(c.where, "--write", "--repair", "0", "--allow-test-changes", "--verify", "sh ./work.sh")...).want(t, c.want)
			r := p.result(o)
			if left := p.Living(); len(left) > 0 {
				t.Errorf("processes live on: %q", left)
			}
			if told := strings.Contains(strings.Join(r.Notes, "\n"), "outlived the check"); told != strings.HasPrefix(c.name, "daemons") {
				t.Errorf("of processes it says %q", r.Notes)
			}
			if o.took > 3*time.Minute {
				t.Errorf("it took %s", o.took)
			}
			check := r.Verification.Checks[len(r.Verification.Checks)-1]
			if r.Verification.Verdict != c.verdict || check.Verdict != c.verdict || !strings.Contains(check.Excerpt, c.says) {
				t.Errorf("verdict %s: %+v", r.Verification.Verdict, check)
			}
			if len(check.Excerpt) > 8000 || len(o.stdout)+len(o.stderr) > 20000 {
				t.Errorf("an excerpt of %d bytes, stdout of %d, stderr of %d", len(check.Excerpt), len(o.stdout), len(o.stderr))
			}
			info, err := os.Stat(check.Log)
			if err != nil {
				t.Fatal(err)
			}
			if info.Size() < c.log || info.Size() > c.log+100 {
				t.Errorf("a log of %d bytes", info.Size())
			}
		})
	}
}
