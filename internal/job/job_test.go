package job

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"opencode-delegate/internal/delegate"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/lock"
	"opencode-delegate/internal/record"
	"opencode-delegate/internal/redact"
)

func TestIDsSortByTime(t *testing.T) {
	at := time.Date(2026, 11, 29, 19, 30, 15, 0, time.UTC)
	var ids []string
	for ms := range 1000 {
		ids = append(ids, NewID(at.Add(time.Duration(ms)*time.Millisecond)))
	}
	ids = append(ids, NewID(at.Add(time.Second)), NewID(at.AddDate(1, 0, 0)))
	if !slices.IsSorted(ids) {
		t.Error("ids are not in the order of their times")
	}
	for _, id := range ids {
		if err := CheckID(id); err != nil {
			t.Fatal(err)
		}
	}
	if made, err := birthOf(ids[999]); err != nil || !made.Equal(at) {
		t.Errorf("%s tells %v, %v", ids[999], made, err)
	}
	for _, bad := range []string{"", "..", "../20261129-193015-0k7u2m", "20261129-193015-0k7u2m/x", "20261129-193015-0k7u2M", "20261129-193015-0k7u2mz"} {
		if CheckID(bad) == nil {
			t.Errorf("%q passed", bad)
		}
	}
	if _, err := birthOf("20261340-193015-0k7u2m"); err == nil {
		t.Error("a month of 13 passed")
	}
}

func TestLifeOfAForegroundJob(t *testing.T) {
	s := open(t)
	o := foreground()
	o.Prompt = "exact \x1b prompt"
	j := made(t, s, o)
	id := j.State().ID
	if held, err := lock.Held(s.lease(id)); !held || err != nil {
		t.Errorf("lease held %v, %v while the job lives", held, err)
	}
	if st := look(t, s, id); st.State.State != Queued || st.Supervisor == nil || !st.Supervisor.Lives() || st.Background || st.Exit != nil || st.QueuedAt == nil {
		t.Errorf("%+v", st)
	}
	if live, err := s.Live(t.Context()); err != nil || len(live) != 1 {
		t.Errorf("%v %v", live, err)
	}
	now := time.Now()
	if err := j.Update(func(st *State) { st.State, st.StartedAt = Running, &now }); err != nil {
		t.Fatal(err)
	}
	if err := j.finish(ended(j, fault.OK)); err != nil {
		t.Fatal(err)
	}
	if held, _ := lock.Held(s.lease(id)); held {
		t.Error("lease held after the end")
	}
	v := look(t, s, id)
	if v.State.State != Succeeded || v.Exit == nil || *v.Exit != 0 || v.EndedAt == nil || v.Status != fault.OK {
		t.Errorf("%+v", v)
	}
	if exists(filepath.Join(s.root, activeDir, id)) {
		t.Error("it counts among the living")
	}
	if live, err := s.Live(t.Context()); err != nil || len(live) != 0 {
		t.Errorf("it lives: %v %v", live, err)
	}
	if got, err := s.ReadPrompt(id); got != o.Prompt || err != nil {
		t.Errorf("prompt %q, %v", got, err)
	}
	if res, err := s.Result(v); err != nil || res.Status != fault.OK || res.Record != s.dir(id) {
		t.Errorf("%+v, %v", res, err)
	}
}

// What the result knows better than the state is taken over.
func TestTheStateLearnsFromTheResult(t *testing.T) {
	s := open(t)
	j := in(t, s, Running)
	res := ended(j, fault.Timeout)
	session, cost := "ses_x", 0.25
	res.Session, res.Model, res.SessionDead, res.Usage = &session, "mock/resolved", "it is full", &delegate.Usage{CostUSD: &cost}
	res.Opencode.Version = "1.2.3"
	if err := j.finish(res); err != nil {
		t.Fatal(err)
	}
	v := look(t, s, j.state.ID)
	if v.State.State != TimedOut || *v.Exit != 12 || v.Session != "ses_x" || v.Model != "mock/resolved" || v.Requested != "mock/worker" || v.Dead != "it is full" ||
		v.Version != "1.2.3" || v.Reason != res.Reason || v.CostUSD == nil || *v.CostUSD != cost || !v.EndedAt.Equal(res.EndedAt) {
		t.Errorf("%+v", v)
	}
	if got, err := s.Result(v); err != nil || got.SessionDead != "it is full" || got.Exit != 12 {
		t.Errorf("%+v %v", got, err)
	}
}

func TestModesHoldWhateverTheUmask(t *testing.T) {
	if runtime.GOOS == "windows" {
		return
	}
	defer setUmask(setUmask(0))
	s := open(t)
	j := in(t, s, Running)
	f, err := j.Record.Create(record.Events)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if err := s.mark(j.state.ID, wish{"shell", time.Now()}); err != nil {
		t.Fatal(err)
	}
	j.finish(ended(j, fault.OK))
	s.CacheDir()
	made(t, s, foreground()).dies()
	filepath.WalkDir(s.root, func(path string, d os.DirEntry, err error) error {
		fi, _ := os.Lstat(path)
		want := os.FileMode(0o600)
		if fi.IsDir() {
			want = 0o700
		}
		if fi.Mode().Perm() != want {
			t.Errorf("%s: %v, want %v", path, fi.Mode().Perm(), want)
		}
		return nil
	})
}

func TestRootIsRefused(t *testing.T) {
	base := t.TempDir()
	os.Mkdir(filepath.Join(base, "dir"), 0o700)
	os.Symlink(filepath.Join(base, "dir"), filepath.Join(base, "link"))
	os.WriteFile(filepath.Join(base, "file"), nil, 0o600)
	os.Mkdir(filepath.Join(base, "shared"), 0o700)
	os.WriteFile(filepath.Join(base, "shared", "other"), nil, 0o600)
	os.Chmod(filepath.Join(base, "shared"), 0o777)
	os.Mkdir(filepath.Join(base, "linked"), 0o700)
	os.Symlink(filepath.Join(base, "dir"), filepath.Join(base, "linked", "active"))
	for name, want := range map[string]string{
		"link": "symbolic link", "file": "not a directory", "shared": "written by others", "linked": "must be a directory of your own",
	} {
		_, err := OpenStore(filepath.Join(base, name), redact.New(nil))
		var f *fault.Error
		if !errors.As(err, &f) || f.Kind != fault.Usage || !strings.Contains(f.Reason, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Empty, or with nothing but what is ours: the mode is ours to tighten.
	for _, entries := range [][]string{nil, {jobsDir, activeDir, newsDir, cachesDir, createLock, queueLock}} {
		root := filepath.Join(base, "open")
		os.RemoveAll(root)
		os.Mkdir(root, 0o755)
		os.Chmod(root, 0o755)
		for _, e := range entries {
			os.Mkdir(filepath.Join(root, e), 0o700)
		}
		if _, err := OpenStore(root, redact.New(nil)); err != nil {
			t.Error(err)
		}
		if fi, _ := os.Stat(root); fi.Mode().Perm() != 0o700 && runtime.GOOS != "windows" {
			t.Errorf("a state directory with %v stayed %v", entries, fi.Mode())
		}
	}
}

func TestRootPath(t *testing.T) {
	for _, c := range []struct {
		state, xdg, home, want string
	}{
		{"/s/../t", "/x", "/h", "/t"},
		{"", "/x", "/h", "/x/opencode-delegate"},
		{"", "relative", "/h", "/h/.local/state/opencode-delegate"},
		{"relative", "/x", "/h", ""},
		{"", "", "", ""},
	} {
		env := map[string]string{"OC_DELEGATE_STATE": c.state, "XDG_STATE_HOME": c.xdg}
		got, err := RootPath(func(k string) string { return env[k] }, c.home)
		if runtime.GOOS != "windows" && (got != c.want || (err == nil) != (c.want != "") || err != nil && kindOf(err) != fault.Usage) {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
}

func TestSecretsLeaveEverythingButThePrompt(t *testing.T) {
	secret := "s3cr3t-" + "value-42"
	s, err := OpenStore(filepath.Join(t.TempDir(), "state"), redact.New([]string{"MY_API_KEY=" + secret}))
	if err != nil {
		t.Fatal(err)
	}
	o := order()
	o.Prompt, o.Request.Title, o.Name, o.Launch.OnFinish = "use "+secret, secret, "name", "curl -d "+secret
	j := made(t, s, o)
	defer j.dies()
	for name, want := range map[string]bool{record.Request: false, record.State: false, record.Launch: false, record.Prompt: true} {
		data, err := os.ReadFile(j.Record.File(name))
		if strings.Contains(string(data), secret) != want || err != nil {
			t.Errorf("%s: %s, %v", name, data, err)
		}
		if !want && !json.Valid(data) {
			t.Errorf("%s is no JSON: %s", name, data)
		}
	}
}
