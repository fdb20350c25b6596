package delegate

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"opencode-delegate/internal/atomicfile"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/record"
)

// best is the try that stands for all: one that holds, of several the one with the smaller difference; else the one that came furthest.
func best(tries []*try) *try {
	return slices.MinFunc(tries, func(a, b *try) int {
		if d := a.standing() - b.standing(); d != 0 {
			return d
		}
		if a.worst == nil {
			if d := a.size() - b.size(); d != 0 {
				return int(max(-1, min(d, 1)))
			}
		}
		return 0 // the first in the list
	})
}

// standing is how far a try came, the smaller the further.
func (t *try) standing() int {
	switch {
	case t.worst == nil:
		return 0
	case t.stopped():
		return 1
	case t.worst.Kind == fault.BudgetExceeded:
		return 2
	case t.worst.Kind == fault.VerifyFailed:
		return 3
	}
	return 4
}

// stopped reports whether an order ended the try.
func (t *try) stopped() bool {
	return t.worst != nil && (t.worst.Kind == fault.Interrupted || t.worst.Kind == fault.Cancelled)
}

// size is the number of changed lines, and much where it is not known.
func (t *try) size() int64 {
	c := t.res.Changes
	if !c.Known || c.Insertions == nil || c.Deletions == nil {
		return 1 << 40
	}
	return int64(*c.Insertions) + int64(*c.Deletions)
}

// hearOf notes what came of another try.
func (t *try) hearOf(other *try) {
	said := "holds as well"
	if t.size() < other.size() {
		said = "holds, and this one is smaller"
	}
	if other.worst != nil {
		said = string(other.worst.Kind) + ": " + reason(other.worst.Reason)
	} else if t.worst != nil {
		said = "was not chosen"
	}
	t.note("try %d with %s: %s", other.n, other.rung.Model, said)
	t.res.Violations = append(t.res.Violations, other.res.Violations...)
	nothing := other.res.Changes.Known && len(other.res.Changes.Files) == 0
	if at := other.place.home; at != "" && other.place.copy != nil && !nothing {
		t.res.Hints = append(t.res.Hints, fmt.Sprintf("the copy of try %d is kept in %s", other.n, at))
	}
}

// keepText makes the text of the try that of the job.
func (t *try) keepText() {
	from := t.dir.File(record.Text)
	to := t.run.job.Record.File(record.Text)
	if from == to {
		return
	}
	f, err := record.OpenFile(from)
	var out *atomicfile.File
	if err == nil {
		defer f.Close()
		out, err = atomicfile.Create(to, 0o600)
	}
	if err == nil {
		if _, err = io.Copy(out, f); err != nil {
			out.Abort()
		} else {
			err = out.Commit()
		}
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.evidence.note(err)
	}
}
