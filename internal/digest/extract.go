package digest

import (
	"fmt"
	"strings"

	"opencode-delegate/internal/lazyregexp"

	"opencode-delegate/internal/plain"
)

const (
	// errorLine bounds one line that is picked out of the middle, in code points.
	errorLine = 200
	gap       = "[…]"
)

var trouble = lazyregexp.New(`(?i)\b(errors?|fail(ed|s|ure|ures)?|fatal|panic|exception|traceback|denied|refused|cannot|unable|undefined|not found|timed out|segfault|assert(ion)?)\b`)

// Extract is what a text says in at most limit code points: the whole when it fits, else its beginning and its end and,
// from between, the first lines that speak of an error. What is left out is marked.
func Extract(text string, limit int) string {
	text = strings.TrimSpace(plain.Clean(text))
	total := count(text)
	if total <= limit {
		return text
	}
	note := fmt.Sprintf("[extract of %d characters]\n", total)
	room := limit - count(note) - 2*(count(gap)+2)
	if room < 3*20 {
		return first(text, max(0, limit))
	}
	headRoom, errorRoom := room*2/5, room/4
	head := toLine(first(text, headRoom))
	rest := text[len(head):]
	tailRoom := room - headRoom - errorRoom
	found := errorLines(rest[:len(rest)-len(last(rest, tailRoom))], errorRoom)
	tail := last(rest, room-count(head)-count(found))
	if found == "" {
		return note + strings.TrimSpace(head) + "\n" + gap + "\n" + strings.TrimSpace(tail)
	}
	return note + strings.TrimSpace(head) + "\n" + gap + "\n" + found + "\n" + gap + "\n" + strings.TrimSpace(tail)
}

// toLine cuts at the last end of a line, if that is not far.
func toLine(s string) string {
	if i := strings.LastIndexByte(s, '\n'); i > len(s)*3/4 {
		return s[:i]
	}
	return s
}

// errorLines are the first lines of text that speak of an error, in at most room code points.
func errorLines(text string, room int) string {
	var found []string
	for line := range strings.Lines(text) {
		if len(line) > 4*errorLine {
			// A long line is one only to its author: look at what is around the word.
			loc := trouble().FindStringIndex(line)
			if loc == nil {
				continue
			}
			line = last(line[:loc[0]], errorLine/4) + first(line[loc[0]:], errorLine/2)
		} else if !trouble().MatchString(line) {
			continue
		}
		if room < 20 {
			break
		}
		line = plain.Line(line, min(errorLine, room-1))
		room -= count(line) + 1
		found = append(found, line)
	}
	return strings.Join(found, "\n")
}
