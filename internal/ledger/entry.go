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

// An Entry is what one attempt of one job spent with one model. A pointer that is nil says that the number is not known, which is
// something else than 0.
type Entry struct {
	Schema  int    `json:"schema"` // set by Append
	Job     string `json:"job"`
	Attempt int    `json:"attempt"` // from 1
	// Subagent is the part of an attempt that a subagent spent with a model of its own. It is money, and no attempt more.
	Subagent bool `json:"subagent,omitzero"`

	Provider string `json:"provider"`
	Model    string `json:"model"` // without its provider
	Tier     string `json:"tier,omitempty"`
	Repo     string `json:"repo,omitempty"`
	Caller   string `json:"caller,omitempty"`

	Status  fault.Kind `json:"status"`
	Verdict string     `json:"verdict,omitempty"` // none, pass, fail, could_not_run

	Input      *int64 `json:"input"`
	Output     *int64 `json:"output"`
	Reasoning  *int64 `json:"reasoning"`
	CacheRead  *int64 `json:"cache_read"`
	CacheWrite *int64 `json:"cache_write"`
	Cost       *USD   `json:"cost_usd"` // nil: no price is known

	Returned *int64 `json:"chars_returned"` // to the conductor
	Read     *int64 `json:"chars_read"`     // by the worker
	Written  *int64 `json:"chars_written"`  // by the worker

	At time.Time `json:"at"`
}

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
func (e *Entry) numbers() [8]*int64 {
	return [...]*int64{e.Input, e.Output, e.Reasoning, e.CacheRead, e.CacheWrite, e.Returned, e.Read, e.Written}
}

// check says what keeps an entry from being summed.
func (e *Entry) check() error {
	switch {
	case e.Job == "":
		return errors.New("an entry of the ledger needs a job")
	case e.Attempt < 1:
		return fmt.Errorf("an entry of the ledger has attempt %d; attempts count from 1", e.Attempt)
	case e.Status == "":
		return errors.New("an entry of the ledger needs a status")
	case e.At.UTC().Year() < 2000 || e.At.UTC().Year() > 9999:
		return fmt.Errorf("an entry of the ledger has the time %s; it must lie between the years 2000 and 9999", e.At)
	case e.Cost != nil && (*e.Cost < 0 || *e.Cost > entryLimit):
		return fmt.Errorf("an entry of the ledger costs %s USD; it must lie between 0 and a million", e.Cost)
	}
	for _, n := range e.numbers() {
		if n != nil && *n < 0 {
			return fmt.Errorf("an entry of the ledger counts %d; a count is not negative", *n)
		}
	}
	return nil
}

// line is the entry as it is written, with its newline.
func (e Entry) line() ([]byte, error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	e.Schema, e.At = Schema, e.At.UTC()
	for _, s := range []*string{&e.Job, &e.Provider, &e.Model, &e.Tier, &e.Caller, (*string)(&e.Status), &e.Verdict} {
		*s = clip(*s, wordLimit)
	}
	e.Repo = clip(e.Repo, pathLimit)
	data, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("entry of job %.40q: %w", e.Job, err)
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
	whole   kind = iota
	damaged      // it is none that Append can have written into this file
	later        // a later version wrote it
)

// parse reads a line of the file of a day into e. Members that this version does not know are skipped.
func parse(line []byte, day string, e *Entry) kind {
	*e = Entry{}
	if err := json.Unmarshal(line, e); err != nil || e.Schema > Schema {
		var n newer
		if json.Unmarshal(line, &n) == nil && n.Schema > Schema {
			return later
		}
		return damaged
	}
	if e.Schema < 1 || e.check() != nil || e.At.UTC().Format(dayLayout) != day {
		return damaged
	}
	return whole
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
