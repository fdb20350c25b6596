package doctor

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/job"
	"opencode-delegate/internal/lock"
	"opencode-delegate/internal/redact"
	"opencode-delegate/internal/testplace"
)

func TestStateDirectory(t *testing.T) {
	t.Parallel()
	p := testplace.Fake(t)
	p.Write("file", "")
	for env, text := range map[string]string{
		"relative":                      "absolute path",
		filepath.Join(p.Root, "file"):   "not a directory",
		filepath.Join(p.Root, "bin"):    "",
		"/dev/null/" + "opencode-state": "not a directory",
	} {
		r := examine(t, machineOf(p, "OC_DELEGATE_STATE="+env))
		if text == "" {
			r.want("state", Warn, env, "open to others") // it holds what is not ours, so its mode is not ours to change
			continue
		}
		r.want("state", Fail, text, "OC_DELEGATE_STATE")
		r.none("space", "locks", "jobs")
		r.want("opencode", OK)
	}
	dir := t.TempDir()
	if f := directory(filepath.Join(dir, "none")); f.Level != Fail || f.Remedy == "" {
		t.Errorf("%+v", f)
	}
	os.Chmod(dir, 0o700)
	if f := directory(dir); f.Level != OK {
		t.Errorf("%+v", f)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if runtime.GOOS == "windows" {
		return
	}
	os.Chmod(dir, 0o750)
	if f := directory(dir); f.Level != Warn || !strings.Contains(f.What, "0750") || f.Remedy != "chmod 700 "+dir {
		t.Errorf("%+v", f)
	}
}

func TestJudgeSpace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		bytes uint64
		files int64
		level Level
		text  string
	}{
		{77 << 30, 1 << 20, OK, "77.0 GiB free"},
		{1 << 30, -1, OK, "1.0 GiB free"},
		{1<<30 - 1, -1, Warn, "only 1023 MiB free"},
		{50 << 20, 1 << 20, Warn, "only 50 MiB free"},
		{50<<20 - 1, 1 << 20, Fail, "only 49 MiB free"},
		{0, 0, Fail, "only 0 MiB free, and room for only 0 more files"},
		{9 << 30, 9999, Warn, "9.0 GiB free, and room for only 9999 more files"},
		{9 << 30, 10000, OK, "9.0 GiB free"},
		{9 << 30, 499, Fail, "499 more files"},
		{1 << 20, 9999, Fail, "only 1 MiB free"},
	} {
		f := judgeSpace("/state", c.bytes, c.files)
		if f.Level != c.level || !strings.Contains(f.What, c.text) || (f.Remedy == "") != (c.level == OK) {
			t.Errorf("%d bytes, %d files: %+v", c.bytes, c.files, f)
		}
	}
	if bytes, files, err := free(t.TempDir()); err != nil || bytes == 0 || files == 0 {
		t.Errorf("%d %d %v", bytes, files, err)
	}
	if f := space(filepath.Join(t.TempDir(), "none")); f.Level != Warn || f.Remedy == "" {
		t.Errorf("%+v", f)
	}
}

func TestTryLocks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if f := locks(dir); f.Level != OK {
		t.Errorf("%+v", f)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if f := locks(filepath.Join(dir, "none")); f.Level != Fail || f.Remedy == "" {
		t.Errorf("%+v", f)
	}
}

// forge writes the record of a job that was never run; it ended an hour ago, or never.
func forge(t *testing.T, root string, phase job.Phase, change func(*job.State)) string {
	t.Helper()
	at := time.Now().Add(-time.Hour).UTC()
	exit := 0
	st := job.State{Schema: job.Schema, ID: job.NewID(at), State: phase, Status: fault.OK, Exit: &exit, Caller: "shell", CreatedAt: at, StartedAt: &at, EndedAt: &at}
	if !phase.Terminal() {
		st.Status, st.Exit, st.EndedAt = "", nil, nil
	}
	change(&st)
	data, err := json.Marshal(st)
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(root, "jobs", st.ID, "state.json"), string(data))
	return st.ID
}

func put(t *testing.T, path, content string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func hold(t *testing.T, path string) {
	t.Helper()
	l, err := lock.Try(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Release)
}

func unchanged(*job.State) {}

// stateOf is what is written down of a job.
func stateOf(t *testing.T, root, id string) (st job.State) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "jobs", id, "state.json"))
	if err == nil {
		err = json.Unmarshal(data, &st)
	}
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// What lies in records and repositories beside jobs: work that is nowhere else is told, what was cut off is named with the call that goes on, and a ref of a
// record that has gone goes with --fix.
func TestWorkIsLookedAt(t *testing.T) {
	t.Parallel()
	p := testplace.Fake(t)
	root := filepath.Join(p.Root, "state")
	if _, err := job.OpenStore(root, redact.New(nil)); err != nil {
		t.Fatal(err)
	}
	unlanded := forge(t, root, job.Cancelled, func(st *job.State) { st.Status, st.Isolated = fault.Cancelled, true })
	put(t, filepath.Join(root, "jobs", unlanded, "copies/1/tree/x"), "work")
	cut := forge(t, root, job.Succeeded, func(st *job.State) { st.Isolated = true })
	put(t, filepath.Join(root, "jobs", cut, "copies/1/tree/x"), "work")
	put(t, filepath.Join(root, "jobs", cut, "landed.json"), `{"schema":1,"what":"merged"}`)
	gone := job.NewID(time.Now().Add(-time.Hour))
	note := put(t, filepath.Join(root, "refs", gone), filepath.Join(p.Root, "no repository any more")+"\n")
	past := time.Now().Add(-time.Hour)
	if err := os.Chtimes(note, past, past); err != nil {
		t.Fatal(err)
	}

	m := machineOf(p)
	r := examine(t, m)
	r.want("work", OK, "2 jobs hold work that is nowhere else", unlanded, cut, "oc-job discard ID")
	r.want("cut off", Warn, "oc-job merge of job "+cut, "oc-job merge "+cut+" goes on with it")
	r.want("refs", Warn, "1 ref", gone, "oc-job doctor --fix")
	m.Fix = true
	r = examine(t, m)
	r.want("refs", OK, "removed 1 of 1")
	r.want("work", OK, "2 jobs")
	examine(t, m).none("refs")
}

func TestJobsAreLookedAtAndMended(t *testing.T) {
	t.Parallel()
	p := testplace.Fake(t)
	root := filepath.Join(p.Root, "state")
	if _, err := job.OpenStore(root, redact.New(nil)); err != nil {
		t.Fatal(err)
	}
	dead := forge(t, root, job.Running, unchanged)
	lost := forge(t, root, job.Lost, func(st *job.State) { st.Status = fault.JobLost })
	forge(t, root, job.Succeeded, unchanged)
	live := forge(t, root, job.Running, unchanged)
	hold(t, filepath.Join(root, "jobs", live, "lease"))
	damaged := job.NewID(time.Now().Add(-time.Hour))
	put(t, filepath.Join(root, "jobs", damaged, "state.json"), "{")
	gone := put(t, filepath.Join(root, "jobs", ".removed-x", "state.json"), "{}")

	m := machineOf(p)
	r := examine(t, m)
	r.want("jobs", OK, "5 records, 1 of them alive")
	r.want("undecided", Warn, "1 job", dead, "oc-job doctor --fix")
	r.want("lost", Warn, "1 job", lost, "oc-job recover", "oc-job retry")
	r.want("records", Warn, damaged, "damaged", filepath.Join(root, "jobs", damaged))
	r.want("leftovers", Warn, "1 file", "oc-job gc")
	r.none("held", "stopped", "orphans")
	if !r.OK {
		t.Error("none of that is a failure")
	}
	if st := stateOf(t, root, dead); st.State != job.Running {
		t.Errorf("it was decided without --fix: %s", st.State)
	}
	if _, err := os.Stat(gone); err != nil {
		t.Error(err)
	}

	m.Fix = true
	r = examine(t, m)
	if f := r.want("undecided", OK, dead); f.Fixed != "decided: "+dead+" is lost" {
		t.Errorf("%+v", f)
	}
	r.want("leftovers", OK, "removed 1 of 1")
	r.want("lost", Warn, "2 jobs", lost, dead)
	r.want("records", Warn, damaged)
	r.want("jobs", OK, "5 records, 1 of them alive")
	if st := stateOf(t, root, dead); st.State != job.Lost {
		t.Errorf("it was not decided: %s", st.State)
	}
	if st := stateOf(t, root, live); st.State != job.Running {
		t.Errorf("a job that lives became %s", st.State)
	}
	if _, err := os.Stat(filepath.Dir(gone)); err == nil {
		t.Error("a leftover stayed")
	}
	examine(t, m).none("undecided", "leftovers")
}
