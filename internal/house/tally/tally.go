package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"
	"time"
)

// A tally of leaves: a test that has subtests is counted by them.
type tally struct {
	outcome map[test]string // pass, fail, skip
	parents map[test]bool
	took    time.Duration
	broken  []string // packages that failed without a failing test: a build error, a crash, a timeout
}

// A test is known by its package and its name, which has a slash for each level of subtests.
type test struct{ pkg, name string }

func (t test) String() string { return t.pkg + "." + t.name }

func newTally() *tally { return &tally{outcome: map[test]string{}, parents: map[test]bool{}} }

type testEvent struct {
	Action, Package, Test string
	Elapsed               float64
}

// read adds the events of one `go test -json`. A test that runs in two files counts once, and its failure wins.
func (t *tally) read(r io.Reader) error {
	d := json.NewDecoder(r)
	failed := map[string]bool{} // packages with a failing test
	for {
		var e testEvent
		if err := d.Decode(&e); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		switch e.Action {
		case "pass", "fail", "skip":
		default:
			continue
		}
		if e.Test == "" {
			t.took += time.Duration(e.Elapsed * float64(time.Second))
			if e.Action == "fail" && !failed[e.Package] {
				t.broken = append(t.broken, e.Package)
			}
			continue
		}
		if at := strings.LastIndex(e.Test, "/"); at > 0 {
			t.parents[test{e.Package, e.Test[:at]}] = true
		}
		if e.Action == "fail" {
			failed[e.Package] = true
		}
		if key := (test{e.Package, e.Test}); t.outcome[key] != "fail" {
			t.outcome[key] = e.Action
		}
	}
}

// count returns how many leaves of a kind there are with each outcome.
func (t *tally) count(kind func(name string) bool) map[string]int {
	n := map[string]int{}
	for key, outcome := range t.outcome {
		if !t.parents[key] && kind(key.name) {
			n[outcome]++
		}
	}
	return n
}

func isScript(name string) bool {
	return strings.HasPrefix(name, "TestScript") && strings.Contains(name, "/")
}
func isReal(name string) bool { return strings.HasPrefix(name, "TestReal") }
func isAny(string) bool       { return true }

func (t *tally) String() string {
	all := t.count(isAny)
	return fmt.Sprintf("ran %d tests: %d passed, %d failed, %d skipped; among them %d scripts and %d cases with the real opencode; %s of package time",
		all["pass"]+all["fail"]+all["skip"], all["pass"], all["fail"], all["skip"],
		ran(t.count(isScript)), ran(t.count(isReal)), t.took.Round(time.Second))
}

func ran(n map[string]int) int { return n["pass"] + n["fail"] }

func (t *tally) problems(ci bool) []string {
	var out []string
	for key, outcome := range t.outcome {
		switch {
		case outcome == "fail": // a parent too: it can fail when none of its subtests does
			out = append(out, "failed: "+key.String())
		case outcome == "skip" && ci && !t.parents[key]:
			out = append(out, "skipped, which nothing may be in CI: "+key.String())
		}
	}
	for _, p := range t.broken {
		out = append(out, "failed without a failing test: "+p)
	}
	sort.Strings(out)
	if ran(t.count(isReal)) == 0 {
		out = append(out, "no case with the real opencode ran")
	}
	if ran(t.count(isScript)) == 0 {
		out = append(out, "no script ran")
	}
	return out
}
