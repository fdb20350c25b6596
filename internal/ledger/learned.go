package ledger

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/go-json-experiment/json"
)

const (
	limitsFile = "limits" + entriesSuffix
	// limitsRead is how much of its end is read: some thousand errors, which no month has.
	limitsRead = 1 << 20
	// unknownReset is how long a limit is taken to hold whose error names no reset.
	unknownReset = 15 * time.Minute
	// clockSlack is how far in the future something may be noted: clocks are set.
	clockSlack = 10 * time.Minute
)

// An Exhaustion is what an error about a usage limit has taught.
type Exhaustion struct {
	Schema   int       `json:"schema"` // set by Exhausted
	Provider string    `json:"provider"`
	Model    string    `json:"model"` // empty: all of the provider
	Window   Window    `json:"window"`
	At       time.Time `json:"at"`    // of the error
	Until    time.Time `json:"until"` // zero: the error named no reset
	Used     *USD      `json:"used_usd"`
}

// longest is the longest time for which an error about a window can hold: a reset that lies further away is wrong.
func (w Window) longest() time.Duration {
	if known, ok := windows[w]; ok && w != Month {
		return known.length
	}
	return 31 * 24 * time.Hour
}

// Reset is when the limit ends, as far as it is known or guessed.
func (x Exhaustion) Reset() time.Time {
	most := x.At.Add(x.Window.longest())
	switch {
	case x.Until.IsZero():
		return x.At.Add(unknownReset)
	case x.Until.After(most):
		return most
	}
	return x.Until
}

// Exhausted keeps what an error about a usage limit says. Without Used it is what the ledger has seen of this model in this window, which
// leaves out what others have spent.
func (l *Ledger) Exhausted(ctx context.Context, x Exhaustion) error {
	if _, ok := windows[x.Window]; !ok && x.Window != AnyWindow {
		return fmt.Errorf("%.40q is no window of a usage limit; one of 5h, week, month, or none", x.Window)
	}
	if x.Provider == "" || x.At.IsZero() {
		return errors.New("a usage limit needs a provider and a time")
	}
	if x.Used != nil && (*x.Used < 0 || *x.Used > entryLimit) {
		return fmt.Errorf("a usage limit came at %s USD; it must lie between 0 and a million", x.Used)
	}
	if x.Used == nil && x.Window != AnyWindow {
		if used, err := l.used(x); err == nil && used <= entryLimit {
			x.Used = &used
		}
	}
	x.Schema, x.At = Schema, x.At.UTC()
	if !x.Until.IsZero() {
		x.Until = x.Until.UTC()
	}
	x.Provider, x.Model = clip(x.Provider, wordLimit), clip(x.Model, wordLimit)
	line, err := json.Marshal(x)
	if err != nil {
		return fmt.Errorf("usage limit of %.40q: %w", x.Provider, err)
	}
	return l.append(ctx, limitsFile, append(line, '\n'))
}

// Blocked reports whether a model is known to be exhausted: a usage limit was met whose reset lies ahead, of any window. It is the one
// that ends last. Sums play no part in it, since what a provider counts is not what we see.
func (l *Ledger) Blocked(now time.Time, provider, model string) (x Exhaustion, blocked bool, err error) {
	all, err := l.exhaustions(now)
	for _, y := range all {
		if y.Provider == provider && (y.Model == model || y.Model == "") && y.Reset().After(now) && (!blocked || y.Reset().After(x.Reset())) {
			x, blocked = y, true
		}
	}
	return x, blocked, err
}

// exhaustions are what was learned before now, the oldest first.
func (l *Ledger) exhaustions(now time.Time) (all []Exhaustion, err error) {
	f, err := open(filepath.Join(l.dir, limitsFile), os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	defer f.Close()
	size, err := end(f)
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	// A line that is cut at the front is damaged, as any other is.
	_, _, err = lines(f, max(0, size-limitsRead), size, func(line []byte) {
		var x Exhaustion
		if json.Unmarshal(line, &x) != nil || x.Schema < 1 || x.Schema > Schema || x.Provider == "" || x.At.After(now.Add(clockSlack)) {
			return
		}
		if _, ok := windows[x.Window]; ok || x.Window == AnyWindow {
			all = append(all, x)
		}
	})
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	return all, nil
}
