package delegate

import (
	"context"
	"os"
	"slices"
	"sync"
	"time"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/plain"
	"opencode-delegate/internal/record"
	"opencode-delegate/internal/worktree"
)

// run is one delegation under way: tries after and beside each other, of which one becomes the result.
type run struct {
	plan    *Plan
	job     Job
	prompt  string
	started time.Time
	tmp     string // holds the TMPDIR of each worker and of each check
	checks  checks
	red     *bool    // whether a check failed before the work; nil: none was run
	before  []Check  // the preflight
	warm    []string // build caches that the preflight has filled, and no worker
	tries   []*try
	notes   []string

	mu       sync.Mutex // guards what follows: tries can run beside each other
	progress Progress   // of all attempts
	session  string     // the last one that was told
	attempts []Attempt  // in the order in which they ended
	purse    purse
}

// Run carries out the plan and judges it. The result is always whole; an error tells what could not be written down.
//
//	preflight ─▶ try ─▶ failed? the next model: try ─▶ … ─▶ choose ─▶ result
//
//	try: look at the repository ─▶ worker ─▶ look again ─▶ fix the patch ─▶ check ─▶ failed? repair ─▶ missing digest?
func (p *Plan) Run(ctx context.Context, prompt string, job Job) (Result, error) {
	r := &run{plan: p, job: job, prompt: prompt, started: p.Now(), purse: newPurse(p.Request)}
	if !p.binary.Known() {
		r.notes = append(r.notes, "opencode "+plain.Line(p.binary.Version, 40)+" is of a kind that this version was not measured with; what it prints may not be understood")
	}
	chosen := r.newTry(p.Request.rungs()[0], prompt)
	if err := r.begin(ctx, chosen); err != nil {
		chosen.against(fault.Of(err))
	} else {
		chosen = r.climb(ctx, chosen)
	}
	if r.tmp != "" {
		worktree.RemovePlace(r.tmp) // build caches may hold directories that cannot be written
	}
	return r.conclude(ctx, chosen)
}

// rungs are the models that may have a turn, in their order.
func (req Request) rungs() []Rung {
	return append([]Rung{{req.Tier, req.Model, req.Variant}}, req.Escalate...)
}

// begin does what comes before any worker: the first one's place, the checks that hold, the preflight. An error is a failure of
// our own or a call that is wrong.
func (r *run) begin(ctx context.Context, first *try) (err error) {
	if r.tmp, err = r.makeTmp(); err != nil {
		return err
	}
	if err := first.settle(ctx); err != nil {
		return err
	}
	if r.checks, err = r.gather(first.place); err != nil {
		return err
	}
	return r.preflight(ctx, first)
}

// makeTmp makes the directory of the workers' TMPDIRs: in the record, where it is found again when we die, or elsewhere when that is full.
func (r *run) makeTmp() (string, error) {
	if tmp, err := r.job.Record.MakeDir(record.Tmp); err == nil {
		return tmp, nil
	}
	return os.MkdirTemp("", "oc-delegate-*")
}

// climb is the order of the tries: those beside each other with the first model, then one with each further model while nothing
// holds and more of a model could help.
func (r *run) climb(ctx context.Context, first *try) *try {
	rungs := r.plan.Request.rungs()
	beside := []*try{first}
	for len(beside) < r.plan.Request.BestOf {
		beside = append(beside, r.newTry(rungs[0], r.prompt))
	}
	var all sync.WaitGroup
	for _, t := range beside {
		all.Go(func() { t.carryOut(ctx) })
	}
	all.Wait()
	chosen := best(beside)
	if i := slices.IndexFunc(beside, (*try).stopped); i >= 0 && chosen.worst == nil {
		chosen.against(beside[i].worst) // an order to stop is never turned into anything else; what was found good stays so
	}
	last := chosen
	for _, rung := range rungs[1:] {
		if !last.hopeful(ctx) { // what a limit, a login or an order has ended is no reason to ask a better model
			break
		}
		if f := r.spentUp(); f != nil {
			chosen.outranked(f)
			break
		}
		if err := r.plan.host.exhausted(rung.Model); err != nil && !r.plan.Request.IgnoreQuota {
			r.note("%s was not asked: %v", rung.Model, fault.Of(err).Reason)
			continue
		}
		next := r.newTry(rung, r.prompt+chosen.lesson())
		next.carryOut(ctx)
		last, chosen = next, best([]*try{next, chosen})
	}
	return chosen
}

// conclude makes the result of the try that was chosen.
func (r *run) conclude(ctx context.Context, chosen *try) (Result, error) {
	res := &chosen.res
	res.Try = chosen.n
	res.Notes = append(append([]string{}, r.notes...), res.Notes...)
	for _, t := range r.tries {
		if t != chosen {
			chosen.hearOf(t)
		}
	}
	res.Verification.RedBefore, res.Verification.Before = r.red, r.before
	if why := chosen.without(); why != "" && r.red != nil && *r.red && chosen.worst != nil && chosen.worst.Kind == fault.VerifyFailed {
		res.Hints = append(res.Hints, "the checks failed before the work, too, and "+why)
	}
	if res.Attempts = r.attempts; res.Attempts == nil {
		res.Attempts = []Attempt{}
	}
	if over := r.purse.overspent(); over != "" {
		res.Notes = append(res.Notes, "the attempts together went beyond "+over)
	}
	res.Usage = nil
	for _, a := range r.attempts {
		res.Usage = res.Usage.plus(a.Usage)
	}
	chosen.keepText()
	chosen.writePatch(context.WithoutCancel(ctx))
	chosen.conclude(r.plan.Now())
	var err error
	for _, t := range r.tries {
		if e := t.evidence.close(); err == nil {
			err = e
		}
	}
	return *res, err
}
