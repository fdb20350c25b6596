package opencode

import (
	"strconv"
	"strings"
	"time"

	"opencode-delegate/internal/lazyregexp"
)

const (
	datePart = `(?:(\d{4})[-/](\d{1,2})[-/](\d{1,2})|([A-Z][a-z]{2,8})\.? (\d{1,2})(?:st|nd|rd|th)?,? (\d{4})|(\d{1,2})(?:st|nd|rd|th)? ([A-Z][a-z]{2,8})\.?,? (\d{4}))`
	timePart = `(\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?(?:\s?([aApP])\.?[mM]\.?)?`
	zonePart = `\(?(?:(Z|UTC|GMT)\s?([+-]\d{1,2}(?::?\d{2})?)?|([+-]\d{2}:?\d{2}))\)?`
)

// date matches a day, a clock time and a zone, in the orders that are written: "2026-12-01T09:00:00Z", "2026/12/01 00:00 UTC",
// "December 1, 2026 at 09:00 UTC", "Dec 1st, 2026 5:00 PM (UTC+8)", "Sun, 29 Nov 2026 13:00:00 GMT".
var date = lazyregexp.New(`(?:^|[^\w/.-])` + datePart + `(?:T|,?\s+at\s+|,?\s+)` + timePart + `\s*` + zonePart + `(?:$|[^\w:])`)

// dateIn is the first point in time that a text names in full; zero when it names none. Without a zone it is none.
func dateIn(text string) time.Time {
	m := date().FindStringSubmatch(text)
	if m == nil {
		return time.Time{}
	}
	year, month, day := m[1]+m[6]+m[9], m[2], m[3]+m[5]+m[7]
	if name := m[4] + m[8]; name != "" {
		month = monthOf(name)
	}
	hour, offset, ok := clock(m[10], m[13], m[15]+m[16])
	if !ok {
		return time.Time{}
	}
	// Parse, unlike Date, refuses the 31st of February.
	t, err := time.Parse("2006-1-2 15:4:5", year+"-"+month+"-"+day+" "+strconv.Itoa(hour)+":"+m[11]+":"+or(m[12], "0"))
	if err != nil {
		return time.Time{}
	}
	return t.Add(-offset)
}

func or(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// monthOf is the number of a month by its English name or the first three letters, else "".
func monthOf(name string) string {
	for m := time.January; m <= time.December; m++ {
		if full := m.String(); strings.EqualFold(name, full) || strings.EqualFold(name, full[:3]) || name == "Sept" && m == time.September {
			return strconv.Itoa(int(m))
		}
	}
	return ""
}

// clock is the hour of 24, and the zone's distance from UTC.
func clock(hour, half, zone string) (h int, offset time.Duration, ok bool) {
	h, err := strconv.Atoi(hour)
	if err != nil {
		return 0, 0, false
	}
	if half != "" {
		if h < 1 || h > 12 {
			return 0, 0, false
		}
		if h %= 12; strings.EqualFold(half, "p") {
			h += 12
		}
	}
	if zone == "" {
		return h, 0, true
	}
	digits := strings.ReplaceAll(zone[1:], ":", "")
	if len(digits) <= 2 {
		digits += "00"
	}
	n, err := strconv.Atoi(digits)
	if err != nil || n/100 > 14 || n%100 > 59 {
		return 0, 0, false
	}
	offset = time.Duration(n/100)*time.Hour + time.Duration(n%100)*time.Minute
	if zone[0] == '-' {
		offset = -offset
	}
	return h, offset, true
}
