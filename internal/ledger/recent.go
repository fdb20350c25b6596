package ledger

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// A payment is what one model cost in one minute.
type payment struct {
	provider, model string
	at              time.Time
	spending
}

// paid are the payments of the longest window before now. What is dated later is left out. A day that cannot be read is an error: it
// would look as if nothing had been spent.
func (l *Ledger) paid(now time.Time) (all []payment, err error) {
	days, err := l.days()
	if err != nil {
		return nil, err
	}
	first, last := day(now.Add(-windows[Month].length)), day(now)
	for i, d := range days {
		if d < first || d > last {
			continue
		}
		s, err := l.sum(d, i == len(days)-1)
		if err != nil {
			return nil, fmt.Errorf("ledger: %w", err)
		}
		midnight, _ := time.Parse(dayLayout, d)
		for m, spent := range s.minutes() {
			if at := m.at(midnight); !at.After(now) {
				all = append(all, payment{m.provider, m.model, at, spent})
			}
		}
	}
	return all, nil
}

// used is what the window of a limit had seen when the limit was met.
func (l *Ledger) used(x Exhaustion) (USD, error) {
	paid, err := l.paid(x.At)
	if err != nil {
		return 0, err
	}
	met, err := l.exhaustions(x.At)
	if err != nil {
		return 0, err
	}
	q := Quota{Provider: x.Provider, Model: x.Model, Window: x.Window}
	q.stand(x.At, paid, met)
	return q.Used, nil
}

// A cost is that of one try, with all its attempts and their subagents.
type cost struct {
	provider, model, tier string
	usd                   USD
}

const (
	// With recentCosts tries no earlier day is read for a median, and of each day no more than recentRead.
	recentCosts, recentRead = 1000, 1 << 20
)

// costs are those of the latest tries within 30 days whose costs are known.
func (l *Ledger) costs(now time.Time) (all []cost, err error) {
	days, err := l.days()
	if err != nil {
		return nil, err
	}
	first, last := day(now.Add(-windows[Month].length)), day(now)
	for _, d := range slices.Backward(days) {
		if d > last || d < first || len(all) >= recentCosts {
			continue
		}
		tries, err := l.tries(d)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("ledger: %w", err)
		}
		all = append(all, tries...)
	}
	return all, nil
}

// tries are those at the end of a day of which everything that they cost is known.
func (l *Ledger) tries(day string) (all []cost, err error) {
	type try struct {
		job string
		n   int
	}
	index, unknown := map[try]int{}, map[int]bool{}
	fi, err := os.Lstat(filepath.Join(l.dir, day+entriesSuffix))
	if err != nil {
		return nil, err
	}
	err = l.each(day, max(0, fi.Size()-recentRead), func(k kind, e *line) {
		if k != spentLine {
			return
		}
		at := try{e.Job, e.Try}
		i, ok := index[at]
		if !ok {
			i = len(all)
			index[at] = i
			all = append(all, cost{})
		}
		if !e.Subagent {
			all[i].provider, all[i].model, all[i].tier = e.Provider, e.Model, e.Tier
		}
		if e.Cost == nil || e.Partial {
			unknown[i] = true
			return
		}
		all[i].usd = USD(total(int64(all[i].usd), int64(*e.Cost)))
	})
	known := all[:0]
	for i, c := range all {
		if !unknown[i] && c.provider != "" {
			known = append(known, c)
		}
	}
	return known, err
}
