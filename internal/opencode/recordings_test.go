package opencode

import (
	"bytes"
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"opencode-delegate/internal/event"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/proc"
)

const recordings = "../../testdata/recordings"

// expected is the status of each recording that is no success. A recording that its recorder cut plays as "prints this,
// then stays silent".
var expected = map[string]fault.Kind{
	"agent-unknown": fault.RunFailed, // the run went on with an agent that nobody chose

	// Not the events that we ask for: the run was in the default format, or ended before its first event.
	"ansi-default": fault.RunFailed, "long-default": fault.RunFailed, "text-default": fault.RunFailed, "write-default": fault.RunFailed,
	"argv-dash-json": fault.RunFailed, "argv-dash2-json": fault.RunFailed, "old-1.2.27-auto": fault.RunFailed, "old-1.1.31-dir": fault.RunFailed,
	"dir-file": fault.RunFailed, "dir-missing": fault.RunFailed, "file-missing": fault.RunFailed, "attach-badurl": fault.RunFailed,
	"old-1.0.0-err401": fault.RunFailed, "old-1.0.0-text": fault.RunFailed,
	"old-1.1.31-askwrite": fault.RunFailed, "old-1.1.31-err401": fault.RunFailed, "old-1.1.31-text": fault.RunFailed, // offline: it could not fetch its list of models
	"session-unknown": fault.NotFound,

	"attach-sigint": fault.Incomplete, "length-json": fault.Incomplete,
	"sig-int-bash": fault.Incomplete, "sig-kill-bash": fault.Incomplete, "sig-pgint-bash": fault.Incomplete, "sig-pgkill-bash": fault.Incomplete, "sig-term-bash": fault.Incomplete,

	"empty-json": fault.EmptyOutput, "reasoning-only-json": fault.EmptyOutput, "write-then-empty-json": fault.EmptyOutput,

	"bash-abs-external": fault.PermissionDenied, "perm-ask-bash-json": fault.PermissionDenied, "perm-ask-write-default": fault.PermissionDenied,
	"perm-ask-write-json": fault.PermissionDenied, "printlogs-perm": fault.PermissionDenied, "read-env-json": fault.PermissionDenied,
	"read-external-json": fault.PermissionDenied, "write-external-json": fault.PermissionDenied,

	"attach-err401": fault.AuthRequired, "err-401-default": fault.AuthRequired, "err-401-json": fault.AuthRequired, "err-401-zen-auth-json": fault.AuthRequired,
	"err-403-json": fault.AuthRequired, "old-1.2.27-err401": fault.AuthRequired, "printlogs-err-401": fault.AuthRequired, "write-then-401-json": fault.AuthRequired,

	"err-400-anthropic-credit-json": fault.QuotaExhausted, "err-401-zen-credits-json": fault.QuotaExhausted, "err-402-json": fault.QuotaExhausted,
	"err-429-openai-quota-json": fault.QuotaExhausted, "err-429-openai-quota-nora-json": fault.QuotaExhausted, "err-429-zai-plan-json": fault.QuotaExhausted,
	"err-429-zen-free-json": fault.QuotaExhausted, "err-429-zen-go-printlogs": fault.QuotaExhausted, "err-429-zen-go-ra1-json": fault.QuotaExhausted,
	"sse-error-go-json": fault.QuotaExhausted,

	"err-401-zen-model-json": fault.ModelUnavailable, "err-403-zen-region-json": fault.ModelUnavailable, "err-404-model-json": fault.ModelUnavailable,
	// Without a log the event says only that something failed: see ModelDoubt.
	"model-noslash": fault.RunFailed, "model-unknown": fault.RunFailed, "provider-unknown": fault.RunFailed,

	"err-429-json": fault.RunFailed, "err-500-json": fault.RunFailed, "err-502-html-json": fault.RunFailed, "err-529-json": fault.RunFailed,
	"err-context-json": fault.RunFailed, "garbage-json": fault.RunFailed,
	"eof-json": fault.RunFailed, "ok-html-json": fault.RunFailed, "ok-error-body-json": fault.RunFailed, // the "unknown" loop

	"err-403-usage-json": fault.Timeout, "err-429-ra3600-json": fault.Timeout, "err-429-zen-go-default": fault.Timeout, "err-429-zen-go-json": fault.Timeout,
	"hang-headers-json": fault.Timeout, "hang-json": fault.Timeout, "hang-timeouts-json": fault.Timeout, "reset-json": fault.Timeout, "reset0-json": fault.Timeout,
	"sess-otherdir": fault.Timeout, "sse-error-json": fault.Timeout, "stall-json": fault.Timeout, "stdin-open-json": fault.Timeout, "write-then-hang-json": fault.Timeout,
}

// retryable are the recordings whose RUN_FAILED time may heal.
var retryable = []string{"err-429-json", "err-500-json", "err-502-html-json", "err-529-json", "old-1.1.31-askwrite", "old-1.1.31-err401", "old-1.1.31-text"}

func TestEveryRecordingHasItsStatus(t *testing.T) {
	dirs, err := os.ReadDir(recordings)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, d := range dirs {
		name := d.Name()
		if !d.IsDir() || strings.HasPrefix(name, "info-") {
			continue
		}
		seen[name] = true
		t.Run(name, func(t *testing.T) {
			r := readRecording(t, name)
			o := r.play(t)
			got := fault.OK
			reason := ""
			if o.Fault != nil {
				got, reason = o.Fault.Kind, o.Fault.Reason
			}
			want := cmp.Or(expected[name], fault.OK)
			if got != want {
				t.Errorf("%s, want %s: %s", got, want, reason)
			}
			if got == fault.RunFailed && o.Fault.Transient != slices.Contains(retryable, name) {
				t.Errorf("transient is %v: %s", o.Fault.Transient, reason)
			}
			if doubt := slices.Contains([]string{"model-noslash", "model-unknown", "provider-unknown"}, name); o.ModelDoubt != doubt {
				t.Errorf("ModelDoubt is %v", o.ModelDoubt)
			}
			if name != "agent-unknown" && strings.Contains(string(r.stdout), `"sessionID":"ses_`) && !strings.HasPrefix(o.Session, "ses_") {
				t.Errorf("session %q", o.Session)
			}
		})
	}
	for name := range expected {
		if !seen[name] {
			t.Errorf("no recording %s", name)
		}
	}
	if len(seen) < 150 {
		t.Errorf("only %d recordings", len(seen))
	}
}

func TestRecordingsGiveTheirFacts(t *testing.T) {
	play := func(name string) Outcome { return readRecording(t, name).play(t) }
	if o := play("printlogs-task"); o.Subagents != 1 || o.Model != "mock/task" || o.Agent != "build" {
		t.Errorf("printlogs-task: %d subagents, model %q, agent %q", o.Subagents, o.Model, o.Agent)
	}
	if o := play("err-429-once-json"); len(o.Notes) != 0 {
		t.Errorf("a retry that no log tells of: notes %q", o.Notes)
	}
	if o := play("printlogs-err-429-once"); len(o.Notes) != 1 || !strings.Contains(o.Notes[0], "1 failed model calls were retried") {
		t.Errorf("printlogs-err-429-once: notes %q", o.Notes)
	}
	if o := play("write-json"); o.Steps != 2 || o.Usage != (event.Tokens{Input: 180, Output: 30, Reasoning: 10, CacheRead: 20}) || o.Cost < 0.000261 || o.Cost > 0.000263 {
		t.Errorf("write-json: %d steps, %+v, $%g", o.Steps, o.Usage, o.Cost)
	}
	if o := play("plan-write-json"); len(o.Notes) != 1 || !strings.Contains(o.Notes[0], "a rule denied") {
		t.Errorf("plan-write-json: notes %q", o.Notes)
	}
	o := play("err-429-zen-go-printlogs")
	if want := time.Date(2026, 11, 29, 18, 7, 1, 0, time.UTC); !o.Fault.ResetAt.Equal(want) {
		t.Errorf("reset at %v, want %v", o.Fault.ResetAt, want)
	}
	if o := play("sig-kill-bash"); !strings.Contains(o.Fault.Reason, "SIGKILL") || o.Fault.Hints == nil {
		t.Errorf("sig-kill-bash: %q, hints %q", o.Fault.Reason, o.Fault.Hints)
	}
	if o := play("err-401-json"); o.Fault.ProviderStatus != 401 {
		t.Errorf("err-401-json: provider status %d", o.Fault.ProviderStatus)
	}
}

type recording struct {
	stdout, stderr []byte
	exit           proc.Exit
	cut            bool // the recorder ended it: it would have stayed silent
	session        string
}

func readRecording(t *testing.T, name string) recording {
	t.Helper()
	read := func(file string) []byte {
		b, err := os.ReadFile(filepath.Join(recordings, name, file))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	r := recording{stdout: read("stdout"), stderr: read("stderr")}
	exit := strings.TrimSpace(string(read("exit")))
	if strings.HasPrefix(exit, "timeout") {
		r.cut = true
	} else {
		code, err := strconv.Atoi(exit)
		if err != nil {
			t.Fatalf("exit %q", exit)
		}
		r.exit.Code = code
		if code < 0 {
			r.exit = proc.Exit{Code: -1, Signal: map[int]string{-2: "SIGINT", -9: "SIGKILL", -15: "SIGTERM"}[code]}
		}
	}
	words := strings.Fields(string(read("cmd")))
	if i := slices.Index(words, "-s"); i > 0 {
		r.session = words[i+1]
	}
	return r
}

// play feeds a recording to a watch, in the order of its time stamps, with the clock of the recording.
func (r recording) play(t *testing.T) Outcome {
	t.Helper()
	type item struct {
		at    time.Time
		event *event.Event
		line  *LogLine
	}
	var lines, items []item
	at := time.Time{}
	for line := range bytes.Lines(r.stderr) {
		l := ParseLogLine(bytes.TrimSuffix(line, []byte("\n")))
		if !l.At.IsZero() {
			at = l.At
		}
		lines = append(lines, item{at: at, line: &l})
	}
	s := event.NewStream(bytes.NewReader(r.stdout), nil)
	for {
		e, err := s.Next()
		if err != nil {
			break
		}
		// Each of the two keeps its own order.
		for len(lines) > 0 && !lines[0].at.After(e.At) {
			items, lines = append(items, lines[0]), lines[1:]
		}
		items = append(items, item{at: e.At, event: &e})
	}
	items = append(items, lines...)
	start := time.Now()
	if len(items) > 0 && !items[len(items)-1].at.IsZero() {
		start = items[len(items)-1].at
		for _, i := range items {
			if !i.at.IsZero() {
				start = i.at
				break
			}
		}
	}
	// The limits are those of the command's defaults.
	a := Attempt{Binary: Binary{Version: "1.18.33"}, Session: r.session, Limits: Limits{Timeout: 10 * time.Minute, Retry: 90 * time.Second}}
	w := newWatch(a, start)
	now := start
	feed := func(until time.Time) {
		for next := w.next(); w.halted == nil && !next.IsZero() && next.Before(until); next = w.next() {
			now = next
			w.tick(now)
		}
	}
	for _, i := range items {
		if w.halted != nil {
			break
		}
		if i.at.After(now) {
			feed(i.at)
			now = i.at
		}
		if i.event != nil {
			w.event(*i.event, now)
		} else {
			w.line(*i.line, now)
		}
	}
	exit := r.exit
	if r.cut {
		feed(now.Add(time.Hour))
	}
	if w.halted != nil {
		exit = proc.Exit{Code: -1, Signal: "SIGTERM", ByUs: true}
	}
	return w.outcome(a, exit)
}

func TestRecordingsAreJSON(t *testing.T) {
	r := readRecording(t, "text-json")
	for line := range bytes.Lines(r.stdout) {
		if !json.Valid(line) {
			t.Errorf("not JSON: %s", line)
		}
	}
}
