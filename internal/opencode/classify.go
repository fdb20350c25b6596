package opencode

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"opencode-delegate/internal/lazyregexp"

	"opencode-delegate/internal/fault"
)

// ErrSessionPoisoned is the cause of a fault after which a session cannot be continued: what the provider refuses is part of
// it. errors.Is finds it in an [Outcome]'s Fault.
var ErrSessionPoisoned = errors.New("the session cannot be continued")

// reasonLimit is the length of a reason in runes; OC_SIGNAL allows 300.
const reasonLimit = 300

// address matches what is cut out before wording is looked at: links name billing pages beside every kind of error.
var address = lazyregexp.New(`(?i)\b(?:https?://|www\.)\S+`)

// Classify turns one piece of evidence into a fault, by one table for events and log lines alike. It always returns a
// fault; known reports whether a rule recognised it, rather than that something failed.
//
// Times in the provider's words are relative to ev.At. A reset is given for a usage limit only; for the rest there is
// at most a RetryAfter.
func Classify(ev Evidence) (f *fault.Error, known bool) {
	said := wordsOf(ev)
	f = &fault.Error{Kind: fault.RunFailed, ProviderStatus: ev.Status}
	what := "opencode reports an error"
	for _, r := range rules {
		if r.matches(ev, said) {
			f.Kind, f.Transient, what, known = r.kind, r.transient, r.what, !r.vague
			if r.poisoned {
				f.Err = ErrSessionPoisoned
			}
			break
		}
	}
	f.Reason = reason(what, ev)
	times(f, ev)
	f.Hints = hints(f)
	return f, known
}

// identifier matches a quoted name. A model may be called "quota-7b".
var identifier = lazyregexp.New("[`'\"“][^\\s`'\"”]{1,120}[`'\"”]")

// wordsOf is the part of a provider's message in which wording is looked for: without addresses, and without names that
// somebody chose.
func wordsOf(ev Evidence) string {
	said := strings.ReplaceAll(ev.Message[:min(len(ev.Message), 16<<10)], "’", "'")
	said = address().ReplaceAllString(said, "")
	said = identifier().ReplaceAllString(said, "'x'")
	if _, id, ok := strings.Cut(ev.Model, "/"); ok && strings.ContainsAny(id, "-_.:/0123456789") {
		said = strings.ReplaceAll(said, id, "x")
	}
	return said
}

// times fills in when it is worth trying again.
func times(f *fault.Error, ev Evidence) {
	wait := retryAfter(ev.Headers, ev.At)
	reset := resetFromText(ev.Message, ev.At)
	if f.Kind == fault.QuotaExhausted {
		// opencode is told to come back in a second even by providers whose text says hours: the text wins, and a
		// header that only spaces out the retries is no reset.
		if reset.IsZero() && wait >= time.Minute {
			reset = ev.At.Add(wait).UTC()
		}
		f.ResetAt = reset.Truncate(time.Second)
	}
	if !reset.IsZero() {
		wait = max(reset.Sub(ev.At), wait)
	}
	if f.Kind == fault.QuotaExhausted || f.Transient {
		f.RetryAfter = wait
	}
}

func reason(what string, ev Evidence) string {
	var b strings.Builder
	b.WriteString(what)
	if ev.Status != 0 {
		b.WriteString(" (HTTP ")
		b.WriteString(strconv.Itoa(ev.Status))
		b.WriteString(")")
	}
	if ev.Model != "" {
		b.WriteString(", ")
		b.WriteString(oneLine(ev.Model, 80))
	}
	if ev.Message != "" {
		b.WriteString(": ")
		b.WriteString(ev.Message[:min(len(ev.Message), 8*reasonLimit)])
	} else if ev.Body != "" {
		b.WriteString(": ")
		b.WriteString(ev.Body[:min(len(ev.Body), 8*reasonLimit)])
	}
	return oneLine(b.String(), reasonLimit)
}

func hints(f *fault.Error) []string {
	if errors.Is(f, ErrSessionPoisoned) {
		return []string{"begin a new session: this one would meet the same refusal again"}
	}
	switch f.Kind {
	case fault.AuthRequired:
		return []string{"opencode auth login"}
	case fault.QuotaExhausted:
		return []string{"wait for the reset, or choose another tier or model"}
	}
	return nil
}
