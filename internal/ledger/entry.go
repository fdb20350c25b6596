package ledger

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"opencode-delegate/internal/fault"
)

// Schema is the version of the lines that this build writes. A later build reads every earlier one; lines of a later one are counted
// and not summed.
const Schema = 1

// A Work is what a line of the ledger is about: one try at a job with one model.
type Work struct {
	Job string `json:"job"`
	// Try is the start from the base that it belongs to, from 1: an escalation to another model and each of several attempts beside each
	// other is a try of its own, a repair is not.
	Try int `json:"try"`

	Provider string `json:"provider"`
	Model    string `json:"model"` // without its provider
	Tier     string `json:"tier,omitempty"`
	Repo     string `json:"repo,omitempty"`
	Caller   string `json:"caller,omitempty"`

	Status fault.Kind `json:"status"`
	At     time.Time  `json:"at"`
}

// Spent is what was spent. A pointer that is nil says that the number is not known, which is something else than 0.
type Spent struct {
	Attempt int    `json:"attempt"` // of the job, from 1
	Role    string `json:"role,omitempty"`
	// Subagent is the part of an attempt that a subagent spent. It is money, and no attempt more.
	Subagent bool `json:"subagent,omitzero"`

	Input      *int64 `json:"input"`
	Output     *int64 `json:"output"`
	Reasoning  *int64 `json:"reasoning"`
	CacheRead  *int64 `json:"cache_read"`
	CacheWrite *int64 `json:"cache_write"`
	Cost       *USD   `json:"cost_usd"`         // nil: no price is known
	Partial    bool   `json:"partial,omitzero"` // more was spent than is known

	Read    *int64 `json:"chars_read"`    // by the worker
	Written *int64 `json:"chars_written"` // by the worker
}

// An Entry is what one attempt of one job spent with one model.
type Entry struct {
	Work
	Spent
}

// Judged is what was made of it.
type Judged struct {
	// Final is true of the one try of a job whose result is the job's.
	Final    bool   `json:"final,omitzero"`
	Verdict  string `json:"verdict,omitempty"` // of the checks: none, pass, fail, could_not_run
	Returned *int64 `json:"chars_returned"`    // to the conductor; nil: not known
}

// An Outcome is what one try came to, with all its attempts. It is known after them, when the checks have run.
type Outcome struct {
	Work
	Judged
}

// A line is one line of the file of a day: an [Entry] or an [Outcome].
type line struct {
	Schema int    `json:"schema"`
	Kind   string `json:"kind"`
	Work
	Spent
	Judged
}

// The words of a line's kind.
const spentWord, outcomeWord = "spent", "outcome"

const (
	// lineLimit bounds a line; a longer one is damaged.
	lineLimit = 64 << 10
	// wordLimit and pathLimit bound the words of an entry that is written, escaped they stay below lineLimit.
	wordLimit, pathLimit = 256, 4 << 10

	dayLayout = "2006-01-02"
)

// day names the UTC day of a time, which is the file that an entry lies in.
func day(at time.Time) string { return at.UTC().Format(dayLayout) }

// numbers are the counts of an entry.
func (s *Spent) numbers() [7]*int64 {
	return [...]*int64{s.Input, s.Output, s.Reasoning, s.CacheRead, s.CacheWrite, s.Read, s.Written}
}

// check says what keeps a line from being summed.
func (w *Work) check() error {
	switch {
	case w.Job == "":
		return errors.New("a line of the ledger needs a job")
	case w.Try < 1:
		return fmt.Errorf("a line of the ledger has try %d; tries count from 1", w.Try)
	case w.Status == "":
		return errors.New("a line of the ledger needs a status")
	case w.At.UTC().Year() < 2000 || w.At.UTC().Year() > 9999:
		return fmt.Errorf("a line of the ledger has the time %s; it must lie between the years 2000 and 9999", w.At)
	}
	return nil
}

func (s *Spent) check() error {
	switch {
	case s.Attempt < 1:
		return fmt.Errorf("an entry of the ledger has attempt %d; attempts count from 1", s.Attempt)
	case s.Cost != nil && (*s.Cost < 0 || *s.Cost > entryLimit):
		return fmt.Errorf("an entry of the ledger costs %s USD; it must lie between 0 and a million", s.Cost)
	}
	return negative(s.numbers())
}

func (j *Judged) check() error { return negative([7]*int64{j.Returned}) }

func negative(numbers [7]*int64) error {
	for _, n := range numbers {
		if n != nil && *n < 0 {
			return fmt.Errorf("a line of the ledger counts %d; a count is not negative", *n)
		}
	}
	return nil
}

// tidy makes of a work what a line can hold.
func (w *Work) tidy() {
	w.At = w.At.UTC()
	for _, s := range []*string{&w.Job, &w.Provider, &w.Model, &w.Tier, &w.Caller, (*string)(&w.Status)} {
		*s = clip(*s, wordLimit)
	}
	w.Repo = clip(w.Repo, pathLimit)
}

// line is the entry as it is written, with its newline.
func (e Entry) line() ([]byte, error) {
	if err := errors.Join(e.Work.check(), e.Spent.check()); err != nil {
		return nil, err
	}
	e.tidy()
	e.Role = clip(e.Role, wordLimit)
	return marshal(e.Job, struct {
		Schema int    `json:"schema"`
		Kind   string `json:"kind"`
		Entry
	}{Schema, spentWord, e})
}

// line is the outcome as it is written, with its newline.
func (o Outcome) line() ([]byte, error) {
	if err := errors.Join(o.Work.check(), o.Judged.check()); err != nil {
		return nil, err
	}
	o.tidy()
	o.Verdict = clip(o.Verdict, wordLimit)
	return marshal(o.Job, struct {
		Schema int    `json:"schema"`
		Kind   string `json:"kind"`
		Outcome
	}{Schema, outcomeWord, o})
}

func marshal(job string, v any) ([]byte, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("ledger: job %.40q: %w", job, err)
	}
	return append(data, '\n'), nil
}

// clip makes of a word what JSON can hold. A path may be no text, and money is not lost for that.
func clip(s string, most int) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "")
	}
	return s
}

// newer is what a line says that a later version wrote.
type newer struct {
	Schema int `json:"schema"`
}

// A kind of line.
type kind int

const (
	spentLine kind = iota
	outcomeLine
	damaged // it is none that can have been written into this file
	later   // a later version wrote it
)

// parse reads a line of the file of a day. Members that this version does not know are skipped.
func parse(data []byte, day string, l *line) kind {
	*l = line{}
	if err := json.Unmarshal(data, l); err != nil || l.Schema > Schema {
		var n newer
		if json.Unmarshal(data, &n) == nil && n.Schema > Schema {
			return later
		}
		return damaged
	}
	if l.Schema < 1 || l.Work.check() != nil || l.At.UTC().Format(dayLayout) != day {
		return damaged
	}
	switch {
	case l.Kind == spentWord && l.Spent.check() == nil:
		return spentLine
	case l.Kind == outcomeWord && l.Judged.check() == nil:
		return outcomeLine
	}
	return damaged
}

// lines gives every whole line between two offsets to take, and returns where the last one ended and what follows it. A line that is
// longer than lineLimit is cut, and then no JSON; an empty one is none.
func lines(f io.ReaderAt, from, to int64, take func([]byte)) (done int64, rest []byte, err error) {
	r := bufio.NewReaderSize(io.NewSectionReader(f, from, to-from), lineLimit)
	for done = from; ; {
		line, err := r.ReadSlice('\n')
		length := int64(len(line))
		if err == bufio.ErrBufferFull {
			line = bytes.Clone(line)
			for err == bufio.ErrBufferFull {
				var more []byte
				more, err = r.ReadSlice('\n')
				length += int64(len(more))
			}
		}
		if err == io.EOF {
			return done, bytes.Clone(line), nil
		}
		if err != nil {
			return done, nil, err
		}
		done += length
		if line = bytes.TrimSuffix(line, []byte("\n")); len(line) > 0 {
			take(line)
		}
	}
}
