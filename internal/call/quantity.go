package call

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// parseDuration reads whole numbers of s, m or h, or plain seconds. It is stricter than Go's own form on purpose: "10ms"
// or "1.5" for a run of an agent is a slip, not a wish.
func parseDuration(text string, zero bool) (time.Duration, error) {
	digits, unit := text, time.Second
	if text != "" {
		switch text[len(text)-1] {
		case 's':
			digits = text[:len(text)-1]
		case 'm':
			digits, unit = text[:len(text)-1], time.Minute
		case 'h':
			digits, unit = text[:len(text)-1], time.Hour
		}
	}
	n, err := strconv.ParseUint(digits, 10, 63)
	switch {
	case err != nil && strings.Contains(err.Error(), "range"), err == nil && n > uint64(math.MaxInt64/unit):
		return 0, fmt.Errorf("%q is too long; at most %dh", clip(text), math.MaxInt64/int64(time.Hour))
	case err != nil:
		return 0, fmt.Errorf("%q is no duration; write 300s, 10m, 2h or plain seconds", clip(text))
	case n == 0 && !zero:
		return 0, fmt.Errorf("%q ends the run before it starts; write 300s, 10m, 2h or plain seconds", clip(text))
	}
	return time.Duration(n) * unit, nil
}

// MaxWait is how long a call waits in the foreground before it leaves its job to the background: the flag, else
// OC_DELEGATE_MAX_WAIT, else 0, which is for ever. The row is for --explain.
func MaxWait(flag Once, getenv func(string) string) (time.Duration, Row, error) {
	row := Row{"max-wait", getenv("OC_DELEGATE_MAX_WAIT"), "environment OC_DELEGATE_MAX_WAIT"}
	if flag.Set {
		row.Value, row.Source = flag.Text, "flag --max-wait"
	} else if row.Value == "" {
		row.Value, row.Source = "0", "built in"
	}
	d, err := parseDuration(row.Value, true)
	if err != nil {
		return 0, row, fmt.Errorf("%s: %w", row.Source, err)
	}
	return d, row, nil
}

// maxJobsLimit is more jobs than any machine runs.
const maxJobsLimit = 1 << 20

// MaxJobs is how many jobs may run at once: the flag, else OC_DELEGATE_MAX_JOBS, else CLAUDE_PLUGIN_OPTION_MAX_JOBS, else 0, which leaves it to
// the queue. The row is for --explain.
func MaxJobs(flag Once, getenv func(string) string) (int, Row, error) {
	row := Row{"max-jobs", flag.Text, "flag --max-jobs"}
	for _, name := range []string{"OC_DELEGATE_MAX_JOBS", "CLAUDE_PLUGIN_OPTION_MAX_JOBS"} {
		if !flag.Set && row.Value == "" {
			row.Value, row.Source = getenv(name), "environment "+name
		}
	}
	if !flag.Set && row.Value == "" {
		return 0, Row{row.Name, "twice the number of cores", "built in"}, nil
	}
	n, err := parseCount(row.Value, 1)
	if err == nil && n > maxJobsLimit {
		err = fmt.Errorf("%q is too many; at most %d", clip(row.Value), maxJobsLimit)
	}
	if err != nil {
		return 0, row, fmt.Errorf("%s: %w", row.Source, err)
	}
	return int(n), row, nil
}

// Days reads a duration that may be given in days too: 300s, 10m, 2h, 30d or plain seconds.
func Days(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 31)
		if err != nil || n > uint64(math.MaxInt64/(24*time.Hour)) {
			return 0, fmt.Errorf("%q is no number of days; write 30d", clip(text))
		}
		return time.Duration(n) * 24 * time.Hour, nil
	}
	return parseDuration(text, true)
}

// Age is Days with a unit that has to be named: 30 could mean days to one and seconds to another.
func Age(text string) (time.Duration, error) {
	if _, err := strconv.ParseUint(text, 10, 63); err == nil && text != "0" {
		return 0, fmt.Errorf("%q has no unit; write 30d, 12h, 30m or 300s", clip(text))
	}
	return Days(text)
}

func parseCost(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || v < 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return 0, fmt.Errorf("%q is no amount; write US dollars such as 0.25, or 0 for no cap", clip(text))
	}
	return v, nil
}

func parseCount(text string, least int64) (int64, error) {
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil || v < least {
		return 0, fmt.Errorf("%q is no whole number of at least %d", clip(text), least)
	}
	return v, nil
}

// clip bounds a value that is quoted back to the caller.
func clip(s string) string {
	if len(s) > 80 {
		return strings.ToValidUTF8(s[:80], "") + "…"
	}
	return s
}
