package opencode

import (
	"testing"
	"time"
)

func TestResetFromText(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"Resets in 2hr 10min.":                      130 * time.Minute,
		"Resets in 19hr":                            19 * time.Hour,
		"Resets in 3 days":                          72 * time.Hour,
		"resets in 1 day, 4 hours and 30 minutes":   28*time.Hour + 30*time.Minute,
		"Retry in 45min":                            45 * time.Minute,
		"Please try again in 12m3.5s.":              12*time.Minute + 3500*time.Millisecond,
		"Please try again in 20s.":                  20 * time.Second,
		"Please try again in 250ms.":                250 * time.Millisecond,
		"Please retry after 26 seconds":             26 * time.Second,
		"Please wait 12345 seconds before retrying": 12345 * time.Second,
		"Your limit resets at 2026-11-29T14:00:00Z": 2 * time.Hour,
		"resets at 2026-11-29 16:00:00 +0200":       2 * time.Hour,
		"resets at 2026-11-29 14:30 UTC":            150 * time.Minute,
		"access again on 2026-12-01 at 00:00 UTC.":  36 * time.Hour,
		"until Sun, 29 Nov 2026 13:00:00 GMT":       time.Hour,
		"usage limit reached|1795960800":            2 * time.Hour,
		// Not said, past, or beyond belief.
		"Your limit will reset at 2026-11-29 20:00:00": 0,
		"resets 3pm (America/New_York)":                0,
		"resets at 20:00":                              0,
		"5-hour usage limit reached.":                  0,
		"limit of 40,000 tokens in 5 minutes":          0,
		"resets at 2025-11-29T14:00:00Z":               0,
		"resets at 2999-01-01T00:00:00Z":               0,
		"resets in 99999999999999999999 days":          0,
		"resets in 4000 days":                          0,
		"":                                             0,
	} {
		var wanted time.Time
		if want != 0 {
			wanted = noon.Add(want)
		}
		if got := resetFromText(text, noon); !got.Equal(wanted) {
			t.Errorf("%q: %v, want %v", text, got, wanted)
		}
	}
	if got := resetFromText("Resets in 2hr", time.Time{}); !got.IsZero() {
		t.Errorf("without a time of the line: %v", got)
	}
}

func TestRetryAfter(t *testing.T) {
	for _, c := range []struct {
		name, value string
		want        time.Duration
	}{
		{"retry-after", "7800", 7800 * time.Second},
		{"retry-after", "1.5", 1500 * time.Millisecond},
		{"retry-after-ms", "250", 250 * time.Millisecond},
		{"retry-after", "Sun, 29 Nov 2026 13:00:00 GMT", time.Hour},
		{"retry-after", "Sun, 29 Nov 2026 11:00:00 GMT", 0},
		{"retry-after", "soon", 0}, {"retry-after", "-5", 0}, {"retry-after", "1e300", 0}, {"retry-after", "NaN", 0}, {"x", "1", 0},
	} {
		if got := retryAfter(map[string]string{c.name: c.value}, noon); got != c.want {
			t.Errorf("%s: %s: %v, want %v", c.name, c.value, got, c.want)
		}
	}
}

func TestHeadersGiveTheReset(t *testing.T) {
	// A long Retry-After is a reset, one of a second only spaces out the retries.
	for value, want := range map[string]time.Duration{"7800": 7800 * time.Second, "1": 0} {
		f, _ := Classify(Evidence{Message: "usage limit reached", At: noon, Headers: map[string]string{"retry-after": value}})
		var wanted time.Time
		if want != 0 {
			wanted = noon.Add(want)
		}
		if !f.ResetAt.Equal(wanted) || f.RetryAfter == 0 {
			t.Errorf("retry-after %s: reset at %v, retry after %v", value, f.ResetAt, f.RetryAfter)
		}
	}
	f, _ := Classify(Evidence{Message: "Rate limit reached", Status: 429, At: noon, Headers: map[string]string{"retry-after": "3600"}})
	if !f.ResetAt.IsZero() || f.RetryAfter != time.Hour {
		t.Errorf("a rate limit: reset at %v, retry after %v", f.ResetAt, f.RetryAfter)
	}
}
