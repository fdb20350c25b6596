package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"opencode-delegate/cmd/oc-job/watch"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/job"
	"opencode-delegate/internal/record"
)

func (d *desk) watched(all, mine bool) watched {
	d.t.Helper()
	store, err := d.app.Store()
	if err != nil {
		d.t.Fatal(err)
	}
	return watched{d.app, store, selectionOf(d.app, all, mine)}
}

func TestWatchShowsWhatListShows(t *testing.T) {
	d := newDesk(t)
	d.job(number(1), time.Hour, func(st *job.State) { st.Name, st.Task = "docs", "漢\x1b[31m字" })
	d.job(number(2), time.Hour, running)
	d.live(number(2))
	d.file(number(2), record.Progress, progress())
	d.job(number(3), time.Hour, func(st *job.State) { st.Repo = "/elsewhere" })
	d.job(number(4), time.Hour, func(st *job.State) { st.Caller = "another" })
	want := []watch.Row{
		{ID: number(2), State: "running", Tier: "code", Age: "15m", Cost: "$0.0123", Task: "Mend the tests"},
		{ID: number(1), Name: "docs", State: "succeeded", Tier: "code", Age: "1h/1m", Task: "漢字"},
	}
	got, err := d.watched(false, true).jobs()
	if err != nil || len(got) != len(want) || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := d.watched(true, false).jobs(); err != nil || len(got) != 4 {
		t.Errorf("all: %+v, %v", got, err)
	}
}

func TestWatchFollowsALog(t *testing.T) {
	d := newDesk(t)
	d.job(number(1), time.Hour, nil)
	event := `{"type":"text","timestamp":1764000000000,"sessionID":"ses_1","part":{"id":"p","type":"text","text":"said\u001b[2J it"}}` + "\n"
	if err := os.WriteFile(filepath.Join(d.state, "jobs", number(1), record.Events), []byte(event), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := d.watched(false, false).log(t.Context(), number(1), &out); err != nil || !strings.Contains(out.String(), "said it") {
		t.Errorf("%q, %v", out.String(), err)
	}
}

func TestWatchCancelsOnlyWhatMayBe(t *testing.T) {
	d := newDesk(t, "CLAUDE_CODE_SESSION_ID=me")
	d.job(number(1), time.Hour, running)
	d.live(number(1))
	d.job(number(2), time.Hour, nil)
	w := d.watched(false, false)
	err := w.cancel(t.Context(), number(1))
	if f := fault.Of(err); err == nil || f.Kind != fault.Usage || !strings.Contains(f.Reason, "belongs to another caller") {
		t.Errorf("another's: %v", err)
	}
	if _, err := os.Stat(filepath.Join(d.state, "jobs", number(1), record.Cancel)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("another's job was marked: %v", err)
	}
	if err := w.cancel(t.Context(), number(2)); err != nil {
		t.Errorf("one that has ended: %v", err)
	}
	if err := w.cancel(t.Context(), number(3)); err == nil || fault.Of(err).Kind != fault.NotFound {
		t.Errorf("none: %v", err)
	}
}

func TestWatchNeedsATerminal(t *testing.T) {
	d := newDesk(t)
	if code := d.code("watch"); code != 1 || !strings.Contains(d.err.String(), "terminal") {
		t.Errorf("exit %d, %s", code, d.err.String())
	}
}
