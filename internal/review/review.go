// Package review is the answer of a review: what the worker is asked to end its reply with, how that is found in what it wrote, and what of it is
// believed. It is pure.
//
// A finding names a place. One whose file is not among those that were reviewed, or whose line that file does not have, is an invention: it is dropped
// and counted. What a finding says of its place is the worker's word; it is shown, never believed.
package review

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"opencode-delegate/internal/plain"
	"opencode-delegate/internal/redact"
)

// Limit bounds the findings of one review. The least severe beyond it are dropped.
const Limit = 200

// The texts of a finding are lines of at most so many code points.
const (
	claimLimit = 500
	proseLimit = 1000
)

// A Scope is what is reviewed: all that is needed to check what is said of it. It travels with the request.
type Scope struct {
	Base  string   `json:"base,omitempty"` // id of the commit that the change is compared with; empty = none
	Top   string   `json:"top"`            // absolute: what paths are relative to
	Dir   string   `json:"dir,omitempty"`  // where the worker works, relative to Top and with slashes; empty = there
	Files []File   `json:"files"`
	Parts []Part   `json:"parts"`          // the questions, in their order
	Left  []string `json:"left,omitempty"` // paths that no part shows, for want of room
	More  int64    `json:"more,omitempty"` // files that are not even named
}

// A File is one that may be spoken of.
type File struct {
	Path  string `json:"path"`  // in quotes as Go has them when it has characters that need it
	Lines int64  `json:"lines"` // the number of its last line; 0 = it has none, as a binary
}

// A Part is one question about some of the files.
type Part struct {
	Bytes int   `json:"bytes"` // of the prompt, which is all questions one behind the other
	Files []int `json:"files"` // by their place in Scope.Files
}

// Questions divides a prompt into those of the parts. A prompt that is not made of them is one question about everything.
func (s Scope) Questions(prompt string) []string {
	var list []string
	rest := prompt
	for _, p := range s.Parts {
		if p.Bytes < 0 || p.Bytes > len(rest) {
			return []string{prompt}
		}
		list, rest = append(list, rest[:p.Bytes]), rest[p.Bytes:]
	}
	if rest != "" || len(list) == 0 {
		return []string{prompt}
	}
	return list
}

// Paths are those of the files of a part.
func (s Scope) Paths(part int) (paths []string) {
	if part >= len(s.Parts) {
		return nil
	}
	for _, i := range s.Parts[part].Files {
		if i >= 0 && i < len(s.Files) {
			paths = append(paths, s.Files[i].Path)
		}
	}
	return paths
}

// Missing are the paths for which nobody has answered: those of parts without an answer, and those that no part shows.
func (s Scope) Missing(answered []bool) []string {
	paths := []string{}
	for i := range s.Parts {
		if i < len(answered) && answered[i] {
			continue
		}
		if len(answered) == 1 && answered[0] { // the parts were one question
			continue
		}
		paths = append(paths, s.Paths(i)...)
	}
	paths = append(paths, s.Left...)
	slices.Sort(paths)
	return slices.Compact(paths)
}

// A Severity is how bad a finding is.
type Severity string

const (
	Critical Severity = "critical"
	High     Severity = "high"
	Medium   Severity = "medium"
	Low      Severity = "low"
)

// Severities are all of them, the worst first.
var Severities = []Severity{Critical, High, Medium, Low}

// synonyms are what other reviewers call them. Every other word counts as medium.
var synonyms = map[string]Severity{
	"blocker": Critical, "fatal": Critical, "p0": Critical, "severe": High, "major": High, "error": High, "important": High, "p1": High,
	"moderate": Medium, "warning": Medium, "p2": Medium, "minor": Low, "info": Low, "nit": Low, "note": Low, "trivial": Low, "suspicion": Low, "p3": Low,
}

func severity(word string) Severity {
	word = strings.ToLower(strings.TrimSpace(word))
	if s := Severity(word); slices.Contains(Severities, s) {
		return s
	}
	return cmp.Or(synonyms[word], Medium)
}

// A Finding is one fault at one place. Its texts are lines without anything that acts on a terminal, and without secrets.
type Finding struct {
	ID         string   `json:"id"` // F1, F2, …, the worst first
	File       string   `json:"file"`
	Line       int64    `json:"line"` // 0 = the file has none
	Severity   Severity `json:"severity"`
	Claim      string   `json:"claim"`
	Evidence   string   `json:"evidence"`
	Suggestion string   `json:"suggestion"`
}

// A Review is what came of one, as a result shows it.
type Review struct {
	Base        *string   `json:"base"` // id of the commit that was compared with; null = none
	Findings    []Finding `json:"findings"`
	Dropped     int       `json:"dropped"`      // inventions, and what there was beyond Limit
	NotReviewed []string  `json:"not_reviewed"` // paths that no worker has answered for
}

// Of is a review that has found nothing yet.
func Of(s Scope) Review {
	r := Review{Findings: []Finding{}, NotReviewed: append([]string{}, s.Left...)}
	if s.Base != "" {
		r.Base = &s.Base
	}
	return r
}

// Add takes over findings, and counts what was dropped. All of them are in order then and have their ids.
func (r *Review) Add(found []Finding, dropped int) {
	r.Dropped += dropped
	for _, f := range found {
		if i := slices.IndexFunc(r.Findings, f.same); i >= 0 {
			r.Findings[i] = r.Findings[i].merged(f)
			continue
		}
		r.Findings = append(r.Findings, f)
	}
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	if n := len(r.Findings); n > Limit {
		r.Findings, r.Dropped = r.Findings[:Limit], r.Dropped+n-Limit
	}
	for i := range r.Findings {
		r.Findings[i].ID = "F" + strconv.Itoa(i+1)
	}
}

func (f Finding) rank() int { return slices.Index(Severities, f.Severity) }

// same reports whether two findings say the same of the same place.
func (f Finding) same(g Finding) bool {
	return f.File == g.File && f.Line == g.Line && strings.EqualFold(f.Claim, g.Claim)
}

// merged is one finding of two that say the same.
func (f Finding) merged(g Finding) Finding {
	if g.rank() < f.rank() {
		f.Severity = g.Severity
	}
	f.Evidence, f.Suggestion = longer(f.Evidence, g.Evidence), longer(f.Suggestion, g.Suggestion)
	return f
}

func longer(a, b string) string {
	if len(b) > len(a) {
		return b
	}
	return a
}

// Sound is a review that comes from the disk, with nothing in it that one of ours could not have: who wrote the file is not known.
func (r Review) Sound(secrets *redact.Set) Review {
	sound := Review{Base: r.Base, Findings: []Finding{}, Dropped: r.Dropped, NotReviewed: r.NotReviewed}
	for _, f := range r.Findings[:min(len(r.Findings), Limit)] {
		n, ok := strings.CutPrefix(f.ID, "F")
		if id, err := strconv.Atoi(n); !ok || err != nil || id < 1 || strconv.Itoa(id) != n {
			continue
		}
		f.File, f.Line, f.Severity = line(f.File, proseLimit, secrets), max(f.Line, 0), severity(string(f.Severity))
		f.Claim, f.Evidence, f.Suggestion = line(f.Claim, claimLimit, secrets), line(f.Evidence, proseLimit, secrets), line(f.Suggestion, proseLimit, secrets)
		sound.Findings = append(sound.Findings, f)
	}
	return sound
}

// Select is the findings with these ids, in the order of the review. Those that it does not have are unknown.
func (r Review) Select(ids []string) (found []Finding, unknown []string) {
	for _, f := range r.Findings {
		if slices.Contains(ids, f.ID) {
			found = append(found, f)
		}
	}
	for _, id := range ids {
		if !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.ID == id }) {
			unknown = append(unknown, id)
		}
	}
	return found, unknown
}

// line is one line of a text that somebody else wrote. What becomes a secret by being cleaned is one too.
func line(s string, most int, secrets *redact.Set) string {
	return secrets.String(plain.Line(secrets.String(s), most))
}
