package review

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"opencode-delegate/internal/plain"
)

// Facts are what we know ourselves of the run.
type Facts struct {
	Status, Reason string
	TextPath       string // where the whole text is; empty = nowhere
}

// What a row shows of each text, in code points, and how wide the places are set.
const (
	rowLimit   = 240
	underLimit = 320
	placeWidth = 40
)

// Table is the review for a reader: at most limit code points, no fewer than 200. The number of findings comes first and the path of the whole text
// last; between them are the findings, the worst first, a row each, and in what room is left the evidence and the repair of each.
func (r Review) Table(f Facts, limit int) string {
	head, tail := r.summary(), ""
	room := limit - count(head)
	fits := func(line string) bool {
		ok := count(line) <= room
		if ok {
			room -= count(line)
		}
		return ok
	}
	if f.Status != "OK" || len(r.Findings) == 0 {
		line := plain.Line(f.Status, 40)
		if reason := plain.Line(f.Reason, min(300, limit/4)); reason != "" {
			line += ": " + reason
		}
		if fits(line + "\n") {
			head = line + "\n" + head
		}
	}
	if path := "whole text: " + plain.Line(f.TextPath, 4096) + "\n"; f.TextPath != "" && fits(path) {
		tail = path
	}
	if len(r.NotReviewed) > 0 {
		if line := list("not reviewed: ", r.NotReviewed, max(limit/5, 60)); fits(line) {
			head += line
		}
	}
	rows := r.rows()
	n := 0 // rows that are shown
	for n < len(rows) {
		spare := 0
		if n+1 < len(rows) {
			spare = count(more(len(rows) - n - 1))
		}
		if count(rows[n])+spare > room {
			break
		}
		room -= count(rows[n])
		n++
	}
	rest := ""
	if n < len(rows) && fits(more(len(rows)-n)) {
		rest = more(len(rows) - n)
	}
	var b strings.Builder
	b.WriteString(head)
	for i, row := range rows[:n] {
		b.WriteString(row)
		for _, under := range []struct{ name, text string }{{"evidence", r.Findings[i].Evidence}, {"repair", r.Findings[i].Suggestion}} {
			if under.text == "" {
				continue
			}
			if line := "      " + under.name + ": " + plain.Line(under.text, underLimit) + "\n"; fits(line) {
				b.WriteString(line)
			}
		}
	}
	return b.String() + rest + tail
}

func (r Review) summary() string {
	s := "no findings"
	if len(r.NotReviewed) > 0 {
		s += " in what was reviewed"
	}
	if n := len(r.Findings); n > 0 {
		var of []string
		for _, sev := range Severities {
			k := 0
			for _, f := range r.Findings {
				if f.Severity == sev {
					k++
				}
			}
			if k > 0 {
				of = append(of, fmt.Sprintf("%d %s", k, sev))
			}
		}
		s = fmt.Sprintf("findings: %d (%s)", n, strings.Join(of, ", "))
	}
	if r.Dropped > 0 {
		s += fmt.Sprintf("; dropped: %d that name no place in what was reviewed", r.Dropped)
	}
	return s + "\n"
}

// rows are the findings, a line each, in columns.
func (r Review) rows() (rows []string) {
	wide := 0
	places := make([]string, len(r.Findings))
	for i, f := range r.Findings {
		places[i] = plain.Line(f.File, rowLimit)
		if f.Line > 0 {
			places[i] += fmt.Sprintf(":%d", f.Line)
		}
		wide = max(wide, min(count(places[i]), placeWidth))
	}
	for i, f := range r.Findings {
		gap := strings.Repeat(" ", max(wide-count(places[i]), 0))
		rows = append(rows, fmt.Sprintf("%-5s %-8s  %s%s  %s\n", f.ID, f.Severity, places[i], gap, plain.Line(f.Claim, rowLimit)))
	}
	return rows
}

func more(n int) string { return fmt.Sprintf("and %d more, in result.json\n", n) }

// list is a line of names in at most room code points.
func list(lead string, names []string, room int) string {
	line := lead
	for i, name := range names {
		name = plain.Line(name, max(room-len(lead)-20, 10))
		rest := fmt.Sprintf("and %d more", len(names)-i)
		if count(line)+count(name)+count(rest)+4 > room && i > 0 {
			return line + rest + "\n"
		}
		line += name
		if i+1 < len(names) {
			line += ", "
		}
	}
	return line + "\n"
}

func count(s string) int { return utf8.RuneCountInString(s) }
