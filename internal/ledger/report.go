package ledger

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// A By says what the rows of a report are.
type By string

// What a report can be made by. Days are those of UTC.
const (
	ByTier  By = "tier"
	ByModel By = "model" // provider/model
	ByDay   By = "day"
	ByRepo  By = "repo"
)

// Bys are all of them.
func Bys() []By { return []By{ByTier, ByModel, ByDay, ByRepo} }

// A Row is what the lines of one key add up to. The key is empty for those that name none.
type Row struct {
	Key string `json:"key"`
	Totals
}

// A Report is what the ledger adds up to: each line of the time is in exactly one row and in Total.
type Report struct {
	By    By     `json:"by"`
	Rows  []Row  `json:"rows"` // by key
	Total Totals `json:"total"`

	// What could not be added up, of the days that were read: lines that are damaged, lines that a later version wrote, and the names
	// of files that could not be read.
	Damaged int64    `json:"damaged"`
	Later   int64    `json:"later"`
	Unread  []string `json:"unread,omitempty"`
}

// Report adds up the lines from a time on; the zero time means all. A ledger that does not exist adds up to nothing. The error is one of
// the call or of the directory; what is wrong with single lines and files stands in the report.
func (l *Ledger) Report(since time.Time, by By) (Report, error) {
	if !slices.Contains(Bys(), by) {
		return Report{}, fmt.Errorf("%.40q is nothing that a report can be made by; one of tier, model, day, repo", by)
	}
	days, err := l.days()
	if err != nil {
		return Report{}, err
	}
	rep, rows := Report{By: by, Rows: []Row{}}, map[string]*Totals{}
	first := ""
	if !since.IsZero() {
		first = day(since)
	}
	for i, d := range days {
		if d < first {
			continue
		}
		s := &summary{}
		if d == first && since.UTC() != since.UTC().Truncate(24*time.Hour) {
			err = l.each(d, 0, func(k kind, l *line) {
				if k == damaged || k == later || !l.At.Before(since) {
					s.add(k, l)
				}
			})
		} else {
			s, err = l.sum(d, i == len(days)-1)
		}
		if err != nil {
			rep.Unread = append(rep.Unread, d+entriesSuffix)
			continue
		}
		rep.Damaged, rep.Later = total(rep.Damaged, s.damaged), total(rep.Later, s.later)
		for i := range s.rows {
			r := &s.rows[i]
			key := r.key(by, d)
			t := rows[key]
			if t == nil {
				t = &Totals{}
				rows[key] = t
			}
			t.plus(&r.Totals)
			rep.Total.plus(&r.Totals)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		rep.Rows = append(rep.Rows, Row{key, *rows[key]})
	}
	return rep, nil
}

func (g *group) key(by By, day string) string {
	switch by {
	case ByTier:
		return g.tier
	case ByDay:
		return day
	case ByRepo:
		return g.repo
	}
	if g.provider == "" || g.model == "" {
		return g.provider + g.model
	}
	return g.provider + "/" + g.model
}
