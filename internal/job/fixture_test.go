package job

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"opencode-delegate/internal/call"
	"opencode-delegate/internal/delegate"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/record"
)

// The ids of the frozen records: one that succeeded, and one whose supervisor died. They are as version 1 wrote them and are never changed:
// each later version reads them.
const (
	frozen    = "20261130-032854-muns3r"
	frozenCut = "20261130-032901-lost01"
)

func thaw(t *testing.T) *Store {
	t.Helper()
	s := open(t)
	if err := os.CopyFS(filepath.Join(s.root, jobsDir), os.DirFS(filepath.Join("testdata", "records", "v1"))); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestFrozenRecord(t *testing.T) {
	s := thaw(t)
	before := snapshot(t, s.dir(frozen))
	v := look(t, s, frozen)
	at := func(text string) time.Time {
		when, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			t.Fatal(err)
		}
		return when
	}
	if v.State.State != Succeeded || v.Status != fault.OK || *v.Exit != 0 || v.Name != "fixture" || v.Caller != "shell" || !v.Background || v.Dir != "/home/user/project" ||
		v.Repo != "/home/user/project" || v.Session != "ses_TNUDXKNHLEPGW25D73ESPBK4O2" || v.Tier != "flash" || v.Model != "opencode-go/deepseek-v4-flash" ||
		v.Version != "1.18.33" || v.Profile != "read-only" || v.Task != "Where is the function?" || v.MaxJobs != 4 || v.MaxPerModel != 3 || *v.CostUSD != 0.000262 ||
		v.Reason != "success by evidence" || !strings.HasPrefix(v.Prompt, "1e7f5e1e") {
		t.Errorf("%+v", v)
	}
	if !v.CreatedAt.Equal(at("2026-11-30T03:28:54.734538687Z")) || !v.QueuedAt.Equal(v.CreatedAt) || !v.StartedAt.Equal(at("2026-11-30T03:28:54.752515455Z")) ||
		!v.EndedAt.Equal(at("2026-11-30T03:28:56.859Z")) {
		t.Errorf("times %+v", v)
	}
	if v.Supervisor == nil || v.Supervisor.PID != 21480 || v.Supervisor.Start != 340927 || v.Supervisor.Boot != "00000000-0000-4000-8000-000000000001" || v.Supervisor.Lives() {
		t.Errorf("supervisor %+v", v.Supervisor)
	}
	res, err := s.Result(v)
	if err != nil || res.Status != fault.OK || res.Text != "The function is in a.txt." || res.Sandbox != "landlock" || *res.Session != v.Session || res.Usage.Input != 180 ||
		len(res.Attempts) != 1 || time.Duration(res.Duration) != 2052*time.Millisecond || res.Record != s.dir(frozen) || !res.Changes.Known {
		t.Errorf("%+v, %v", res, err)
	}
	req, err := s.ReadRequest(frozen)
	if err != nil || req.Dir != v.Dir || req.Timeout != delegate.Duration(10*time.Minute) || req.Grace != delegate.Duration(3*time.Second) || req.DigestLimit != 4000 || req.Opencode != "/home/user/bin/opencode" {
		t.Errorf("%+v, %v", req, err)
	}
	l, err := s.ReadLaunch(frozen)
	if err != nil || l != (Launch{Schema: 1, Cwd: "/home/user/project", MaxJobs: 4, MaxPerModel: 3, Reply: call.Reply{WarnChars: 8000}, OnFinish: "cat >/dev/null"}) {
		t.Errorf("%+v, %v", l, err)
	}
	if prompt, err := s.ReadPrompt(frozen); err != nil || prompt != "Where is the function?" {
		t.Errorf("%q, %v", prompt, err)
	}
	p, ok := s.ReadProgress(frozen)
	if !ok || p.Step != 2 || p.Tool != "todowrite" || p.Todo == nil || p.Todo.Done != 1 || p.Todo.Total != 3 || p.Tokens != 240 {
		t.Errorf("%+v, %v", p, ok)
	}
	if id, _, err := s.Find(t.Context(), "fixture"); err != nil || id != frozen {
		t.Errorf("%q, %v", id, err)
	}
	if n, err := s.NewestOf(t.Context(), "shell", "/home/user/project"); err != nil || n.ID != frozenCut {
		t.Errorf("%+v, %v", n, err)
	}
	again := order().Request
	again.Dir, again.Session = v.Dir, v.Session
	if known, err := s.FindSession(t.Context(), &again, false); err != nil || !known {
		t.Errorf("%v, %v", known, err)
	}
	if w, err := s.Wait(t.Context(), frozen); err != nil || w.State.State != Succeeded {
		t.Errorf("%+v, %v", w, err)
	}
	if c, err := s.Cancel(t.Context(), frozen, "shell", time.Now()); err != nil || c.State.State != Succeeded {
		t.Errorf("%+v, %v", c, err)
	}
	same(t, before, snapshot(t, s.dir(frozen)))
}

// A record of version 1 whose supervisor died under it is decided about by each later version.
func TestFrozenRecordOfADeadJob(t *testing.T) {
	s := thaw(t)
	v := look(t, s, frozenCut)
	if v.State.State != Lost || *v.Exit != 18 || !strings.Contains(v.Reason, "the machine was restarted") {
		t.Errorf("%+v", v.State)
	}
	res, err := s.Result(v)
	if err != nil || res.Text != "The function is in a.txt." || res.Session == nil || *res.Session != "ses_TNUDXKNHLEPGW25D73ESPBK4O2" || res.Usage == nil || res.Usage.Input != 180 {
		t.Errorf("%+v, %v", res, err)
	}
}

// What is frozen is as it was written, and tells nothing of where.
func TestFrozenRecordTellsNothing(t *testing.T) {
	paths := regexp.MustCompile(`"/[a-z]+/|directory=/[a-z]+/`)
	files := map[string]bool{}
	err := filepath.WalkDir("testdata/records", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files[d.Name()] = true
		data, err := os.ReadFile(path)
		for _, p := range paths.FindAll(data, -1) {
			if !bytes.HasSuffix(p, []byte("/home/")) {
				t.Errorf("%s names %s", path, p)
			}
		}
		if bytes.Contains(bytes.ReplaceAll(data, []byte("/home/user/"), nil), []byte("/home/")) || bytes.Contains(data, []byte("/tmp/")) || bytes.Contains(data, []byte("/root/")) {
			t.Errorf("%s names a place of a machine", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		record.Request, record.Launch, record.Prompt, record.State, record.Events, record.Stderr, record.Progress, record.Text, record.Result, record.Lease, record.Lock,
		record.Panic, record.Finish,
	} {
		if !files[name] {
			t.Errorf("no %s is frozen", name)
		}
	}
}
