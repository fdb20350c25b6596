package digest

import (
	"fmt"
	"strconv"
	"strings"

	"opencode-delegate/internal/plain"
)

// Facts are what we know ourselves of a run. Empty strings are facts that there are not.
type Facts struct {
	Status   string // OK, RUN_FAILED, …
	Reason   string
	Known    bool // whether it is known which files changed
	Changes  []Change
	Commands int // that the worker ran to an exit code
	Failed   int // of those, with a code that is not 0
	Verdict  string
	Evidence string // what the check that did not pass has printed, failing lines first
	Next     string // one line: where the work is and what to do with it
	TextPath string // where the whole text is
}

// A Change is one file that is different after the run.
type Change struct {
	Path string
	Kind string // added, modified, deleted, renamed, mode
}

// Render is all that goes to stdout: at most limit code points (0 means DefaultLimit, less than MinLimit counts as
// that), its last newline included, clean to be shown. The path of the whole text is always in it, if the limit can
// hold it at all; then come the other facts, then the worker's block or the extract, in what room there is.
func Render(f Facts, d Digest, s Source, limit int) string {
	if limit == 0 {
		limit = DefaultLimit
	}
	limit = max(limit, MinLimit)

	path := "whole text: " + shown(f.TextPath) + "\n"
	if f.TextPath == "" || count(path) > limit {
		path = ""
	}
	title := heading(f, d)
	room := limit - count(path) - count(title)
	if room < 0 {
		return path
	}
	var facts strings.Builder
	for _, line := range factLines(f, s, limit) {
		if n := count(line); n <= room {
			room -= n
			facts.WriteString(line)
		}
	}
	if said := evidence(f.Evidence, min(room, limit/3)); said != "" {
		room -= count(said)
		facts.WriteString(said)
	}
	// What either side does not need is the other's.
	text := strings.TrimSpace(plain.Clean(d.Text))
	list := changes(f, d, max(room/2, room-1-count(prose(text, s, room-1))))
	out := facts.String() + title + list + path
	if said := prose(text, s, room-count(list)-1); said != "" {
		out += "\n" + said
	}
	return out
}

// heading is the line above the list of files. It is always there, so it is short.
func heading(f Facts, d Digest) string {
	switch {
	case !f.Known && len(d.Files) > 0:
		return "files changed: not known; the worker says:\n"
	case !f.Known:
		return "files changed: not known\n"
	case len(f.Changes) > 0:
		return fmt.Sprintf("files changed: %d\n", len(f.Changes))
	case len(d.Files) > 0:
		return fmt.Sprintf("files changed: none (the worker lists %d)\n", len(d.Files))
	}
	return "files changed: none\n"
}

// factLines are the short facts, the most important first.
func factLines(f Facts, s Source, limit int) []string {
	var lines []string
	if f.Status != "" {
		line := plain.Line(f.Status, 40)
		if reason := plain.Line(f.Reason, min(300, limit/4)); reason != "" {
			line += ": " + reason
		}
		lines = append(lines, line+"\n")
	}
	switch {
	case f.Failed > 0:
		lines = append(lines, fmt.Sprintf("%d of %d commands failed\n", f.Failed, f.Commands))
	case f.Commands > 0:
		lines = append(lines, fmt.Sprintf("commands run: %d, none failed\n", f.Commands))
	}
	if f.Verdict != "" {
		lines = append(lines, "verdict: "+plain.Line(f.Verdict, 100)+"\n")
	}
	if f.Next != "" {
		lines = append(lines, plain.Line(f.Next, 300)+"\n")
	}
	switch s {
	case Repaired:
		lines = append(lines, "digest: given when asked for again\n")
	case Extracted:
		lines = append(lines, "digest: none from the worker; what follows is an extract of its text\n")
	case FromNobody:
		lines = append(lines, "digest: none\n")
	}
	return lines
}

// evidence is what a check said in at most room code points. It is somebody else's text, so each line is marked as one.
func evidence(text string, room int) string {
	const title, cutMark = "the check said:\n", "| …\n"
	text = strings.TrimSpace(plain.Clean(text))
	if text == "" || room < count(title)+80 {
		return ""
	}
	var b strings.Builder
	b.WriteString(title)
	room -= count(title) + count(cutMark)
	for line := range strings.SplitSeq(text, "\n") {
		line = "| " + plain.Line(line, 200) + "\n"
		if n := count(line); n > room {
			b.WriteString(cutMark)
			break
		}
		room -= count(line)
		b.WriteString(line)
	}
	return b.String()
}

// changes is the list of changed files in at most room code points: ours, or the worker's for a run of which the
// changes are not known.
func changes(f Facts, d Digest, room int) string {
	if !f.Known {
		return list(len(d.Files), room, func(i int) string { return plain.Line(d.Files[i], 200) })
	}
	remarks := remarks(d.Files)
	return list(len(f.Changes), room, func(i int) string {
		c := f.Changes[i]
		line := shown(c.Path) + " (" + plain.Line(c.Kind, 20) + ")"
		if r := plain.Line(remarks[c.Path], 120); r != "" {
			line += ": " + r
		}
		return line
	})
}

// list is n items in at most room code points, and how many of them it has no room for.
func list(n, room int, item func(int) string) string {
	var b strings.Builder
	for i := range n {
		more := fmt.Sprintf("- and %d more\n", n-i)
		line := "- " + item(i) + "\n"
		size := count(line)
		if size > room || i+1 < n && size > room-count(more) {
			if count(more) <= room {
				b.WriteString(more)
			}
			break
		}
		room -= size
		b.WriteString(line)
	}
	return b.String()
}

// remarks are what the worker says of each file, by path.
func remarks(items []string) map[string]string {
	m := map[string]string{}
	for _, item := range items {
		item = strings.TrimLeft(item, "*_ ")
		var path, rest string
		if quoted, ok := strings.CutPrefix(item, "`"); ok {
			path, rest, _ = strings.Cut(quoted, "`")
		} else if path, rest, ok = strings.Cut(item, ": "); !ok {
			path, rest, _ = strings.Cut(item, " ")
		}
		path = strings.TrimPrefix(strings.Trim(path, "*_` "), "./")
		m[path] = strings.TrimLeft(rest, "*_`:—–- ")
	}
	return m
}

// prose is the worker's part in at most room code points, its newline included.
func prose(text string, s Source, room int) string {
	switch s {
	case FromWorker, Repaired:
		text = cut(text, room-1)
	case Extracted:
		text = Extract(text, room-1)
	default:
		return ""
	}
	if text == "" {
		return ""
	}
	return text + "\n"
}

// shown is a path on one line: quoted when it has something that a line or a terminal would not keep.
func shown(path string) string {
	if plain.Line(path, len(path)+1) == path {
		return path
	}
	return strconv.Quote(path)
}
