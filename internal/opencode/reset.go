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

// What stands before the time at which a limit ends.
const resetVerb = `\b(?:resets?|retry|again|available|refresh(?:es|ed)?|wait|renews?|restored?|replenish(?:es|ed)?|back|until)`

var (
	// "Resets in 2hr 10min", "Retry in 3 days", "try again in 12m3.5s", "Please wait 26 seconds", "Retry after 1h". A unit ends
	// with its word: "Dec 1st" is no second.
	resetAfter = lazyregexp.New(`(?i)` + resetVerb + `\b[^.;:0-9]{0,24}?:?\s*((?:\d+(?:\.\d+)?\s*` +
		durationUnit + `\b[\s,]*(?:and\s+)?|(?:\d+(?:\.\d+)?(?:ms|s|m|h|d|w))+\b[\s,]*)+)`)
	durationPart = lazyregexp.New(`(?i)(\d+(?:\.\d+)?)\s*(` + durationUnit + `)`)
	// "Reset in 02:10:00".
	resetClock = lazyregexp.New(`(?i)` + resetVerb + `\s+(?:in|after)\s+(\d{1,3}):(\d{2}):(\d{2})\b`)
	// "Retry-After: 7200", in a text: seconds.
	resetHeader = lazyregexp.New(`(?i)\bretry[-_ ]after(?:[-_ ]seconds)?["']?\s*[:=]\s*["']?(\d{1,9}(?:\.\d+)?)(?:[^\w.:/-]|\.?$)`)
	// "usage limit reached|1795990000", "Resets at 1795996800": since 1970, in seconds or milliseconds.
	resetUnix = lazyregexp.New(`(?i)(?:limit reached\||\bresets?(?:[-_ ]+(?:at|on|time))?["']?\s*[:=]?\s*["']?)(\d{13}|\d{10})\b`)
)

// resetFromText finds when a limit ends, in words that a provider wrote at a time. Zero when the text does not say it,
// or says it only as a clock time without a zone: guessing one would be off by hours.
func resetFromText(text string, at time.Time) time.Time {
	text = text[:min(len(text), 16<<10)]
	if t := dateIn(text); !t.IsZero() {
		return believable(t, at)
	}
	if m := resetUnix().FindStringSubmatch(text); m != nil {
		if n, err := strconv.ParseFloat(m[1], 64); err == nil {
			return believable(unixTime(n), at)
		}
	}
	if m := resetClock().FindStringSubmatch(text); m != nil {
		if d := sumDuration(m[1] + "h" + m[2] + "m" + m[3] + "s"); d > 0 {
			return believable(at.Add(d), at)
		}
	}
	if m := resetHeader().FindStringSubmatch(text); m != nil {
		if n, err := strconv.ParseFloat(m[1], 64); err == nil {
			return believable(at.Add(seconds(n)), at)
		}
	}
	if m := resetAfter().FindStringSubmatch(text); m != nil {
		if d := sumDuration(m[1]); d > 0 {
			return believable(at.Add(d), at)
		}
	}
	return time.Time{}
}

// unixTime is a time since 1970, in seconds, or in milliseconds when it would be after the year 5000 otherwise. Zero for
// what is neither.
func unixTime(n float64) time.Time {
	switch {
	case n >= 1e9 && n < 1e11:
		return time.UnixMilli(int64(n * 1000))
	case n >= 1e12 && n < 1e14:
		return time.UnixMilli(int64(n))
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
