package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"opencode-delegate/internal/delegate"
	"opencode-delegate/internal/job"
	"opencode-delegate/internal/ledger"
	"opencode-delegate/internal/testplace"
)

// does is a task with the directive for the scripted model: one command, and a word at its end.
func does(t *testing.T, command string) string {
	t.Helper()
	text, err := json.Marshal([]map[string]any{
		{"tool": "bash", "args": map[string]any{"command": command, "description": "work"}},
		{"text": "Done."},
	})
	if err != nil {
		t.Fatal(err)
	}
	return "Do it. [[mock:" + string(text) + "]]"
}

// resultOf is what a job came to, of whatever exit code.
func (p *place) resultOf(id string) (r delegate.Result) {
	p.T.Helper()
	a := p.job("result", "--json", id)
	if err := json.Unmarshal([]byte(a.stdout), &r); err != nil || r.ID != id || r.Exit != a.exit {
		p.T.Fatalf("exit %d, %v: %s%s", a.exit, err, a.stdout, a.stderr)
	}
	return r
}

// listed is what oc-job list says of each job.
func (p *place) listed() map[string]entry {
	p.T.Helper()
	var list []entry
	if err := json.Unmarshal([]byte(p.job("list", "--json").want(p.T, 0, "").stdout), &list); err != nil {
		p.T.Fatal(err)
	}
	all := map[string]entry{}
	for _, e := range list {
		all[e.ID] = e
	}
	return all
}

// checkout is the caller's work tree and all of its .git, but for the refs that keep the bases of isolated jobs.
func (p *place) checkout() map[string]string {
	p.T.Helper()
	files := p.Snapshot("home")
	maps.DeleteFunc(files, func(name, _ string) bool {
		return !strings.HasPrefix(name, "project/") || strings.HasPrefix(name, "project/.git/refs/opencode-delegate")
	})
	if _, err := os.Lstat(filepath.Join(p.Project, ".git/opencode")); err == nil { // it is in no snapshot
		files["project/.git/opencode"] = ""
	}
	return files
}

// Ten isolated jobs at once in one repository: each has its own files, comes to its own end, and lands by itself; until then the caller's checkout is as it was.
func TestRealIsolatedJobsAtOnce(t *testing.T) {
	t.Parallel()
	p := &place{testplace.Real(t)}
	p.Write("project/.git/hooks/pre-commit", "#!/bin/sh\nexit 1\n")
	p.Write("project/staged.txt", "staged\n")
	p.Git("add", "staged.txt")
	p.Write("project/a.txt", "hello, not committed\n")
	p.Write("project/mine.txt", "not tracked\n")
	before := p.checkout()
	jobs := []struct {
		does string // after it has written its file
		want string // status
		id   string
	}{
		{does: "true", want: "OK"},
		{does: "git add -A && git commit -q -m by-the-worker", want: "OK"},
		{does: "echo bad >$own", want: "VERIFY_FAILED"},
		// opencode refuses a command whose paths it sees to lie outside.
		{does: "sh -c 'cd " + p.Project + "; echo x >evil.txt; git add -A; git commit -q -n -m evil; git config user.name evil; git update-ref refs/heads/evil HEAD; rm -f a.txt .git/index'; true", want: "OK"},
		{does: "mkdir -p .git/hooks; cp $own .git/hooks/post-checkout; chmod +x .git/hooks/post-checkout", want: "WRITE_VIOLATION"},
		{does: "rm $own", want: "NO_CHANGES"},
		{does: "git add -A && git commit -q -m by-the-worker && git checkout -q -b else && git tag mine && git pack-refs --all && git gc -q --prune=now", want: "OK"},
		{does: "git config core.hooksPath /tmp; git config --unset core.hooksPath; git stash -q -u && git stash pop -q", want: "OK"},
		{does: "chmod u+w $own; cp $own saved; git reset -q --hard; git clean -qfdx -e saved; mv saved $own", want: "OK"},
		{does: "touch .git/index.lock .git/HEAD.lock .git/config.lock", want: "OK"},
	}
	for i := range jobs {
		own := fmt.Sprintf("own-%d.txt", i)
		// What another job has written must not be in sight: neither of the worker nor of the check.
		jobs[i].id = p.begin("--max-jobs", "10", "--write", "--isolate", "--repair", "0", "--verify", fmt.Sprintf("grep -q good %s && test \"$(ls own-*)\" = %[1]s", own),
			does(t, fmt.Sprintf("test \"$(echo own-*)\" = 'own-*' || exit 1; own=%s; echo good, by %[1]s >$own; %s", own, jobs[i].does)))
	}
	p.until("ten at work", func() bool {
		n := 0
		for _, e := range p.listed() {
			if e.State == job.Running {
				n++
			}
		}
		return n == len(jobs)
	})
	for _, j := range jobs {
		p.job("wait", "--timeout", "10m", j.id)
	}
	testplace.Same(t, before, p.checkout())
	if refs := strings.Fields(p.Git("for-each-ref", "--format=%(refname)", "refs/opencode-delegate")); len(refs) != len(jobs) {
		t.Errorf("refs %q, want %d", refs, len(jobs))
	}
	list := p.listed()
	for i, j := range jobs {
		r, own := p.resultOf(j.id), fmt.Sprintf("own-%d.txt", i)
		if string(r.Status) != j.want || (r.Verification.Verdict == "pass") != (j.want == "OK") {
			t.Errorf("%d: %s, %s: %s", i, r.Status, r.Verification.Verdict, r.Reason)
		}
		diff := p.job("diff", j.id).want(t, 0, "")
		if j.want == "NO_CHANGES" {
			if diff.stdout != "" || list[j.id].Work != job.NoWork {
				t.Errorf("%d: %s, with the difference %s", i, list[j.id].Work, diff.stdout)
			}
			continue
		}
		if strings.Count(diff.stdout, "\n+++ ") != 1 || !strings.Contains(diff.stdout, "\n+++ b/"+own+"\n") || list[j.id].Work != job.Unlanded {
			t.Errorf("%d: %s, with the difference %s", i, list[j.id].Work, diff.stdout)
		}
		if strings.Contains(diff.stderr, "by-the-worker") != strings.Contains(j.does, "by-the-worker") {
			t.Errorf("%d: of commits it says %s", i, diff.stderr)
		}
	}
	want := maps.Clone(before)
	for i, j := range jobs {
		if j.want == "NO_CHANGES" {
			continue
		}
		args := []string{"apply", j.id}
		if j.want != "OK" {
			if a := p.job(args...); a.exit == 0 || !strings.Contains(a.stderr, "not approved") {
				t.Errorf("%d: apply without --force came to %d: %s", i, a.exit, a.stderr)
			}
			args = append(args, "--force")
		}
		own, text := fmt.Sprintf("own-%d.txt", i), fmt.Sprintf("good, by own-%d.txt\n", i)
		if j.want == "VERIFY_FAILED" {
			text = "bad\n"
		}
		p.job(args...).want(t, 0, own)
		want["project/"+own] = "-rw-r--r-- " + text
	}
	testplace.Same(t, want, p.checkout()) // and so nothing was staged or committed
	for _, j := range jobs {
		p.job("discard", j.id).want(t, 0, "")
	}
	if refs := p.Git("for-each-ref", "--format=%(refname)", "refs/opencode-delegate"); refs != "" {
		t.Errorf("refs stay: %s", refs)
	}
}

// hang starts what does not end by itself, one of it without a trace in its environment, says so by a command, and stays.
func hang(say string) string {
	return "(trap '' TERM; setsid sleep 301) & env -i PATH=\"$PATH\" setsid sleep 302 & " + say + "; sleep 303"
}

// The supervisor of an isolated job dies: what was made is found, nothing lives on, nothing is taken for checked, and recover goes on with it.
func TestRealSupervisorOfACopyDies(t *testing.T) {
	for name, c := range map[string]struct {
		worker string // instead of one that ends
		at     string // in the record: what is there when it dies
	}{
		"in a command": {hang("echo 1 >one"), "copies/1/tree/one"},
		"in a check":   {"echo 1 >one", "copies/1/after-1.1/tree/checking"},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			p := &place{testplace.Real(t)}
			p.Write("project/mine.txt", "not committed\n")
			before := p.checkout()
			id := p.begin("--write", "--isolate", "--verify", "test -e one || exit 1; test -e two && exit 0; "+hang("touch checking"),
				does(t, "if test -e one; then echo 2 >two; else "+c.worker+"; fi"))
			p.until("the moment", func() bool { _, err := os.Stat(filepath.Join(p.Root, "state/jobs", id, c.at)); return err == nil })
			for _, sleep := range []string{"sleep 301", "sleep 302", "sleep 303"} {
				p.until(sleep, func() bool { return strings.Contains(strings.Join(p.Living(), "\n"), sleep) })
			}
			st := p.state(id)
			if err := syscall.Kill(st.Supervisor.PID, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			p.until("the end of the supervisor", func() bool { return !st.Supervisor.Lives() })
			if e := p.listed()[id]; e.State != job.Lost || e.Work != job.Unlanded || e.Exit == nil || *e.Exit != 18 {
				t.Errorf("%+v", e)
			}
			p.until("the end of all processes", func() bool { return len(p.Living()) == 0 })
			if r := p.resultOf(id); r.Exit != 18 || r.Verification.Verdict == "pass" || r.Session == nil || r.Isolation == nil {
				t.Errorf("%+v", r)
			}
			if diff := p.job("diff", id).want(t, 0, "\n+++ b/one\n").stdout; strings.Count(diff, "\n+++ ") != 1 || !strings.Contains(diff, "\n+1\n") {
				t.Errorf("%s", diff)
			}
			if a := p.job("apply", id); a.exit != 9 || !strings.Contains(a.stderr, "the verdict is could_not_run") {
				t.Errorf("apply came to %d: %s", a.exit, a.stderr)
			}
			testplace.Same(t, before, p.checkout())

			more := strings.TrimSpace(p.job("recover", id).want(t, 0, "").stdout)
			p.job("wait", "--timeout", "5m", more).want(t, 0, more+" succeeded OK")
			if r := p.resultOf(more); r.Verification.Verdict != "pass" || len(r.Changes.Files) != 2 || *r.Session != st.Session {
				t.Errorf("%+v", r)
			}
			testplace.Same(t, before, p.checkout())
			p.job("apply", more).want(t, 0, "")
			before["project/one"], before["project/two"] = "-rw-r--r-- 1\n", "-rw-r--r-- 2\n"
			testplace.Same(t, before, p.checkout())
			if list := p.listed(); list[id].Work != job.Unlanded || list[more].Work != job.Applied {
				t.Errorf("%+v", list)
			}
		})
	}
}

// Of two attempts that hold the smaller one is taken, and all that any attempt of any job has cost is in the report, once.
func TestRealBestOfAddsUp(t *testing.T) {
	t.Parallel()
	p := &place{testplace.Real(t)}
	p.Env = append(p.Env, "OC_TIER_CODE=mock/other", "OC_TIER_PRO=mock/edit")
	best := p.begin("--write", "--best-of", "2", "--verify", "grep -q good new.txt", does(t, `case $PWD in */copies/1/*) seq 9 >>new.txt;; esac; echo good >>new.txt`))
	climbs := p.begin("--tier", "code", "--write", "--escalate", "pro", "--verify", "grep -q goodbye a.txt", "Write b.txt, and say goodbye in a.txt.") // mock/other does the first half
	read := p.begin("Say it. [[mock:text]]")
	p.job("wait", "--timeout", "5m", best, climbs, read).want(t, 0, read+" succeeded OK")

	r := p.resultOf(best)
	if r.Try != 2 || r.Verification.Verdict != "pass" || *r.Changes.Insertions != 1 || len(r.Attempts) != 2 {
		t.Errorf("%+v", r)
	}
	for _, a := range r.Attempts {
		if a.Status != "OK" || a.Verdict != "pass" || a.Model != "mock/worker" || a.Usage == nil || a.Usage.CostUSD == nil || a.Role != delegate.RoleWork {
			t.Errorf("%+v", a)
		}
	}
	if diff := p.job("diff", best).want(t, 0, "\n+good\n").stdout; strings.Contains(diff, "\n+9\n") {
		t.Errorf("%s", diff)
	}

	var want ledger.Totals
	models := map[string]ledger.USD{}
	for _, id := range []string{best, climbs, read} {
		r, tries := p.resultOf(id), map[int]string{}
		for _, a := range r.Attempts {
			cost, ok := ledger.FromFloat(*a.Usage.CostUSD)
			if !ok {
				t.Errorf("%+v", a.Usage)
			}
			want.Cost, models[a.Model] = want.Cost+cost, models[a.Model]+cost
			want.Input, want.Output, want.Reasoning, want.CacheRead = want.Input+a.Usage.Input, want.Output+a.Usage.Output, want.Reasoning+a.Usage.Reasoning, want.CacheRead+a.Usage.CacheRead
			want.Attempts++
			tries[a.Try] = a.Verdict // the last one of each
		}
		want.Runs, want.Tries = want.Runs+1, want.Tries+int64(len(tries))
		for _, verdict := range tries {
			switch verdict {
			case "pass":
				want.Pass++
			case "fail":
				want.Fail++
			}
		}
	}
	if want.Attempts != 6 || want.Tries != 5 || want.Pass != 3 || want.Fail != 1 || len(models) != 3 {
		t.Errorf("the results tell of %+v, %v", want, models)
	}
	for _, by := range ledger.Bys() {
		var s sheet
		if err := json.Unmarshal([]byte(p.job("report", "--json", "--by", string(by)).want(t, 0, "").stdout), &s); err != nil {
			t.Fatal(err)
		}
		var rows ledger.Totals
		for _, row := range s.Rows {
			rows.Cost, rows.Attempts, rows.Tries, rows.Runs = rows.Cost+row.Cost, rows.Attempts+row.Attempts, rows.Tries+row.Tries, rows.Runs+row.Runs
			if by == ledger.ByModel && row.Cost != models[row.Key] {
				t.Errorf("%s has cost %v, and its attempts %v", row.Key, row.Cost, models[row.Key])
			}
		}
		all := s.Total.Totals
		if rows.Cost != all.Cost || rows.Attempts != all.Attempts || rows.Tries != all.Tries || rows.Runs != all.Runs {
			t.Errorf("by %s the rows add up to %+v, and the total is %+v", by, rows, all)
		}
		told := ledger.Totals{Cost: all.Cost, Input: all.Input, Output: all.Output, Reasoning: all.Reasoning, CacheRead: all.CacheRead,
			Attempts: all.Attempts, Runs: all.Runs, Tries: all.Tries, Pass: all.Pass, Fail: all.Fail}
		if told != want || all.Unpriced != 0 || all.Partial != 0 || s.Damaged != 0 {
			t.Errorf("by %s the report tells of %+v, and the results of %+v", by, all, want)
		}
	}
}
