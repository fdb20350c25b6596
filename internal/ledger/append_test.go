package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"opencode-delegate/internal/lock"
	"opencode-delegate/internal/redact"
)

func TestAnEntryIsALine(t *testing.T) {
	l := fresh(t)
	e := entry(noon.In(time.FixedZone("", 13*3600))) // already the next day there
	put(t, l, e)
	e.Cost, e.Input, e.Tier, e.Role, e.Subagent, e.Partial = nil, nil, "", "", true, true
	put(t, l, e)
	o := outcome(noon)
	if err := l.Judge(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	o.Final, o.Verdict, o.Returned = false, "", nil
	if err := l.Judge(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(l.dir, "2026-11-30.jsonl"))
	const work = `"job":"20261130-120000-abcdef","try":1,"provider":"opencode-go","model":"glm-5.2",`
	want := `{"schema":1,"kind":"spent",` + work + `"tier":"pro","repo":"/r/a","caller":"s","status":"OK","at":"2026-11-30T12:00:00Z","attempt":1,"role":"work",` +
		`"input":1000,"output":100,"reasoning":10,"cache_read":5,"cache_write":1,"cost_usd":0.01,"chars_read":40000,"chars_written":4000}` + "\n" +
		`{"schema":1,"kind":"spent",` + work + `"repo":"/r/a","caller":"s","status":"OK","at":"2026-11-30T12:00:00Z","attempt":1,"subagent":true,` +
		`"input":null,"output":100,"reasoning":10,"cache_read":5,"cache_write":1,"cost_usd":null,"partial":true,"chars_read":40000,"chars_written":4000}` + "\n" +
		`{"schema":1,"kind":"outcome",` + work + `"tier":"pro","repo":"/r/a","caller":"s","status":"OK","at":"2026-11-30T12:00:00Z","final":true,"verdict":"pass","chars_returned":400}` + "\n" +
		`{"schema":1,"kind":"outcome",` + work + `"tier":"pro","repo":"/r/a","caller":"s","status":"OK","at":"2026-11-30T12:00:00Z","chars_returned":null}` + "\n"
	if err != nil || string(data) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, data, want)
	}
	if runtime.GOOS == "windows" {
		return
	}
	for path, mode := range map[string]os.FileMode{l.dir: 0o700, filepath.Join(l.dir, "2026-11-30.jsonl"): 0o600, filepath.Join(l.dir, lockFile): 0o600} {
		if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", path, fi.Mode(), err)
		}
	}
}

func TestEntriesThatCannotBe(t *testing.T) {
	l := fresh(t)
	for want, change := range map[string]func(*Entry){
		"needs a job":      func(e *Entry) { e.Job = "" },
		"attempt 0":        func(e *Entry) { e.Attempt = 0 },
		"try 0":            func(e *Entry) { e.Try = 0 },
		"needs a status":   func(e *Entry) { e.Status = "" },
		"between the year": func(e *Entry) { e.At = time.Time{} },
		"costs -0.5 USD":   func(e *Entry) { e.Cost = ptr(-Dollar / 2) },
		"and a million":    func(e *Entry) { e.Cost = ptr(entryLimit + 1) },
		"counts -3":        func(e *Entry) { e.Written = ptr[int64](-3) },
	} {
		e := entry(noon)
		change(&e)
		if err := l.Append(t.Context(), e); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
	for want, change := range map[string]func(*Outcome){
		"needs a job": func(o *Outcome) { o.Job = "" },
		"counts -3":   func(o *Outcome) { o.Returned = ptr[int64](-3) },
	} {
		o := outcome(noon)
		change(&o)
		if err := l.Judge(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
	if _, err := os.Stat(l.dir); err == nil {
		t.Error("something was written")
	}
}

// Words are cut rather than money lost, and what is written can be read.
func TestWordsAreBounded(t *testing.T) {
	l := fresh(t)
	e := entry(noon)
	e.Job, e.Repo, e.Model = strings.Repeat("j", 300), strings.Repeat("\x01", 9000), strings.Repeat("é", 200)+"\xff"
	e.Provider, e.Tier, e.Caller = strings.Repeat("\x02", 300), strings.Repeat("\x02", 300), strings.Repeat("\x02", 300)
	put(t, l, e)
	rep := report(t, l, time.Time{}, ByRepo)
	if rep.Total.Entries != 1 || len(rep.Rows[0].Key) != pathLimit {
		t.Errorf("%+v", rep)
	}
	if key := report(t, l, time.Time{}, ByModel).Rows[0].Key; key != strings.Repeat("\x02", 256)+"/"+strings.Repeat("é", 128) {
		t.Errorf("%q", key)
	}
}

func TestSecretsStayOut(t *testing.T) {
	const secret = "sk-abcdefghijklmnopqrstuvwxyz0123456789"
	l := Open(filepath.Join(t.TempDir(), "ledger"), redact.New([]string{"API_KEY=" + secret}))
	e := entry(noon)
	e.Repo = "/r/" + secret
	put(t, l, e)
	if data, _ := os.ReadFile(filepath.Join(l.dir, "2026-11-30.jsonl")); bytes.Contains(data, []byte(secret)) || len(data) == 0 {
		t.Errorf("%s", data)
	}
	if rep := report(t, l, time.Time{}, ByRepo); rep.Total.Entries != 1 {
		t.Errorf("%+v", rep)
	}
}

func TestOneWhoDiedInTheMiddleOfALineCostsOneLine(t *testing.T) {
	for name, cut := range map[string]int{"in the middle": 100, "before the newline": 1} {
		l := fresh(t)
		put(t, l, entry(noon), entry(noon))
		corrupt(t, l, "2026-11-30.jsonl", func(b []byte) []byte { return b[:len(b)-cut] })
		lost := int64(1)
		if cut == 1 {
			lost = 0
		}
		for range 2 { // nobody writes, and nobody else will
			if rep := report(t, l, time.Time{}, ByTier); rep.Total.Entries != 2-lost || rep.Damaged != lost {
				t.Errorf("%s: %+v", name, rep)
			}
		}
		put(t, l, entry(noon))
		if rep := report(t, l, time.Time{}, ByTier); rep.Total.Entries != 3-lost || rep.Damaged != lost {
			t.Errorf("%s, and one more: %+v", name, rep)
		}
	}
}

// What somebody writes at this moment is neither there nor damaged.
func TestALineThatIsBeingWritten(t *testing.T) {
	l := fresh(t)
	put(t, l, entry(noon), entry(noon))
	corrupt(t, l, "2026-11-30.jsonl", func(b []byte) []byte { return b[:len(b)-100] })
	held, err := lock.Try(filepath.Join(l.dir, lockFile))
	if err != nil {
		t.Fatal(err)
	}
	defer held.Release()
	if rep := report(t, l, time.Time{}, ByTier); rep.Total.Entries != 1 || rep.Damaged != 0 {
		t.Errorf("%+v", rep)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if err := l.Append(ctx, entry(noon)); !errors.Is(err, lock.ErrHeld) {
		t.Errorf("%v", err)
	}
}

func TestALedgerThatIsNone(t *testing.T) {
	l := fresh(t)
	other := t.TempDir()
	if err := os.Symlink(other, l.dir); err != nil {
		t.Skip(err)
	}
	if err := l.Append(t.Context(), entry(noon)); err == nil || !strings.Contains(err.Error(), "not a directory") {
		t.Errorf("a link for the directory: %v", err)
	}
	l = fresh(t)
	put(t, l, entry(noon.AddDate(0, 0, -1)))
	target := filepath.Join(other, "target")
	if err := os.Symlink(target, filepath.Join(l.dir, "2026-11-30.jsonl")); err != nil {
		t.Fatal(err)
	}
	if err := l.Append(t.Context(), entry(noon)); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a link for a day: %v", err)
	}
	if names, _ := os.ReadDir(other); len(names) != 0 {
		t.Errorf("something was written through a link: %v", names)
	}
}

// Twenty who append, and one who reads all the time: no line is lost or torn, and no report is of more than there is.
func TestManyAtOnce(t *testing.T) {
	l := fresh(t)
	const writers, each = 20, 25
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			l := Open(l.dir, redact.New(nil))
			for i := range each {
				e := entry(noon)
				e.Job = fmt.Sprint(w, "-", i)
				if err := l.Append(t.Context(), e); err != nil {
					t.Error(err)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	before := int64(0)
	for reading := true; reading; {
		select {
		case <-done:
			reading = false
		case <-time.After(3 * time.Millisecond):
		}
		rep := report(t, l, time.Time{}, ByTier)
		if rep.Damaged != 0 || rep.Total.Entries < before {
			t.Fatalf("after %d: %+v", before, rep)
		}
		before = rep.Total.Entries
	}
	jobs := map[string]int{}
	if err := l.each("2026-11-30", 0, func(k kind, e *line) { jobs[e.Job]++ }); err != nil {
		t.Fatal(err)
	}
	if before != writers*each || len(jobs) != writers*each {
		t.Errorf("%d entries of %d jobs", before, len(jobs))
	}
}

// Processes that are killed while they append: what they were told is kept is there, once, and no line of the others is touched.
func TestKilledWhileAppending(t *testing.T) {
	l := fresh(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const rounds, together = 6, 3
	var kept, started int64
	for round := range rounds {
		var cmds []*exec.Cmd
		var outs []*bytes.Buffer
		for i := range together {
			cmd, out := exec.Command(self), &bytes.Buffer{}
			cmd.Env = append(os.Environ(), "LEDGER_TEST_DIR="+l.dir, fmt.Sprint("LEDGER_TEST_NAME=", round, "-", i))
			cmd.Stdout = out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { cmd.Process.Kill() })
			cmds, outs = append(cmds, cmd), append(outs, out)
		}
		time.Sleep(time.Duration(300+47*round) * time.Millisecond) // a slow machine takes long to start one
		for i, cmd := range cmds {
			cmd.Process.Kill()
			cmd.Wait()
			if text := strings.ReplaceAll(outs[i].String(), "kept\n", ""); text != "" && !strings.HasPrefix("kept\n", text) {
				t.Errorf("%q", text)
			}
			kept += int64(strings.Count(outs[i].String(), "kept\n"))
			started++
		}
	}
	put(t, l, entry(noon))
	rep := report(t, l, time.Time{}, ByTier)
	jobs, twice := map[string]bool{}, 0
	if err := l.each("2026-11-30", 0, func(k kind, e *line) {
		if k == spentLine && jobs[e.Job] {
			twice++
		}
		jobs[e.Job] = true
	}); err != nil {
		t.Fatal(err)
	}
	if n := rep.Total.Entries - 1; kept == 0 || n < kept || n > kept+started || rep.Damaged > started || twice != 0 {
		t.Errorf("%d were kept, %d are there, %d damaged, %d twice", kept, n, rep.Damaged, twice)
	}
}
