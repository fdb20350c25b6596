package ledger

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"opencode-delegate/internal/atomicfile"
)

const (
	limitsFile = "limits" + entriesSuffix
	// limitsMost is how long the file may become before its older half is dropped, but for what still holds; limitsRead is how much of its
	// end is read, whatever somebody has made of it. Whether a model is blocked is asked before every run.
	limitsMost, limitsRead = 128 << 10, 256 << 10
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
	// Lifted says the opposite: the model has answered, and what it was blocked for until then is over.
	Lifted bool `json:"lifted,omitzero"`

	over time.Time // when the model has answered, although the reset lay ahead; zero: it has not
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
	reset, most := x.Until, x.At.Add(x.Window.longest())
	switch {
	case reset.IsZero():
		reset = x.At.Add(unknownReset)
	case reset.After(most):
		reset = most
	}
	if !x.over.IsZero() && x.over.Before(reset) {
		return x.over
	}
	return reset
}

// Exhausted keeps what an error about a usage limit says. Without Used it is what the ledger has seen of this model in this window, which
// leaves out what others have spent. Several runs that meet the same limit teach it once.
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
	return l.learn(ctx, x)
}

// Answered takes back that a model is blocked: it has answered in a run that began after the error. Without such an error it does nothing.
func (l *Ledger) Answered(ctx context.Context, provider, model string, began, at time.Time) error {
	x, blocked, err := l.Blocked(at, provider, model)
	if err != nil || !blocked || !x.At.Before(began) {
		return err
	}
	return l.learn(ctx, Exhaustion{Provider: provider, Model: model, At: at, Lifted: true})
}

func (l *Ledger) learn(ctx context.Context, x Exhaustion) error {
	x.Schema, x.At = Schema, x.At.UTC()
	if !x.Until.IsZero() {
		x.Until = x.Until.UTC()
	}
	x.Provider, x.Model = clip(x.Provider, wordLimit), clip(x.Model, wordLimit)
	unlock, err := l.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	known, err := l.exhaustions(x.At)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(known, x.repeats) {
		return nil
	}
	data, err := x.line()
	if err != nil {
		return err
	}
	if fi, err := os.Lstat(filepath.Join(l.dir, limitsFile)); err == nil && fi.Mode().IsRegular() && fi.Size() > limitsMost {
		return l.shorten(known, x)
	}
	return l.writeWhole(limitsFile, data)
}

func (x Exhaustion) line() ([]byte, error) { return marshal("", x) }

// repeats reports whether an error says nothing that is not known from another one: providers give a reset in words such as "2hr 10min".
func (x Exhaustion) repeats(known Exhaustion) bool {
	return known.Provider == x.Provider && known.Model == x.Model && known.Window == x.Window && known.Lifted == x.Lifted && known.over.IsZero() &&
		known.Until.IsZero() == x.Until.IsZero() && known.Reset().After(x.At) && x.Reset().Sub(known.Reset()).Abs() < time.Minute
}

// shorten writes the file anew: what still holds, of the rest the newer half, and one more.
func (l *Ledger) shorten(known []Exhaustion, x Exhaustion) error {
	var kept []byte
	for i, y := range append(known, x) {
		if i < len(known)/2 && !y.Reset().After(x.At) {
			continue
		}
		data, err := y.line()
		if err != nil {
			return err
		}
		kept = append(kept, l.set.JSON().Bytes(data)...)
	}
	if err := atomicfile.Write(filepath.Join(l.dir, limitsFile), kept, 0o600); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	return nil
}

// Blocked reports whether a model is known to be exhausted: a usage limit was met whose reset lies ahead, of any window. It is the one
// that ends last. Sums play no part in it, since what a provider counts is not what we see.
func (l *Ledger) Blocked(now time.Time, provider, model string) (x Exhaustion, blocked bool, err error) {
	all, err := l.exhaustions(now)
	for _, y := range all {
		if y.of(provider, model) && y.Reset().After(now) && (!blocked || y.Reset().After(x.Reset())) {
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
			x.lift(all)
			all = append(all, x)
		}
	})
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	return all, nil
}

// of reports whether the limit is one of a model.
func (x Exhaustion) of(provider, model string) bool {
	return !x.Lifted && x.Provider == provider && (x.Model == model || x.Model == "")
}

// lift ends those of the errors before it that a model's answer has shown to be over.
func (x Exhaustion) lift(before []Exhaustion) {
	for i := range before {
		if y := &before[i]; x.Lifted && y.of(x.Provider, x.Model) && !y.At.After(x.At) && y.Reset().After(x.At) {
			y.over = x.At
		}
	}
}
