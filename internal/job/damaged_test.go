package job

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/record"
)

// damage is what can be wrong with a record; the words are what a reader has to say of it.
var damage = map[string]struct {
	do   func(t *testing.T, dir, id string) error
	want string
}{
	"empty":      {content(""), "empty"},
	"blank":      {content(" \n"), "damaged"},
	"truncated":  {content(`{"schema":1,"id":"ID","sta`), "damaged"},
	"no object":  {content(`[1,2]`), "damaged"},
	"null":       {content(`null`), "no schema"},
	"no schema":  {content(`{"id":"ID","state":"queued"}`), "no schema"},
	"schema -1":  {content(`{"schema":-1,"id":"ID","state":"queued"}`), "no schema"},
	"foreign":    {content(`{"schema":1,"id":"20261129-193015-0k7u2m","state":"queued"}`), "another job"},
	"later":      {content(`{"schema":99,"id":"ID","state":"queued"}`), "schema 99"},
	"much later": {content(`{"schema":2,"id":{"time":"ID"},"state":["queued"]}`), "schema 2"},
	"no state":   {content(`{"schema":1,"id":"ID"}`), "does not exist"},
	"odd state":  {content(`{"schema":1,"id":"ID","state":"paused"}`), `"paused"`},
	"its own":    {content(`{"schema":1,"id":"ID","state":"unreadable"}`), `"unreadable"`},
	"no exit":    {content(`{"schema":1,"id":"ID","state":"failed","ended_at":"2026-11-29T19:30:15Z"}`), "without exit code"},
	"no end":     {content(`{"schema":1,"id":"ID","state":"failed","exit":2}`), "without exit code"},
	"huge":       {content(`{"schema":1,"id":"ID","task":"` + strings.Repeat("x", stateLimit) + `"}`), "larger than"},
	"binary":     {content("\x00\xff\x1b[31m"), "damaged"},
	"directory":  {func(_ *testing.T, dir, id string) error { return os.Mkdir(filepath.Join(dir, record.State), 0o700) }, "not a regular file"},
	"link": {func(t *testing.T, dir, id string) error {
		other := filepath.Join(t.TempDir(), "state.json")
		text := fmt.Sprintf(`{"schema":1,"id":%q,"state":"queued"}`, id)
		if err := os.WriteFile(other, []byte(text), 0o600); err != nil {
			return err
		}
		return os.Symlink(other, filepath.Join(dir, record.State))
	}, "not a regular file"},
	"dangling link": {func(_ *testing.T, dir, id string) error {
		return os.Symlink("nothing", filepath.Join(dir, record.State))
	}, "not a regular file"},
	"record is a link": {func(t *testing.T, dir, id string) error {
		if err := os.Remove(dir); err != nil {
			return err
		}
		return os.Symlink(t.TempDir(), dir)
	}, "not a directory"},
	"record is a file": {func(_ *testing.T, dir, id string) error {
		if err := os.Remove(dir); err != nil {
			return err
		}
		return os.WriteFile(dir, []byte("x"), 0o600)
	}, "not a directory"},
	"lease is a directory": {func(t *testing.T, dir, id string) error {
		if err := os.Mkdir(filepath.Join(dir, record.Lease), 0o700); err != nil {
			return err
		}
		return content(`{"schema":1,"id":"ID","state":"running"}`)(t, dir, id)
	}, "lease"},
}

func content(text string) func(t *testing.T, dir, id string) error {
	return func(_ *testing.T, dir, id string) error {
		return os.WriteFile(filepath.Join(dir, record.State), []byte(strings.ReplaceAll(text, "ID", id)), 0o600)
	}
}

// A record that cannot be read is shown as such, touches nothing else, and nothing touches it.
func TestDamagedRecords(t *testing.T) {
	s := open(t)
	good := in(t, s, Running)
	good.finish(ended(good, fault.OK))
	live := in(t, s, Running)
	defer live.dies()
	want := map[string]string{}
	at := time.Now().Add(-time.Hour)
	for name, d := range damage {
		at = at.Add(time.Second)
		id := NewID(at)
		if err := os.Mkdir(s.dir(id), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := d.do(t, s.dir(id), id); err != nil {
			t.Fatal(name, err)
		}
		if err := s.activate(id); err != nil {
			t.Fatal(err)
		}
		want[id] = name
	}
	os.Mkdir(filepath.Join(s.root, jobsDir, "not-an-id"), 0o700)
	os.Mkdir(filepath.Join(s.root, jobsDir, "..."), 0o700)
	before := snapshot(t, s.root)
	views, err := s.List(t.Context(), func(View) bool { return true })
	if err != nil || len(views) != len(damage)+2 {
		t.Fatalf("%d records of %d, %v", len(views), len(damage)+2, err)
	}
	for _, v := range views {
		name, damaged := want[v.ID]
		if damaged != (v.State.State == Unreadable) {
			t.Errorf("%s %s: %+v", v.ID, name, v.State)
		}
		if !damaged {
			continue
		}
		if !strings.Contains(v.Problem, damage[name].want) || strings.Contains(v.Problem, s.root) || v.CreatedAt.IsZero() || v.Live() {
			t.Errorf("%s: %q, %+v", name, v.Problem, v.State)
		}
		if look(t, s, v.ID).State.State != Unreadable {
			t.Errorf("%s: looked at alone", name)
		}
		if _, err := s.Result(v); kindOf(err) != fault.JobLost || !strings.Contains(err.Error(), v.Problem) {
			t.Errorf("%s: %v", name, err)
		}
		if w, err := s.Wait(t.Context(), v.ID); err != nil || w.State.State != Unreadable {
			t.Errorf("%s: waited for %+v, %v", name, w, err)
		}
		if _, err := s.Cancel(t.Context(), v.ID, "shell", time.Now()); kindOf(err) != fault.RunFailed || !strings.Contains(err.Error(), v.Problem) {
			t.Errorf("%s: cancelled: %v", name, err)
		}
		if id, _, err := s.Find(t.Context(), v.ID); err != nil || id != v.ID {
			t.Errorf("%s: found %q, %v", name, id, err)
		}
	}
	if living, err := s.Live(t.Context()); err != nil || len(living) != 1 || living[0].ID != live.state.ID {
		t.Errorf("alive: %v, %v", living, err)
	}
	if v, err := s.NewestOf(t.Context(), "shell", "/project"); err != nil || v.ID != live.state.ID {
		t.Errorf("newest: %+v, %v", v, err)
	}
	same(t, before, snapshot(t, s.root))
	if j := made(t, s, order()); j != nil {
		j.discard()
	}
}

// Damage of the other files of a record does not keep its fate from being known.
func TestOtherFilesDamaged(t *testing.T) {
	s := open(t)
	names := []string{record.Request, record.Launch, record.Events, record.Stderr, record.Progress, record.Prompt, record.Result, record.Text}
	for _, name := range names {
		for kind, do := range map[string]func(path string) error{
			"junk":      func(p string) error { return os.WriteFile(p, []byte("{{{\x00"), 0o600) },
			"directory": func(p string) error { return os.MkdirAll(filepath.Join(p, "x"), 0o700) },
			"link":      func(p string) error { return os.Symlink("/dev/zero", p) },
		} {
			j := in(t, s, Running)
			os.Remove(j.Record.File(name))
			if err := do(j.Record.File(name)); err != nil {
				t.Fatal(err)
			}
			if v := look(t, s, j.dies()); v.State.State != Lost {
				t.Errorf("%s is a %s: %+v", name, kind, v)
			}
			s.ReadProgress(j.state.ID)
			if _, err := s.ReadLaunch(j.state.ID); (err == nil) == (name == record.Launch) {
				t.Errorf("%s is a %s: launch: %v", name, kind, err)
			}
			if _, err := s.ReadRequest(j.state.ID); (err == nil) == (name == record.Request) {
				t.Errorf("%s is a %s: request: %v", name, kind, err)
			}
		}
	}
}

func TestLaterSchemas(t *testing.T) {
	s := open(t)
	j := in(t, s, Running)
	for name, read := range map[string]func() error{
		record.Request: func() error { _, err := s.ReadRequest(j.state.ID); return err },
		record.Launch:  func() error { _, err := s.ReadLaunch(j.state.ID); return err },
		record.Result:  func() error { _, err := s.ReadResult(j.state.ID); return err },
	} {
		for text, want := range map[string]string{`{"schema":2,"status":"OK"}`: "schema 2", `{"schema":0}`: "schema 0", `{`: "damaged"} {
			os.WriteFile(j.Record.File(name), []byte(text), 0o600)
			if err := read(); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), name) {
				t.Errorf("%s %s: %v", name, text, err)
			}
		}
	}
	os.WriteFile(j.Record.File(record.Result), []byte(`{"schema":1,"id":"`+j.state.ID+`"}`), 0o600)
	if _, err := s.ReadResult(j.state.ID); err == nil || !strings.Contains(err.Error(), "no status") {
		t.Errorf("%v", err)
	}
	j.dies()
}
