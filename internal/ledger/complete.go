package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Lines are what the ledger has of one job, in the order in which it was written.
type Lines struct {
	Entries  []Entry
	Outcomes []Outcome
}

// Complete adds to the lines of a job what is missing of them: rest is given what there is since the day of a time, and says what is to be
// added. Nobody writes meanwhile, so that what two processes complete at once is complete once. It reads whole days, which is
// for the few jobs whose supervisor has died.
func (l *Ledger) Complete(ctx context.Context, job string, since time.Time, rest func(Lines) Lines) error {
	unlock, err := l.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	have, err := l.of(job, since)
	if err != nil {
		return err
	}
	more := rest(have)
	for _, e := range more.Entries {
		data, err := e.line()
		if err == nil {
			err = l.writeWhole(day(e.At)+entriesSuffix, data)
		}
		if err != nil {
			return err
		}
	}
	for _, o := range more.Outcomes {
		data, err := o.line()
		if err == nil {
			err = l.writeWhole(day(o.At)+entriesSuffix, data)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (l *Ledger) writeWhole(name string, line []byte) error {
	f, err := l.write(name, line)
	if err != nil {
		return err
	}
	_ = f.Sync()
	return f.Close()
}

// of is what there is of a job. Only lines that name it are parsed.
func (l *Ledger) of(job string, since time.Time) (have Lines, err error) {
	days, err := l.days()
	if err != nil {
		return have, err
	}
	for _, d := range days {
		if d < day(since) {
			continue
		}
		if err := l.ofDay(job, d, &have); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return have, fmt.Errorf("ledger: %w", err)
		}
	}
	return have, nil
}

func (l *Ledger) ofDay(job, day string, have *Lines) error {
	f, err := open(filepath.Join(l.dir, day+entriesSuffix), os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := end(f)
	if err != nil {
		return err
	}
	name := []byte(job)
	take := func(data []byte) {
		var v line
		if !bytes.Contains(data, name) {
			return
		}
		switch k := parse(data, day, &v); {
		case v.Job != job:
		case k == spentLine:
			have.Entries = append(have.Entries, Entry{v.Work, v.Spent})
		case k == outcomeLine:
			have.Outcomes = append(have.Outcomes, Outcome{v.Work, v.Judged})
		}
	}
	_, rest, err := lines(f, 0, size, take)
	if err == nil && len(rest) > 0 {
		take(rest) // nobody writes: its writer has died, and lacks perhaps only a newline
	}
	return err
}
