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
	said    map[test]*said // of tests that have not passed
	took    time.Duration
	broken  []string // packages that failed without a failing test: a build error, a crash, a timeout
}

// A test is known by its package and its name, which has a slash for each level of subtests.
type test struct{ pkg, name string }

func (t test) String() string { return t.pkg + "." + t.name }

func newTally() *tally {
	return &tally{outcome: map[test]string{}, parents: map[test]bool{}, said: map[test]*said{}}
}

type testEvent struct {
	Action, Package, Test, Output string
	Elapsed                       float64
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
		key := test{e.Package, e.Test}
		switch e.Action {
		case "pass", "fail", "skip":
		case "output":
			if t.said[key] == nil {
				t.said[key] = &said{}
			}
			t.said[key].add(e.Output)
			continue
		default:
			continue
		}
		if e.Action != "fail" && t.outcome[key] != "fail" {
			delete(t.said, key)
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
		if t.outcome[key] != "fail" {
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
			out = append(out, "failed: "+key.String()+t.said[key].String())
		case outcome == "skip" && ci && !t.parents[key]:
			out = append(out, "skipped, which nothing may be in CI: "+key.String())
		}
	}
	for _, p := range t.broken {
		out = append(out, "failed without a failing test: "+p+t.said[test{pkg: p}].String())
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

// What a failed test has said: the beginning and the end, so that the reason stands beside the name however much came between.
type said struct {
	first, last []string
	dropped     int
}

const (
	firstLines, lastLines = 6, 10
	lineLimit             = 240 // characters
)

// add takes one line of output. What the test runner itself says of a test is no part of it.
func (s *said) add(line string) {
	line = strings.TrimRight(line, "\n")
	switch text := strings.TrimSpace(line); {
	case text == "", strings.HasPrefix(text, "=== "), strings.HasPrefix(text, "--- "):
		return
	}
	if r := []rune(line); len(r) > lineLimit {
		line = string(r[:lineLimit]) + "…"
	}
	switch {
	case len(s.first) < firstLines:
		s.first = append(s.first, line)
		return
	case len(s.last) == lastLines:
		s.last = s.last[1:]
		s.dropped++
	}
	s.last = append(s.last, line)
}

// String is empty, or begins a line.
func (s *said) String() string {
	if s == nil || len(s.first) == 0 {
		return ""
	}
	lines := append([]string{""}, s.first...)
	if s.dropped > 0 {
		lines = append(lines, fmt.Sprintf("    … %d lines …", s.dropped))
	}
	return strings.Join(append(lines, s.last...), "\n    ")
}
