package cli

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"opencode-delegate/internal/delegate"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/redact"
	"opencode-delegate/internal/tree"
)

// line writes a signal and reads it back.
func line(t testing.TB, s Signal, set *redact.Set) (text string, object map[string]any) {
	t.Helper()
	var b bytes.Buffer
	if err := WriteSignal(&b, s, set); err != nil {
		t.Fatal(err)
	}
	text = b.String()
	body, ok := strings.CutPrefix(text, "OC_SIGNAL ")
	if !ok || strings.Count(text, "\n") != 1 || !strings.HasSuffix(text, "\n") {
		t.Fatalf("not one line: %q", text)
	}
	if err := json.Unmarshal([]byte(body), &object); err != nil {
		t.Fatalf("%v: %q", err, text)
	}
	return text, object
}

func TestWhatIsAlwaysThere(t *testing.T) {
	_, o := line(t, OfFault(fault.New(fault.Usage, "wrong")), nil)
	if len(o) != 5 || o["status"] != "USAGE" || o["exit"] != 1.0 || o["reason"] != "wrong" || o["retryable"] != false || o["retry"] != "" {
		t.Errorf("%v", o)
	}
	f := &fault.Error{Kind: fault.QuotaExhausted, Reason: "limit", RetryAfter: 1500 * time.Millisecond, ResetAt: time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)}
	_, o = line(t, OfFault(f), nil)
	if o["retry_after_s"] != 2.0 || o["reset_at"] != "2026-12-01T09:00:00Z" || o["retryable"] != true {
		t.Errorf("%v", o)
	}
}

func TestSignalOfAResult(t *testing.T) {
	session, cost := "ses_1", 0.5
	r := delegate.Result{
		ID: "id", Status: fault.Incomplete, Exit: 5, Retryable: true, Session: &session, Model: "p/m", Duration: delegate.Seconds(3100 * time.Millisecond),
		Usage: &delegate.Usage{Input: 1, CostUSD: &cost}, Changes: tree.Changes{Known: true, Files: []tree.Change{{Path: "a"}}},
	}
	text, o := line(t, Of(r), nil)
	if o["retry"] != "--session ses_1" || o["changed_files"] != 1.0 || !strings.Contains(text, `"duration_s":3.100`) || o["job"] != "id" {
		t.Errorf("%s", text)
	}
	r.Usage.CostUSD, r.Changes, r.SessionDead = nil, tree.Changes{}, "dead"
	text, o = line(t, Of(r), nil)
	if _, ok := o["changed_files"]; ok || strings.Contains(text, "cost_usd") || o["retry"] != "" {
		t.Errorf("what is not known, or cannot be, is given: %s", text)
	}
	for status, want := range map[fault.Kind]string{fault.OK: "", fault.Interrupted: "--session ses_1", fault.NoChanges: ""} {
		if s := Of(delegate.Result{Status: status, Session: &session}); s.Retry != want {
			t.Errorf("%s: retry %q, want %q", status, s.Retry, want)
		}
	}
	bad := math.Inf(1)
	r.Usage.CostUSD = &bad
	if _, o = line(t, Of(r), nil); o["status"] != "INCOMPLETE" {
		t.Errorf("a number that JSON does not have: %v", o)
	}
}

func TestSecretsLeaveEveryMember(t *testing.T) {
	const secret = "tok-9f8e7d6c5b4a3210"
	set := redact.New([]string{"MY_TOKEN=" + secret})
	// One that the limit of the reason would cut in two.
	for _, s := range []Signal{{Reason: strings.Repeat("x", ReasonLimit-8) + secret}, {Record: "/r/" + secret}, {Model: "p/" + secret}} {
		if text, _ := line(t, s, set); strings.Contains(text, secret[:8]) {
			t.Errorf("%s", text)
		}
	}
}

func TestUsageLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	for range 2 {
		if err := AppendSignal(path, Signal{Status: fault.OK}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if data, _ := os.ReadFile(path); strings.Count(string(data), "OC_SIGNAL {") != 2 {
		t.Errorf("%s", data)
	}
	if err := AppendSignal(os.DevNull, Signal{}, nil); err == nil {
		t.Error("a device was written to")
	}
}

func FuzzSignalIsOneLineOfJSON(f *testing.F) {
	f.Add("plain", "ses_1")
	f.Add("a\n\"b\\\x00\xff\u202e\x1b[31m", "\u009b")
	f.Fuzz(func(t *testing.T, reason, session string) {
		text, o := line(t, Signal{Status: fault.RunFailed, Reason: reason, Session: session}, nil)
		if utf8.RuneCountInString(o["reason"].(string)) > ReasonLimit || strings.ContainsAny(text, "\x1b\x7f\u009b\u202e") {
			t.Errorf("%q", text)
		}
	})
}
