package plugin

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// optionPrefix begins the names under which Claude Code hands the options of a plugin to its hooks, and to nothing else. Those that the user
// has not set are absent: a default of the manifest is shown and never applied.
const optionPrefix = "CLAUDE_PLUGIN_OPTION_"

// Options are those of the plugin, as its manifest names them.
var Options = []string{
	"default_tier", "tier_flash", "tier_code", "tier_pro", "default_model", "timeout", "digest_limit", "max_jobs", "policy_text", "nudge", "notify",
}

// Variable is the name of the variable that holds an option.
func Variable(option string) string { return optionPrefix + strings.ToUpper(option) }

// on reads an option that is a yes or a no. What is neither is as if it were not set.
func (h *hook) on(option string, otherwise bool) bool {
	v, err := strconv.ParseBool(strings.ToLower(strings.TrimSpace(h.Getenv(Variable(option)))))
	if err != nil {
		return otherwise
	}
	return v
}

const (
	maxWait     = "OC_DELEGATE_MAX_WAIT"
	hostTimeout = "BASH_DEFAULT_TIMEOUT_MS"
	// optionLimit bounds the value of an option in bytes.
	optionLimit = 4 << 10
)

// exports are lines of a shell that give every later command of the session the options, and the time that oc-delegate may wait in the
// foreground. dropped names options that cannot be handed on.
func (h *hook) exports() (lines string, dropped []string) {
	var b strings.Builder
	for _, o := range Options {
		switch v := h.Getenv(Variable(o)); {
		case v == "":
		case len(v) > optionLimit, strings.ContainsAny(v, "\x00\n\r"):
			dropped = append(dropped, o)
		default:
			fmt.Fprintf(&b, "export %s=%s\n", Variable(o), quote(v))
		}
	}
	if h.Getenv(maxWait) == "" {
		fmt.Fprintf(&b, "export %s=%s\n", maxWait, waitBefore(h.Getenv(hostTimeout)))
	}
	return b.String(), dropped
}

// quote makes one word of s for a POSIX shell in which nothing is expanded.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// waitBefore is how long a call waits that has to be back before the host takes it for one that hangs: ten seconds less, half of a limit
// that is that short. What the host is not told it does not use either: then its own limit is two minutes.
func waitBefore(milliseconds string) string {
	limit := 2 * time.Minute
	if ms, err := strconv.ParseInt(strings.TrimSpace(milliseconds), 10, 64); err == nil && ms > 0 {
		limit = time.Duration(min(ms, int64(24*time.Hour/time.Millisecond))) * time.Millisecond
	}
	if limit <= 20*time.Second {
		limit /= 2
	} else {
		limit -= 10 * time.Second
	}
	return strconv.Itoa(max(1, int(limit/time.Second))) + "s"
}
