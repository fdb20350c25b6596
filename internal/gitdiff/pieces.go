package gitdiff

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"opencode-delegate/internal/lazyregexp"
)

// A hunk is one place of a difference: the lines of both sides that it shows.
type hunk struct{ old, new stretch }

// A stretch is a number of lines from one on; git gives one of no lines the number of the line before it.
type stretch struct{ from, count int64 }

func (s stretch) last() int64 {
	if s.count == 0 {
		return s.from
	}
	return s.from + s.count - 1
}

func (s stretch) String() string {
	if s.count == 0 {
		return fmt.Sprintf("%d,0", max(s.from-1, 0))
	}
	return fmt.Sprintf("%d,%d", s.from, s.count)
}

var hunkHead = lazyregexp.New(`^@@ -(\d{1,15})(?:,(\d{1,15}))? \+(\d{1,15})(?:,(\d{1,15}))? @@`)

func parseHunk(line string) (h hunk, ok bool) {
	m := hunkHead().FindStringSubmatch(line)
	if m == nil {
		return hunk{}, false
	}
	read := func(from, count string) stretch {
		s := stretch{count: 1}
		s.from, _ = strconv.ParseInt(from, 10, 64)
		if count != "" {
			s.count, _ = strconv.ParseInt(count, 10, 64)
		}
		return s
	}
	return hunk{read(m[1], m[2]), read(m[3], m[4])}, true
}

// Pieces divides a text of more than limit characters into texts that keep to it: between hunks and, where one is longer, between its lines.
// Each is a whole difference again, with the header of the file and with the numbers of the lines that it shows. A line that is longer than half a
// piece is cut, and says so. A text that keeps to the limit, or has no hunks, comes back as it is.
func (f File) Pieces(limit int) []string {
	if utf8.RuneCountInString(f.Text) <= limit {
		return []string{f.Text}
	}
	p := pieces{limit: limit}
	for line := range strings.Lines(f.Text) {
		h, ok := parseHunk(line)
		switch {
		case ok:
			p.end()
			p.hunks, p.at = true, h
			p.at.old.count, p.at.new.count = 0, 0
			if h.old.count == 0 {
				p.at.old.from++
			}
			if h.new.count == 0 {
				p.at.new.from++
			}
		case !p.hunks:
			p.header += line
		default:
			p.line(line)
		}
	}
	p.end()
	p.close()
	if len(p.done) == 0 {
		return []string{f.Text}
	}
	return p.done
}

// pieces are being made.
type pieces struct {
	limit  int
	header string // of the file
	hunks  bool   // the first has begun

	at   hunk     // what body shows
	body []string // of the hunk so far
	size int      // characters of it

	piece string // ended hunks, without the header
	done  []string
}

// headRoom is what the line above a hunk takes at most.
const headRoom = 80

// room is what hunks can have of a piece.
func (p *pieces) room() int {
	return max(p.limit-utf8.RuneCountInString(p.header), p.limit/4, 4*headRoom)
}

func (p *pieces) line(line string) {
	most := max(p.room()/2-headRoom, headRoom)
	if n := utf8.RuneCountInString(line); n > most {
		mark := fmt.Sprintf(" [cut: a line of %d characters]\n", n-1)
		line = string([]rune(line)[:max(most-len(mark), 1)]) + mark
	}
	n := utf8.RuneCountInString(line)
	if p.size+n+headRoom > p.room() && line[0] != '\\' { // what says that a line has no end stays with it
		p.end()
	}
	p.body = append(p.body, line)
	p.size += n
	switch line[0] {
	case '+':
		p.at.new.count++
	case '-':
		p.at.old.count++
	case ' ', '\n':
		p.at.new.count++
		p.at.old.count++
	}
}

// end closes a hunk, and begins a new piece for it where it does not fit into the one before.
func (p *pieces) end() {
	if len(p.body) == 0 {
		return
	}
	text := fmt.Sprintf("@@ -%s +%s @@\n", p.at.old, p.at.new) + strings.Join(p.body, "")
	if utf8.RuneCountInString(p.piece)+utf8.RuneCountInString(text) > p.room() {
		p.close()
	}
	p.piece += text
	p.at = hunk{stretch{p.at.old.from + p.at.old.count, 0}, stretch{p.at.new.from + p.at.new.count, 0}}
	p.body, p.size = nil, 0
}

func (p *pieces) close() {
	if p.piece != "" {
		p.done = append(p.done, p.header+p.piece)
	}
	p.piece = ""
}
