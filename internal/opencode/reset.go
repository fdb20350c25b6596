package opencode

import (
	"math"
	"strconv"
	"strings"
	"time"

	"opencode-delegate/internal/lazyregexp"
)

// longestReset bounds what is believed: no provider's window is longer than a year.
const longestReset = 366 * 24 * time.Hour

const durationUnit = `(?:milliseconds?|msecs?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|hr|h|days?|d|weeks?|wks?|w)`

var (
	// "Resets in 2hr 10min", "Retry in 3 days", "try again in 12m3.5s", "Please wait 26 seconds", "Retry after 1h".
	resetAfter = lazyregexp.New(`(?i)\b(?:resets?|retry|again|available|refresh(?:es|ed)?|wait|renews?|restored?|back)\b[^.;:0-9]{0,24}?:?\s*((?:\d+(?:\.\d+)?\s*` +
		durationUnit + `\b[\s,]*(?:and\s+)?|\d+(?:\.\d+)?(?:ms|s|m|h|d|w)(?:\d+(?:\.\d+)?(?:ms|s|m|h|d|w))*[\s,]*)+)`)
	durationPart = lazyregexp.New(`(?i)(\d+(?:\.\d+)?)\s*(` + durationUnit + `)`)
	// An absolute time counts only with its zone.
	resetAt = lazyregexp.New(`(?i)\b(\d{4}-\d{2}-\d{2})(?:T|\s+at\s+|\s+)(\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)\s*(Z|UTC|GMT|[+-]\d{2}:?\d{2})(?:\b|$|[^\w:])`)
	// "usage limit reached|1795990000": seconds since 1970.
	resetUnix = lazyregexp.New(`limit reached\|(\d{10})\b`)
	httpDate  = lazyregexp.New(`(?i)\b(?:mon|tue|wed|thu|fri|sat|sun), \d{2} [a-z]{3} \d{4} \d{2}:\d{2}:\d{2} GMT\b`)
)

// resetFromText finds when a limit ends, in words that a provider wrote at a time. Zero when the text does not say it,
// or says it only as a clock time without a zone: guessing one would be off by hours.
func resetFromText(text string, at time.Time) time.Time {
	text = text[:min(len(text), 16<<10)]
	if m := resetAt().FindStringSubmatch(text); m != nil {
		clock, zone := m[2], strings.ToUpper(m[3])
		if len(clock) == 5 {
			clock += ":00"
		}
		switch {
		case zone == "UTC" || zone == "GMT":
			zone = "Z"
		case zone != "Z" && !strings.Contains(zone, ":"):
			zone = zone[:3] + ":" + zone[3:]
		}
		if t, err := time.Parse(time.RFC3339Nano, m[1]+"T"+clock+zone); err == nil {
			return believable(t, at)
		}
	}
	if m := httpDate().FindString(text); m != "" {
		if t, err := time.Parse(time.RFC1123, m); err == nil {
			return believable(t, at)
		}
	}
	if m := resetUnix().FindStringSubmatch(text); m != nil {
		if n, err := strconv.ParseInt(m[1], 10, 64); err == nil {
			return believable(time.Unix(n, 0), at)
		}
	}
	if m := resetAfter().FindStringSubmatch(text); m != nil {
		if d := sumDuration(m[1]); d > 0 {
			return believable(at.Add(d), at)
		}
	}
	return time.Time{}
}

// believable drops a time that is past or absurdly far away.
func believable(t, at time.Time) time.Time {
	if at.IsZero() || !t.After(at) || t.Sub(at) > longestReset {
		return time.Time{}
	}
	return t.UTC()
}

func sumDuration(text string) time.Duration {
	var sum time.Duration
	for _, m := range durationPart().FindAllStringSubmatch(text, -1) {
		n, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			return 0
		}
		sum += seconds(n * unitSeconds(strings.ToLower(m[2])))
		if sum > longestReset {
			return 0
		}
	}
	return sum
}

func unitSeconds(unit string) float64 {
	switch {
	case strings.HasPrefix(unit, "ms"), strings.HasPrefix(unit, "milli"):
		return 0.001
	case strings.HasPrefix(unit, "s"):
		return 1
	case strings.HasPrefix(unit, "m"):
		return 60
	case strings.HasPrefix(unit, "h"):
		return 3600
	case strings.HasPrefix(unit, "d"):
		return 24 * 3600
	}
	return 7 * 24 * 3600
}

// seconds converts without the overflow that a hostile number could cause.
func seconds(n float64) time.Duration {
	if !(n > 0) || n > longestReset.Seconds() {
		if n > 0 {
			return longestReset + 1
		}
		return 0
	}
	return time.Duration(math.Round(n * float64(time.Second)))
}

// retryAfter reads the response headers retry-after-ms and retry-after, the latter in seconds or as a date. Zero when
// there is none.
func retryAfter(headers map[string]string, at time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(strings.TrimSpace(headers["retry-after-ms"]), 64); err == nil && ms > 0 {
		return capped(seconds(ms / 1000))
	}
	value := strings.TrimSpace(headers["retry-after"])
	if value == "" {
		return 0
	}
	if n, err := strconv.ParseFloat(value, 64); err == nil {
		return capped(seconds(n))
	}
	if t, err := time.Parse(time.RFC1123, value); err == nil {
		if t = believable(t, at); !t.IsZero() {
			return t.Sub(at)
		}
	}
	return 0
}

func capped(d time.Duration) time.Duration {
	if d > longestReset {
		return 0
	}
	return d
}
