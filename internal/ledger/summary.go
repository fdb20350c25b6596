package ledger

import "time"

// A group is what the entries of one row of a sum have in common.
type group struct{ provider, model, tier, repo string }

type row struct {
	group
	Totals
}

// A minute of a day in which a model was paid for. Windows are reckoned by the minute, so that they need no entry.
type minute struct {
	provider, model string
	of              int // the day
}

type spending struct {
	cost     USD
	unpriced int64
}

// A summary is what some lines of one day add up to.
type summary struct {
	rows           []row
	damaged, later int64

	index map[group]int // into rows; made when an entry is added
	spent map[minute]spending
	raw   []byte   // of a sum file, what spent is read from when it is needed: reports do without
	names []string // that raw refers to
}

// add takes a line in.
func (s *summary) add(k kind, l *line) {
	switch k {
	case damaged:
		s.damaged++
		return
	case later:
		s.later++
		return
	}
	if s.index == nil {
		s.index = make(map[group]int, len(s.rows))
		for i := range s.rows {
			s.index[s.rows[i].group] = i
		}
	}
	g := group{l.Provider, l.Model, l.Tier, l.Repo}
	i, ok := s.index[g]
	if !ok {
		i = len(s.rows)
		s.index[g] = i
		s.rows = append(s.rows, row{group: g})
	}
	if k == outcomeLine {
		t := l.Judged.totals(l.Status)
		s.rows[i].plus(&t)
		return
	}
	t := l.Spent.totals()
	s.rows[i].plus(&t)

	spent := s.minutes()
	at := l.At.UTC()
	m := minute{l.Provider, l.Model, at.Hour()*60 + at.Minute()}
	spent[m] = spending{USD(total(int64(spent[m].cost), int64(t.Cost))), total(spent[m].unpriced, t.Unpriced)}
}

// minutes is spent, read when it was not yet.
func (s *summary) minutes() map[minute]spending {
	if s.spent == nil {
		s.spent = map[minute]spending{}
		readMinutes(s.raw, s.names, s.spent)
		s.raw, s.names = nil, nil
	}
	return s.spent
}

// at is the time at which a minute of a day begins.
func (m minute) at(day time.Time) time.Time { return day.Add(time.Duration(m.of) * time.Minute) }
