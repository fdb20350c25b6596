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

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/record"
	"opencode-delegate/internal/redact"
)

func open(t *testing.T) (*Store, string) {
	t.Helper()
	root := filepath.Join(t.TempDir(), "state")
	s, err := OpenStore(root, redact.New(nil))
	if err != nil {
		t.Fatal(err)
	}
	return s, root
}

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
	for _, bad := range []string{"", "..", "../20261129-193015-0k7x2m", "20261129-193015-0k7x2m/x", "20261129-193015-0k7x2M", "20261129-193015-0k7x2mz"} {
		if CheckID(bad) == nil {
			t.Errorf("%q passed", bad)
		}
	}
}

func TestLifeOfARecord(t *testing.T) {
	s, root := open(t)
	now := time.Now()
	j, err := s.Create(State{Caller: "shell", Dir: "/d", Model: "p/m"}, map[string]int{"schema": 1}, []byte("exact \x1b prompt"), now)
	if err != nil {
		t.Fatal(err)
	}
	id := j.State().ID
	lease := filepath.Join(root, "jobs", id, record.Lease)
	if held, err := Held(lease); !held || err != nil {
		t.Errorf("lease held %v, %v while the job lives", held, err)
	}
	if err := j.Update(func(st *State) { st.State, st.Session = Running, "ses_1" }); err != nil {
		t.Fatal(err)
	}
	st, ok, err := s.Newest(func(st State) bool { return st.Session == "ses_1" })
	if !ok || err != nil || st.ID != id || st.State != Running || st.Exit != nil {
		t.Errorf("%+v %v %v", st, ok, err)
	}
	if err := j.Finish(map[string]string{"status": "OK"}, fault.OK, now, func(*State) {}); err != nil {
		t.Fatal(err)
	}
	if held, _ := Held(lease); held {
		t.Error("lease held after the end")
	}
	if err := j.Update(func(st *State) { st.State = Failed }); err == nil {
		t.Error("a terminal state was changed")
	}
	st, _, _ = s.Newest(func(State) bool { return true })
	if st.State != Succeeded || st.Exit == nil || *st.Exit != 0 || st.EndedAt == nil {
		t.Errorf("%+v", st)
	}
	if got, _ := os.ReadFile(filepath.Join(root, "jobs", id, record.Prompt)); string(got) != "exact \x1b prompt" {
		t.Errorf("prompt %q", got)
	}
}

func TestModesHoldWhateverTheUmask(t *testing.T) {
	if runtime.GOOS == "windows" {
		return
	}
	defer setUmask(setUmask(0))
	s, root := open(t)
	j, err := s.Create(State{}, 1, nil, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	f, err := j.Record.Create(record.Events)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	j.Finish(1, fault.OK, time.Now(), func(*State) {})
	s.CacheDir()
	filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
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
	for name, want := range map[string]string{"link": "symbolic link", "file": "not a directory", "shared": "written by others"} {
		_, err := OpenStore(filepath.Join(base, name), redact.New(nil))
		var f *fault.Error
		if !errors.As(err, &f) || f.Kind != fault.Usage || !strings.Contains(f.Reason, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	os.Mkdir(filepath.Join(base, "open"), 0o755)
	os.Chmod(filepath.Join(base, "open"), 0o755)
	if _, err := OpenStore(filepath.Join(base, "open"), redact.New(nil)); err != nil {
		t.Error(err)
	}
	if fi, _ := os.Stat(filepath.Join(base, "open")); fi.Mode().Perm() != 0o700 {
		t.Errorf("an empty state directory stayed %v", fi.Mode())
	}
}

func TestDamagedRecordsAreNotJobs(t *testing.T) {
	s, root := open(t)
	j, err := s.Create(State{Session: "ses_good"}, 1, nil, time.Now().Add(-time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	j.Finish(1, fault.OK, time.Now(), func(*State) {})
	for i, content := range []string{"", "{", `{"schema":99,"id":"ID"}`, `{"schema":1,"id":"another"}`, strings.Repeat(" ", stateLimit+1)} {
		id := NewID(time.Now().Add(time.Duration(i) * time.Second))
		os.Mkdir(filepath.Join(root, "jobs", id), 0o700)
		os.WriteFile(filepath.Join(root, "jobs", id, record.State), []byte(strings.ReplaceAll(content, "ID", id)), 0o600)
	}
	os.Mkdir(filepath.Join(root, "jobs", "not-an-id"), 0o700)
	st, ok, err := s.Newest(func(State) bool { return true })
	if !ok || err != nil || st.Session != "ses_good" {
		t.Errorf("%+v %v %v", st, ok, err)
	}
}

func TestSecretsLeaveEverythingButThePrompt(t *testing.T) {
	root := filepath.Join(t.TempDir(), "state")
	secret := "s3cr3t-" + "value-42"
	s, err := OpenStore(root, redact.New([]string{"MY_API_KEY=" + secret}))
	if err != nil {
		t.Fatal(err)
	}
	j, err := s.Create(State{Task: "use " + secret}, map[string]string{"title": secret}, []byte(secret), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{record.Request: false, record.State: false, record.Prompt: true} {
		data, _ := os.ReadFile(j.Record.File(name))
		if strings.Contains(string(data), secret) != want {
			t.Errorf("%s: %s", name, data)
		}
		if !want && !json.Valid(data) {
			t.Errorf("%s is no JSON: %s", name, data)
		}
	}
}
