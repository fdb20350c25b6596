package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"opencode-delegate/internal/job"
	"opencode-delegate/internal/ledger"
	"opencode-delegate/internal/redact"
)

// What the real opencode's subagent has spent is in no event; the ledger has it all the same, and then nothing is missing.
func TestRealSubagentsAreBooked(t *testing.T) {
	t.Parallel()
	p := realPlace(t)
	o := p.run("[[mock:task]]", "--write", "--profile", "trusted-test", "--allow-no-changes").want(t, "OK")
	record := o.signal["record"].(string)
	store, err := job.OpenStore(filepath.Dir(filepath.Dir(record)), redact.New(nil))
	if err != nil {
		t.Fatal(err)
	}
	rep, err := store.Ledger().Report(time.Time{}, ledger.ByModel)
	if err != nil {
		t.Fatal(err)
	}
	whole, main := rep.Total, p.result(o).Usage
	if whole.Runs != 1 || whole.Attempts != 1 || whole.Entries != 2 || whole.Partial != 0 || whole.Unpriced != 0 || len(rep.Rows) != 1 {
		t.Errorf("%+v", rep)
	}
	if main == nil || !main.Partial || whole.Input <= main.Input || whole.Cost <= 0 || whole.Cost.Float() <= *main.CostUSD {
		t.Errorf("the main session spent %+v, and all of it is %+v", main, whole)
	}
	if whole.Read == 0 || whole.Written == 0 || whole.Returned == 0 {
		t.Errorf("%+v", whole)
	}
}

// Subagents spend from the same cap: another attempt is not begun with what they have left.
func TestRealSubagentsSpendFromTheCap(t *testing.T) {
	t.Parallel()
	p := realPlace(t)
	free := p.run("[[mock:task]]", "--write", "--profile", "trusted-test", "--allow-no-changes").want(t, "OK")
	u := p.result(free).Usage
	own := u.Input + u.Output + u.Reasoning + u.CacheRead + u.CacheWrite
	o := p.run("[[mock:task]]", "--write", "--profile", "trusted-test", "--allow-no-changes", "--verify", "grep -q goodbye a.txt", "--isolate", "--max-tokens", fmt.Sprint(own+1)).want(t, "BUDGET_EXCEEDED")
	r := p.result(o)
	if len(r.Attempts) != 1 || r.Attempts[0].Verdict != "fail" || !strings.Contains(r.Reason, "leaves nothing for another attempt") {
		t.Errorf("%s: %+v", r.Reason, r.Attempts)
	}
}

// A usage limit that the real opencode has met is not asked for again.
func TestRealExhaustedModelIsNotAsked(t *testing.T) {
	t.Parallel()
	p := realPlace(t)
	p.run("[[mock:err-429-zen-go]]", "-m", "mock/worker").want(t, "QUOTA_EXHAUSTED")
	asked := len(p.Model.Requests())
	o := p.run("[[mock:text]]", "-m", "mock/worker").want(t, "QUOTA_EXHAUSTED")
	if o.signal["reset_at"] == nil || o.signal["job"] != nil || o.took > 2*time.Second {
		t.Errorf("after %v: %v", o.took, o.signal)
	}
	if now := len(p.Model.Requests()); now != asked {
		t.Errorf("%d requests, and %d before", now, asked)
	}
	p.run("[[mock:text]]", "-m", "mock/worker", "--ignore-quota").want(t, "OK")
	p.run("[[mock:text]]", "-m", "mock/worker").want(t, "OK")
}
