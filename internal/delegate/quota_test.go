package delegate

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/ledger"
	"opencode-delegate/internal/redact"
)

// Only what an error has taught refuses, and it says until when.
func TestExhausted(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	host := Host{Now: func() time.Time { return now }, Ledger: ledger.Open(filepath.Join(t.TempDir(), "ledger"), redact.New(nil))}
	req := Request{Model: "p/a/b"}
	if err := req.affordable(host); err != nil {
		t.Errorf("without a ledger: %v", err)
	}
	learn := func(model string, w ledger.Window, until time.Time) {
		t.Helper()
		if err := host.Ledger.Exhausted(t.Context(), ledger.Exhaustion{Provider: "p", Model: model, Window: w, At: now.Add(-time.Minute), Until: until}); err != nil {
			t.Fatal(err)
		}
	}
	learn("other", ledger.Week, now.Add(time.Hour))
	if err := req.affordable(host); err != nil {
		t.Errorf("another model's limit: %v", err)
	}
	learn("a/b", ledger.AnyWindow, time.Time{})
	f := fault.Of(req.affordable(host))
	if f == nil || f.Kind != fault.QuotaExhausted || !f.ResetAt.IsZero() || f.RetryAfter != 14*time.Minute || !strings.Contains(f.Reason, "until 2026-11-30T12:14:00Z") {
		t.Errorf("without a reset: %+v", f)
	}
	learn("a/b", ledger.Week, now.Add(time.Hour))
	f = fault.Of(req.affordable(host))
	if f == nil || !f.ResetAt.Equal(now.Add(time.Hour)) || f.RetryAfter != time.Hour || !f.Retryable() || !strings.Contains(f.Reason, "the usage limit for a week of p/a/b was reached at 2026-11-30T11:59:00Z and ends at 2026-11-30T13:00:00Z") {
		t.Errorf("%+v", f)
	}
	req.IgnoreQuota = true
	if err := req.affordable(host); err != nil {
		t.Errorf("ignored: %v", err)
	}
	req.IgnoreQuota = false
	if err := req.affordable(Host{Now: host.Now}); err != nil {
		t.Errorf("a host without a ledger: %v", err)
	}
	now = now.Add(time.Hour)
	if err := req.affordable(host); err != nil {
		t.Errorf("after the reset: %v", err)
	}
}
