package delegate

import (
	"fmt"
	"strconv"
	"strings"

	"opencode-delegate/internal/fault"
)

// A purse is what all attempts of a delegation may spend together.
type purse struct {
	maxCost   float64
	maxTokens int64
	cost      map[int]float64 // by attempt, as far as they have come
	tokens    map[int]int64

	// What subagents have spent is known when their attempt has ended.
	subCost   float64
	subTokens int64
}

func newPurse(req Request) purse {
	return purse{maxCost: req.MaxCost, maxTokens: req.MaxTokens, cost: map[int]float64{}, tokens: map[int]int64{}}
}

// spend notes what an attempt has spent so far, and returns what all of them have.
func (p *purse) spend(attempt int, cost float64, tokens int64) (allCost float64, allTokens int64) {
	p.cost[attempt], p.tokens[attempt] = cost, tokens
	return p.sum()
}

// subagents notes what the subagents of an attempt have spent.
func (p *purse) subagents(cost float64, tokens int64) {
	p.subCost += cost
	p.subTokens += tokens
}

func (p *purse) sum() (cost float64, tokens int64) {
	cost, tokens = p.subCost, p.subTokens
	for _, c := range p.cost {
		cost += c
	}
	for _, t := range p.tokens {
		tokens += t
	}
	return cost, tokens
}

// open takes the place of a further attempt.
func (p *purse) open() int {
	n := len(p.cost) + 1
	p.cost[n] = 0
	return n
}

// empty is the fault of a delegation that would go on and has nothing left for it; nil while it has.
func (p *purse) empty() *fault.Error {
	cost, tokens := p.sum()
	switch {
	case p.maxCost > 0 && cost >= p.maxCost:
		return fault.New(fault.BudgetExceeded, "the cost cap of $%s leaves nothing for another attempt: $%s in %d", dollars(p.maxCost), dollars(cost), len(p.cost))
	case p.maxTokens > 0 && tokens >= p.maxTokens:
		return fault.New(fault.BudgetExceeded, "the token cap of %d leaves nothing for another attempt: %d in %d", p.maxTokens, tokens, len(p.cost))
	}
	return nil
}

// spentUp is the fault of a delegation that cannot afford another attempt.
func (r *run) spentUp() *fault.Error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.purse.empty()
}

// overspent says by how much the caps were passed, which one step of each attempt can do; empty when they were not.
func (p *purse) overspent() string {
	cost, tokens := p.sum()
	var over []string
	if p.maxCost > 0 && cost-p.maxCost > 1e-9 {
		over = append(over, "the cost cap by $"+dollars(cost-p.maxCost))
	}
	if p.maxTokens > 0 && tokens > p.maxTokens {
		over = append(over, fmt.Sprintf("the token cap by %d", tokens-p.maxTokens))
	}
	return strings.Join(over, ", ")
}

// dollars is an amount to a millionth, without zeros at its end.
func dollars(v float64) string {
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(v, 'f', 6, 64), "0"), ".")
}
