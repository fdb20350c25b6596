package main

import (
	"encoding/json"
	"fmt"
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

func output(test, text string) string {
	line, _ := json.Marshal(testEvent{Action: "output", Package: "m/a", Test: test, Output: text})
	return string(line) + "\n"
}

// A failure stands with the beginning and the end of what the test said, and with nothing of a test that passed.
func TestFailuresAreExplained(t *testing.T) {
	events := append([]string{}, sound...)
	events = append(events, output("TestX", "=== RUN   TestX\n"), output("TestPlain", "of another\n"))
	for i := range 30 {
		events = append(events, output("TestX", fmt.Sprintf("line %d %s\n", i, strings.Repeat("y", 300))))
	}
	events = append(events, output("TestX", "--- FAIL: TestX (0.00s)\n"), event("fail", "m/a", "TestX"), event("fail", "m/a", ""))
	p := tallyOf(t, events...).problems(true)
	if len(p) != 1 {
		t.Fatalf("%q", p)
	}
	for _, want := range []string{"failed: m/a.TestX\n", "line 0 ", "line 5 ", "… 14 lines …", "line 20 ", "line 29 "} {
		if !strings.Contains(p[0], want) {
			t.Errorf("no %q in %s", want, p[0])
		}
	}
	for _, not := range []string{"line 6 ", "line 19 ", "===", "---", "of another"} {
		if strings.Contains(p[0], not) {
			t.Errorf("%q in %s", not, p[0])
		}
	}
	crashed := tallyOf(t, append(sound, output("", "panic: test timed out\n"), event("fail", "m/a", ""))...).problems(true)
	if len(crashed) != 1 || !strings.HasSuffix(crashed[0], "m/a\n    panic: test timed out") {
		t.Errorf("%q", crashed)
	}
	if len(p[0]) > 17*(lineLimit+20) {
		t.Errorf("%d bytes", len(p[0]))
	}
}
