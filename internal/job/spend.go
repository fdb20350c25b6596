package job

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"opencode-delegate/internal/delegate"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/ledger"
)

// Ledger is what all runs of this state directory have spent, and what providers have said of their limits.
func (s *Store) Ledger() *ledger.Ledger { return ledger.Open(filepath.Join(s.root, ledgerDir), s.set) }

// The books of a job are the ledger's lines that name it. An attempt is entered when it has ended; what the tries came to when the result
// is written and before the state is. A supervisor that dies in between has entered what the next reader finds there: the books are
// their own memory, and whoever decides about the job completes them (see settle). A run never fails for them.
type books struct {
	mu   sync.Mutex
	owed []ledger.Entry // that could not be entered when they were due
	err  error          // why; nil = nothing has gone wrong
}

// spent enters an attempt that has ended, and what it has taught about the limits of its model.
func (j *Job) spent(sp delegate.Spend) {
	if sp.Usage == nil && undelegated(sp.Status) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lockTime)
	defer cancel()
	l, st := j.store.Ledger(), j.State()
	e := entry(st, sp)
	err := l.Append(ctx, e)
	j.books.mu.Lock()
	defer j.books.mu.Unlock()
	if err != nil {
		j.books.owed = append(j.books.owed, e)
	}
	if terr := teach(ctx, l, e.Work, sp); err == nil {
		err = terr
	}
	if err != nil {
		j.books.err = err
	}
}

// teach keeps what an attempt says about the usage limits of its model.
func teach(ctx context.Context, l *ledger.Ledger, w ledger.Work, sp delegate.Spend) error {
	switch {
	case w.Provider == "" || sp.Subagent: // whose status is that of the whole attempt
		return nil
	case sp.Status == fault.QuotaExhausted:
		return l.Exhausted(ctx, ledger.Exhaustion{Provider: w.Provider, Model: w.Model, Window: ledger.WindowIn(sp.Reason), At: sp.Ended, Until: sp.ResetAt})
	case sp.Usage != nil:
		return l.Answered(ctx, w.Provider, w.Model, sp.Began, sp.Ended)
	}
	return nil
}

// notes enters once more what could not be entered, and says what of it has failed for good.
func (b *books) notes(l *ledger.Ledger) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), lockTime)
	defer cancel()
	for i, e := range b.owed {
		if err := l.Append(ctx, e); err != nil {
			b.owed = b.owed[i:]
			return []string{fmt.Sprintf("what this run has spent is missing in the ledger: %v", err)}
		}
	}
	if b.owed != nil {
		b.owed = nil
		return nil
	}
	return []string{fmt.Sprintf("what this run has learned of a usage limit was not kept: %v", b.err)}
}

// judge enters what the tries of a job came to.
func (j *Job) judge(res delegate.Result) error {
	ctx, cancel := context.WithTimeout(context.Background(), lockTime)
	defer cancel()
	for _, o := range outcomes(j.State(), res, nil) {
		if err := j.store.Ledger().Judge(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// undelegated reports whether a status says that nothing was delegated.
func undelegated(k fault.Kind) bool {
	return k == fault.Usage || k == fault.NotFound || k == fault.OpencodeMissing
}

// work is what a job's lines have in common, of one try with a model.
func work(st State, try int, tier, model string) ledger.Work {
	provider, name, found := strings.Cut(model, "/")
	if !found {
		provider, name = "", model
	}
	return ledger.Work{Job: st.ID, Try: max(try, 1), Provider: provider, Model: name, Tier: tier, Repo: st.Repo, Caller: st.Caller}
}

// entry is an attempt as the ledger keeps it.
func entry(st State, sp delegate.Spend) ledger.Entry {
	e := ledger.Entry{Work: work(st, sp.Try, sp.Tier, sp.Model)}
	e.Status, e.At = sp.Status, sp.Ended
	e.Attempt, e.Role, e.Subagent, e.Read, e.Written = max(sp.Attempt, 1), sp.Role, sp.Subagent, sp.Read, sp.Written
	setUsage(&e.Spent, sp.Usage)
	return e
}

func setUsage(s *ledger.Spent, u *delegate.Usage) {
	if u == nil {
		return
	}
	s.Input, s.Output, s.Reasoning, s.CacheRead, s.CacheWrite, s.Partial = &u.Input, &u.Output, &u.Reasoning, &u.CacheRead, &u.CacheWrite, u.Partial
	if u.CostUSD != nil {
		if usd, ok := ledger.FromFloat(*u.CostUSD); ok {
			s.Cost = &usd
		}
	}
}
