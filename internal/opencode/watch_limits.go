package opencode

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"opencode-delegate/internal/fault"
)

// budget applies the caps after a step. One that completed the answer is paid for, so its result is kept.
func (w *watch) budget() {
	var over string
	cost, sum, in := w.tr.Cost(), w.tr.Tokens().Sum(), fmt.Sprintf("%d steps", w.tr.Steps())
	if w.tr.Steps() == 1 {
		in = "1 step"
	}
	if w.limits.Sum != nil {
		own := sum
		if cost, sum = w.limits.Sum(cost, sum); sum > own {
			in += " and the attempts before and beside it"
		}
	}
	if w.limits.MaxTokens > 0 && sum > w.limits.MaxTokens {
		over = fmt.Sprintf("token cap of %d exceeded by %d: %d tokens in %s", w.limits.MaxTokens, sum-w.limits.MaxTokens, sum, in)
	} else if w.limits.MaxCost > 0 && cost-w.limits.MaxCost > 1e-9 {
		over = fmt.Sprintf("cost cap of $%s exceeded by $%s: $%s in %s", dollars(w.limits.MaxCost), dollars(cost-w.limits.MaxCost), dollars(cost), in)
	}
	switch {
	case over == "", w.halted != nil: // a run that is being ended is not judged again
	case w.complete():
		w.heal(over + ", by the step that completed the answer")
	default:
		w.stop(halt{hard: true, fault: &fault.Error{Kind: fault.BudgetExceeded, Reason: over}})
	}
}

// settle restarts the wait for a complete process to leave.
func (w *watch) settle(now time.Time) {
	if w.complete() {
		w.doneAt = now.Add(linger)
	} else {
		w.doneAt = time.Time{}
	}
}

// tick acts on what is due.
func (w *watch) tick(now time.Time) {
	due := func(t time.Time) bool { return !t.IsZero() && !now.Before(t) }
	switch {
	case due(w.doneAt):
		w.stop(halt{note: "opencode did not exit after its complete answer and was ended"})
	case due(w.deadline()):
		w.stop(halt{soft: true, fault: w.timeout("the time limit of %s is over", w.limits.Timeout)})
	case due(w.quotaAt):
		w.stop(halt{fault: w.quota()})
	case due(w.retryUntil()):
		w.stop(halt{fault: w.givenUp()})
	case due(w.idleUntil()):
		w.stop(halt{soft: true, fault: w.timeout("no progress for %s", w.limits.Idle)})
	}
}

// next is when tick wants to be called; zero means never.
func (w *watch) next() time.Time {
	var first time.Time
	for _, t := range []time.Time{w.doneAt, w.deadline(), w.quotaAt, w.retryUntil(), w.idleUntil()} {
		if !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	return first
}

func (w *watch) deadline() time.Time { return after(w.start, w.limits.Timeout) }

func (w *watch) idleUntil() time.Time { return after(w.progress, w.limits.Idle) }

func (w *watch) retryUntil() time.Time {
	if w.failing.IsZero() {
		return time.Time{}
	}
	return after(w.failing, w.limits.Retry)
}

// after is t+d, or zero when there is no limit.
func after(t time.Time, d time.Duration) time.Time {
	if d <= 0 {
		return time.Time{}
	}
	return t.Add(d)
}

// dollars is an amount to a millionth, without zeros at its end.
func dollars(v float64) string {
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(v, 'f', 6, 64), "0"), ".")
}
