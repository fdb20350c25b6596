package delegate

import (
	"strings"
	"time"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/ledger"
)

// exhausted refuses a model of which the ledger knows that a usage limit is reached, so that neither a request is spent nor a minute on
// hearing it again. What it does not know, or cannot read, refuses nothing.
func (h Host) exhausted(model string) error {
	if h.Ledger == nil {
		return nil
	}
	provider, name, _ := strings.Cut(model, "/")
	now := h.Now()
	x, blocked, err := h.Ledger.Blocked(now, provider, name)
	if err != nil || !blocked {
		return nil
	}
	reset := x.Reset().UTC()
	f := fault.New(fault.QuotaExhausted, "nothing was started: %s of %s was reached at %s and %s", limitOf(x), model, stamp(x.At).Format(time.RFC3339), until(x))
	f.RetryAfter = reset.Sub(now)
	if !x.Until.IsZero() {
		f.ResetAt = stamp(reset)
	}
	return f.With("--tier or -m takes another model; --ignore-quota asks this one all the same; oc-job quota shows where each stands")
}

// affordable refuses a request whose first model is known to be exhausted.
func (r Request) affordable(host Host) error {
	if r.IgnoreQuota {
		return nil
	}
	return host.exhausted(r.Model)
}

func limitOf(x ledger.Exhaustion) string {
	switch x.Window {
	case ledger.FiveHours:
		return "the usage limit for 5 hours"
	case ledger.Week, ledger.Month:
		return "the usage limit for a " + string(x.Window)
	}
	return "a usage limit"
}

func until(x ledger.Exhaustion) string {
	if x.Until.IsZero() {
		return "did not say when it ends; it is taken to hold until " + stamp(x.Reset()).Format(time.RFC3339)
	}
	return "ends at " + stamp(x.Reset()).Format(time.RFC3339)
}
