package ledger

import (
	"cmp"
	"slices"
	"time"
)

// A Quota is one window of a provider, or of one of its models.
type Quota struct {
	Provider string `json:"provider"`
	Model    string `json:"model"` // empty: all models of the provider together
	Window   Window `json:"window"`

	Used     USD   `json:"used_usd"` // by runs of ours
	Unpriced int64 `json:"unpriced"` // entries in the window with known tokens and no known cost: more was used
	// Limit is nil when none is known.
	Limit  *USD   `json:"limit_usd"`
	Source string `json:"limit_source"` // where Limit comes from; "unknown"

	ResetAt   *time.Time `json:"reset_at"` // of a limit that was met; nil when none is known
	Exhausted bool       `json:"exhausted"`

	Rate USD `json:"usd_per_hour"` // at present
	// FullAt is when the limit is reached at that rate; nil when it is not within one window, and when no limit is known.
	FullAt *time.Time `json:"full_at"`
	// RunsLeft is how many runs of a tier the rest of the limit pays for, each at the median cost of the tier's tries with this
	// provider (and model), repairs included. A tier without tries of known cost is missing.
	RunsLeft map[string]int64 `json:"runs_left"`
}

// learnedAge is for how long the amount at which a limit came is believed: plans change.
const learnedAge = 90 * 24 * time.Hour

// Quota says of each provider with a limit or with spendings of the last 30 days how its windows stand, and of each model that has a limit
// of its own or has met one. limits are those of the configuration; they go before what was learned, and that before [Builtin].
// It reckons by the minute, and the minute in which a window begins counts whole. It warns: what is enforced is learned from errors alone.
func (l *Ledger) Quota(now time.Time, limits []Limit) ([]Quota, error) {
	met, err := l.exhaustions(now)
	if err != nil {
		return nil, err
	}
	paid, err := l.paid(now)
	if err != nil {
		return nil, err
	}
	costs, err := l.costs(now)
	if err != nil {
		return nil, err
	}
	type subject struct{ provider, model string }
	subjects := map[subject]bool{}
	for _, lim := range slices.Concat(limits, builtin) {
		subjects[subject{lim.Provider, ""}], subjects[subject{lim.Provider, lim.Model}] = true, true
	}
	for _, x := range met {
		if now.Sub(x.At) < learnedAge && !x.Lifted {
			subjects[subject{x.Provider, ""}], subjects[subject{x.Provider, x.Model}] = true, true
		}
	}
	for _, p := range paid {
		subjects[subject{p.provider, ""}] = true
	}
	var out []Quota
	for s := range subjects {
		for _, w := range Windows() {
			q := Quota{Provider: s.provider, Model: s.model, Window: w}
			q.stand(now, paid, met)
			q.limit(now, limits, met)
			if s.model == "" || q.Exhausted || q.Limit != nil {
				q.forecast(now, costs)
				out = append(out, q)
			}
		}
	}
	order := map[Window]int{}
	for i, w := range Windows() {
		order[w] = i
	}
	slices.SortFunc(out, func(a, b Quota) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Model, b.Model), cmp.Compare(order[a.Window], order[b.Window]))
	})
	return out, nil
}

// of reports whether something about a model is about what the quota is of.
func (q *Quota) of(provider, model string) bool {
	return q.Provider == provider && (q.Model == "" || q.Model == model)
}

// met reports whether a limit that was met is that of this quota. One whose words name no window is told as that of the shortest.
func (q *Quota) met(x Exhaustion) bool {
	return !x.Lifted && q.Provider == x.Provider && q.Model == x.Model && (q.Window == x.Window || x.Window == AnyWindow && q.Window == FiveHours)
}

// stand is what was used, and whether the limit was met.
func (q *Quota) stand(now time.Time, paid []payment, met []Exhaustion) {
	from := now.Add(-windows[q.Window].length)
	for _, x := range met {
		if !q.met(x) {
			continue
		}
		// After a reset the provider counts from 0.
		if reset := x.Reset(); reset.After(now) {
			if !q.Exhausted || reset.After(*q.ResetAt) {
				q.Exhausted, q.ResetAt = true, &reset
			}
		} else if x.Window == q.Window && !x.Until.IsZero() && x.over.IsZero() && reset.After(from) {
			from = reset
		}
	}
	pace := max(windows[q.Window].pace, time.Minute)
	var lately USD
	for _, p := range paid {
		if !q.of(p.provider, p.model) || p.at.Before(from.Truncate(time.Minute)) {
			continue
		}
		q.Used, q.Unpriced = USD(total(int64(q.Used), int64(p.cost))), q.Unpriced+p.unpriced
		if !p.at.Before(now.Add(-pace).Truncate(time.Minute)) {
			lately = USD(total(int64(lately), int64(p.cost)))
		}
	}
	q.Rate = USD(float64(lately) / pace.Hours())
}

// limit finds the limit that holds.
func (q *Quota) limit(now time.Time, limits []Limit, met []Exhaustion) {
	q.Source = "unknown"
	set := func(limits []Limit, model string) {
		for _, lim := range limits {
			if q.Limit == nil && lim.Provider == q.Provider && lim.Model == model && lim.Window == q.Window {
				usd := lim.USD
				q.Limit, q.Source = &usd, lim.Source
			}
		}
	}
	set(limits, q.Model)
	for _, x := range slices.Backward(met) {
		// 0 says that others have spent it all, and nothing of the limit.
		if q.Limit == nil && x.Window == q.Window && q.met(x) && x.Used != nil && *x.Used > 0 && now.Sub(x.At) < learnedAge {
			q.Limit, q.Source = x.Used, "learned from the error of "+x.At.UTC().Format(dayLayout)
		}
	}
	set(builtin, q.Model)
}

// forecast says how long the rest of the limit lasts.
func (q *Quota) forecast(now time.Time, costs []cost) {
	q.RunsLeft = map[string]int64{}
	if q.Limit == nil {
		return
	}
	left := max(0, *q.Limit-q.Used)
	if length := windows[q.Window].length; q.Rate > 0 && float64(left)/float64(q.Rate) <= length.Hours() {
		at := now.Add(time.Duration(float64(left) / float64(q.Rate) * float64(time.Hour)))
		q.FullAt = &at
	}
	byTier := map[string][]USD{}
	for _, c := range costs {
		if q.of(c.provider, c.model) {
			byTier[c.tier] = append(byTier[c.tier], c.usd)
		}
	}
	for tier, all := range byTier {
		if m := median(all); tier != "" && m > 0 {
			q.RunsLeft[tier] = int64(left / m)
		}
	}
	if q.Exhausted {
		for tier := range q.RunsLeft {
			q.RunsLeft[tier] = 0
		}
	}
}

// median is that of at least one amount; of an even number the lower one of the two in the middle.
func median(all []USD) USD {
	slices.Sort(all)
	return all[(len(all)-1)/2]
}
