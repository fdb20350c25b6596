package opencode

import (
	"testing"
	"time"

	"opencode-delegate/internal/event"
	"opencode-delegate/internal/fault"
)

func TestResetFromText(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"Resets in 2hr 10min.":                                        130 * time.Minute,
		"Resets in 19hr":                                              19 * time.Hour,
		"Resets in 3 days":                                            72 * time.Hour,
		"resets in 1 day, 4 hours and 30 minutes":                     28*time.Hour + 30*time.Minute,
		"Retry in 45min":                                              45 * time.Minute,
		"Please try again in 12m3.5s.":                                12*time.Minute + 3500*time.Millisecond,
		"Please try again in 20s.":                                    20 * time.Second,
		"Please try again in 250ms.":                                  250 * time.Millisecond,
		"Please retry after 26 seconds":                               26 * time.Second,
		"Please wait 12345 seconds before retrying":                   12345 * time.Second,
		"Your limit resets at 2026-11-29T14:00:00Z":                   2 * time.Hour,
		"resets at 2026-11-29 16:00:00 +0200":                         2 * time.Hour,
		"resets at 2026-11-29 14:30 UTC":                              150 * time.Minute,
		"access again on 2026-12-01 at 00:00 UTC.":                    36 * time.Hour,
		"until Sun, 29 Nov 2026 13:00:00 GMT":                         time.Hour,
		"usage limit reached|1795960800":                              2 * time.Hour,
		"Usage limit reached. Try again at Dec 1st, 2026 5:00 PM UTC": 53 * time.Hour,
		"Usage limit reached. Try again at Dec 1st, 2026 12:30 AM.":   0,
		"try again at Dec 1, 2026 12:30 AM UTC":                       36*time.Hour + 30*time.Minute,
		"Resets at 1795960800":                                        2 * time.Hour,
		"Resets at 1795960800000.":                                    2 * time.Hour,
		"reset_at: 1795960800":                                        2 * time.Hour,
		"resets December 1, 2026 at 09:00 UTC":                        45 * time.Hour,
		"resets 1 December 2026, 09:00 GMT":                           45 * time.Hour,
		"resets 2026/12/01 00:00 UTC":                                 36 * time.Hour,
		"resets 2026-12-01 08:00 (UTC+8)":                             36 * time.Hour,
		"resets 2026-12-01 08:00:00 UTC+08:00":                        36 * time.Hour,
		"resets 2026-12-01 08:00:00 +0800":                            36 * time.Hour,
		"resets 2026-11-30 19:00 UTC-5":                               36 * time.Hour,
		"resets at 2026-11-29T14:00:00.123Z.":                         2 * time.Hour,
		"Retry-After: 7200":                                           2 * time.Hour,
		"limit (retry-after: 7200)":                                   2 * time.Hour,
		`{"retry_after_seconds":7200}`:                                2 * time.Hour,
		"replenishes in 2 days 4 hours":                               52 * time.Hour,
		"Reset in 02:10:00":                                           130 * time.Minute,
		"Quota will be replenished in 02:30:00.":                      150 * time.Minute,
		"resets in 1h30m":                                             90 * time.Minute,
		"resets in 1d2h":                                              26 * time.Hour,
		// No date, or none with a zone.
		"resets Feb 31st, 2027 5:00 PM UTC":      0,
		"resets Foo 1st, 2027 5:00 PM UTC":       0,
		"resets Dec 1st":                         0,
		"try again 2nd of May":                   0,
		"resets 2026-12-01 25:00 UTC":            0,
		"resets 2026-12-01 13:00 PM UTC":         0,
		"resets 2026-12-01 08:00 UTC+99":         0,
		"resets 6pm (UTC)":                       0,
		"reset 12345678901":                      0,
		"Retry-After: Sun, 29 Nov 2026 14:00:00": 0,
		"available in 3 models":                  0,
		"retry 5 methods":                        0,
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
	for _, member := range []string{`"reset_at":"2026-11-29T14:00:00Z"`, `"resets_at":1795960800`, `"reset_time":"1795960800000"`, `"reset_time":"2026-11-29 16:00:00 +0200"`, `"retry_after":7200`, `"retry_after":"7200"`, `"retry_after_seconds":7200`, `"reset_at":null,"retry_after":7200`, `"reset_at":1e400,"resets_in_seconds":7200`} {
		for _, body := range []string{`{"error":{"message":"usage limit reached",` + member + `}}`, `{"message":"usage limit reached",` + member + `}`} {
			f, _ := Classify(FromEvent(event.Event{Type: event.Failure, At: noon, Err: event.Err{Message: "usage limit reached", Status: 429, Body: body}}, noon))
			if f.Kind != fault.QuotaExhausted || !f.ResetAt.Equal(noon.Add(2*time.Hour)) {
				t.Errorf("%s: %s, reset at %v", body, f.Kind, f.ResetAt)
			}
		}
	}
	f, _ := Classify(Evidence{Message: "Rate limit reached", Status: 429, At: noon, Headers: map[string]string{"retry-after": "3600"}})
	if !f.ResetAt.IsZero() || f.RetryAfter != time.Hour {
		t.Errorf("a rate limit: reset at %v, retry after %v", f.ResetAt, f.RetryAfter)
	}
}
