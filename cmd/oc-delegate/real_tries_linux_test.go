package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"opencode-delegate/internal/delegate"
)

// climbing is a place with a model for each tier: one that writes a file nobody has asked for, one that makes a.txt say goodbye, one that says nothing.
func climbing(t *testing.T) *place {
	t.Helper()
	p := realPlace(t)
	p.Env = append(p.Env, "OC_TIER_FLASH=mock/write", "OC_TIER_CODE=mock/edit", "OC_TIER_PRO=mock/empty")
	return p
}

// climb asks for goodbye, from the lowest tier up. The check shows what the worker has made.
func (p *place) climb(args ...string) outcome {
	p.T.Helper()
	before := p.Snapshot()
	o := p.run("Make a.txt say goodbye.", append([]string{"--tier", "flash", "--write", "--escalate", "code,pro", "--verify", "cat mock-out.txt; " + honest}, args...)...)
	same(p.T, before, p.Snapshot(), "project/") // nothing lands by itself
	return o
}

// asked is what each request of a model began with.
func (p *place) asked(model string) (users []string) {
	for _, r := range p.Model.Requests() {
		if r.Model == model && !r.Title && r.Turn == 0 {
			users = append(users, r.User)
		}
	}
	return users
}

// tokens are those of all attempts.
func tokens(list []delegate.Attempt) (n int64) {
	for _, a := range list {
		n += a.Usage.Input + a.Usage.Output + a.Usage.Reasoning + a.Usage.CacheRead + a.Usage.CacheWrite
	}
	return n
}

// The check fails, and again after the repair: the next tier begins from the base, hears why, and makes it right. Who is not needed is not asked.
func TestRealEscalation(t *testing.T) {
	t.Parallel()
	p := climbing(t)
	o := p.climb().want(t, "OK")
	r := p.result(o)
	var got []string
	for _, a := range r.Attempts {
		if a.Usage == nil || a.Usage.CostUSD == nil || *a.Usage.CostUSD <= 0 || a.Session == nil {
			t.Errorf("%+v", a)
		}
		got = append(got, fmt.Sprintf("%d %s %s %s %s %s", a.Try, a.Role, *a.Tier, a.Model, a.Status, a.Verdict))
	}
	want := []string{"1 work flash mock/write VERIFY_FAILED fail", "1 repair flash mock/write VERIFY_FAILED fail", "2 work code mock/edit OK pass"}
	if !slices.Equal(got, want) {
		t.Errorf("attempts %q", got)
	}
	if r.Try != 2 || r.Verification.Verdict != "pass" || *r.Tier != "code" || r.Model != "mock/edit" || o.signal["tier"] != "code" || *r.Usage.CostUSD <= *r.Attempts[2].Usage.CostUSD {
		t.Errorf("%+v", r)
	}
	if len(r.Changes.Files) != 1 || r.Changes.Files[0].Path != "a.txt" {
		t.Errorf("the work is %+v", r.Changes)
	}
	if *r.Attempts[0].Session != *r.Attempts[1].Session || *r.Attempts[0].Session == *r.Attempts[2].Session {
		t.Error("a repair goes on in its session, and another model begins one")
	}
	if users := p.asked("write"); len(users) != 2 || strings.Contains(users[0], "written by mock") || !strings.Contains(users[1], "written by mock") {
		t.Errorf("the first model was asked %q", users)
	}
	if users := p.asked("edit"); len(users) != 1 || !strings.Contains(users[0], "Make a.txt say goodbye.") || !strings.Contains(users[0], "written by mock") {
		t.Errorf("the second model was asked %q", users)
	}
	if users := p.asked("empty"); len(users) != 0 {
		t.Errorf("the third model was asked %q", users)
	}
}

// The caps are about all attempts together. Each step of the scripted model has 120 tokens, each of its answers two or three steps.
func TestRealEscalationStopsAtTheCap(t *testing.T) {
	for _, c := range []struct {
		name  string
		cap   int64
		tries int
		says  string
	}{
		{"not begun", 200, 1, "the token cap of 200 leaves nothing for another attempt: 240 in 1"},
		{"stopped", 300, 2, "token cap of 300 exceeded by 60: 360 tokens in 1 step and the attempts before and beside it"},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			p := climbing(t)
			o := p.climb("--repair", "0", "--max-tokens", fmt.Sprint(c.cap)).want(t, "BUDGET_EXCEEDED")
			r := p.result(o)
			if len(r.Attempts) != c.tries || r.Verification.Verdict == "pass" || o.signal["exit"] != 8.0 || r.Reason != c.says {
				t.Errorf("%s: %+v", r.Reason, r.Attempts)
			}
			overspent(t, r, c.cap)
			if users := p.asked("empty"); len(users) != 0 || len(p.asked("edit")) != c.tries-1 {
				t.Errorf("the other models were asked %q, %q", p.asked("edit"), users)
			}
		})
	}
}

// overspent checks that the result says by how much a cap was passed.
func overspent(t *testing.T, r delegate.Result, cap int64) {
	t.Helper()
	over := tokens(r.Attempts) - cap
	if want := fmt.Sprintf("the attempts together went beyond the token cap by %d", over); over <= 0 || !slices.Contains(r.Notes, want) {
		t.Errorf("%q is not among the notes %q", want, r.Notes)
	}
}

// Attempts beside each other share the cap too: each is stopped at its next step, whatever the others come to.
func TestRealBestOfStopsAtTheCap(t *testing.T) {
	t.Parallel()
	p := realPlace(t)
	const step = `{"tool":"bash","args":{"command":"echo goodbye >>a.txt; sleep 1","description":"work"},"repeat":8},`
	before := p.Snapshot()
	o := p.run(`Make a.txt say goodbye. [[mock:[`+step+`{"text":"Done."}]]]`, "--write", "--best-of", "3", "--max-tokens", "250", "--verify", honest).want(t, "BUDGET_EXCEEDED")
	r := p.result(o)
	if len(r.Attempts) != 3 || r.Verification.Verdict == "pass" {
		t.Errorf("%+v", r)
	}
	why := ""
	for _, a := range r.Attempts {
		if why += a.Reason; a.Status != "BUDGET_EXCEEDED" || a.Verdict != "could_not_run" {
			t.Errorf("%+v", a)
		}
	}
	if !strings.Contains(why, "beside it") {
		t.Errorf("each was stopped by what it had spent itself: %s", why)
	}
	overspent(t, r, 250)
	if over := tokens(r.Attempts) - 250; over > 3*120 {
		t.Errorf("%d tokens beyond the cap: more than one step of each", over)
	}
	same(t, before, p.Snapshot(), "project/")
	for _, try := range []string{"1", "2", "3"} { // what was paid for is kept
		if text, err := os.ReadFile(filepath.Join(r.Record, "copies", try, "tree/a.txt")); err != nil || !strings.Contains(string(text), "goodbye") {
			t.Errorf("try %s: %q, %v", try, text, err)
		}
	}
}
