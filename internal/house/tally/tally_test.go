package main

import (
	"strings"
	"testing"
)

func event(action, pkg, test string) string {
	return `{"Action":"` + action + `","Package":"` + pkg + `","Test":"` + test + `","Elapsed":0.5}` + "\n"
}

func tallyOf(t *testing.T, events ...string) *tally {
	t.Helper()
	got := newTally()
	if err := got.read(strings.NewReader(strings.Join(events, ""))); err != nil {
		t.Fatal(err)
	}
	return got
}

var sound = []string{
	event("run", "m/a", "TestScript"), event("pass", "m/a", "TestScript/run_ok"), event("pass", "m/a", "TestScript/run_timeout"), event("pass", "m/a", "TestScript"),
	event("pass", "m/b.c", "TestRealWordings/401/event"), event("pass", "m/b.c", "TestRealWordings/401"), event("pass", "m/b.c", "TestRealWordings"),
	event("pass", "m/b.c", "TestRealHello"), event("pass", "m/b.c", "TestPlain"), event("pass", "m/b.c", ""), event("output", "m/b.c", "TestPlain"),
}

func TestCountsLeaves(t *testing.T) {
	got := tallyOf(t, sound...)
	if want := "ran 5 tests: 5 passed, 0 failed, 0 skipped; among them 2 scripts and 2 cases with the real opencode; 1s of package time"; got.String() != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if p := got.problems(true); len(p) != 0 {
		t.Errorf("problems: %q", p)
	}
}

func TestProblems(t *testing.T) {
	for _, c := range []struct {
		name   string
		events []string
		ci     bool
		want   string
	}{
		{"a failure", append(sound, event("fail", "m/a", "TestX"), event("fail", "m/a", "")), false, "failed: m/a.TestX"},
		{"a failure that passed elsewhere", append(sound, event("fail", "m/a", "TestX"), event("pass", "m/a", "TestX")), false, "failed: m/a.TestX"},
		{"a parent alone", append(sound, event("fail", "m/a", "TestScript")), false, "failed: m/a.TestScript"},
		{"a package that does not build", append(sound, event("fail", "m/z", "")), false, "failed without a failing test: m/z"},
		{"a skip in CI", append(sound, event("skip", "m/a", "TestX")), true, "skipped, which nothing may be in CI: m/a.TestX"},
		{"no real case", sound[:4], false, "no case with the real opencode ran"},
		{"real cases that were skipped", append(sound[:4:4], event("skip", "m/a", "TestRealX")), false, "no case with the real opencode ran"},
		{"no script", sound[4:], false, "no script ran"},
	} {
		if p := tallyOf(t, c.events...).problems(c.ci); len(p) != 1 || p[0] != c.want {
			t.Errorf("%s: %q, want %q", c.name, p, c.want)
		}
	}
	if p := tallyOf(t, append(sound, event("skip", "m/a", "TestX"))...).problems(false); len(p) != 0 {
		t.Errorf("a skip outside CI: %q", p)
	}
}

func TestBadInput(t *testing.T) {
	if err := newTally().read(strings.NewReader("FAIL\tno json")); err == nil {
		t.Error("text that is no JSON is accepted")
	}
}
