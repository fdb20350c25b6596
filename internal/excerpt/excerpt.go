// Package excerpt makes a short text of a log of any size, such that whoever reads it sees what went wrong: the beginning, the end, and
// what stands around the lines that look like failures, the first of those before later ones.
//
// It is a projection and no summary: every line of it is a line of the log, cleaned for a reader, or a mark in square brackets that says what is left out.
// The log is read once, in pieces, and the memory for it does not grow with the log.
package excerpt

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limit is how many characters an excerpt has at most, where nothing else is asked for.
const Limit = 60_000

// An Excerpt is what is shown of a log.
type Excerpt struct {
	Text     string
	Whole    bool  // the text is all of the log
	Lines    int64 // of the log
	Bytes    int64 // of the log
	Left     int64 // lines of which nothing is shown; those that a mark stands for because they repeat another are none
	Failures int64 // lines of the log that look like failures
}

// Of reads a log to its end. With an error the excerpt is that of what was read before it.
func Of(r io.Reader, limit int) (Excerpt, error) {
	w := New(limit)
	_, err := io.Copy(w, r)
	if err != nil {
		err = fmt.Errorf("log: %w", err)
	}
	return w.Excerpt(), err
}

const (
	markRoom = 120 // what a mark takes at most in a log of less than a billion lines
	before   = 4   // lines that are shown before one that looks like a failure, if they are not long
	after    = 12  // and after it: the frames of a stack, the line of the source, the values that differ
	kinds    = 4096
)

// An item is a line, or a piece of a long one.
type item struct {
	seq, line   int64
	text        string
	chars       int
	piece       bool  // it goes on in the line of the item before
	ended       bool  // its line ends with it
	more        int64 // lines that follow and are like it
	same        bool  // those are equal to it
	last        int64 // line of the last of them
	first, upto int64 // failures of the log before it, and up to its end
}

// A Writer takes a log in pieces of any size.
type Writer struct {
	limit int
	lines lines

	text            []byte // the log, while there is room for all of it
	chars           int
	over            bool
	bytes, seq      int64
	failures        int64
	head, tail      []*item
	headRoom, tailN int
	strong, weak    shelf
	seen            map[uint64]bool // kinds of failures that have a place of their own
	prev            *item
	prevKey         uint64
	alike           int
	look            *looker
}

// A shelf holds failures with what stands around them, in the order of the log.
type shelf struct {
	items  []*item
	room   int
	follow int // items that are still to come
	space  int // and their characters
}

// New is for an excerpt of at most limit characters.
func New(limit int) *Writer {
	limit = max(limit, 0)
	w := &Writer{limit: limit, headRoom: limit, strong: shelf{room: limit}, weak: shelf{room: limit}, seen: map[uint64]bool{}, look: newLooker()}
	w.lines = newLines(min(max(limit/16, 64), 2048), func(b []byte) bool { return w.look.at(b) != no }, w.take)
	return w
}

// Write takes all of p.
func (w *Writer) Write(p []byte) (int, error) {
	w.bytes += int64(len(p))
	w.lines.write(p)
	return len(p), nil
}

// take is given each line, or piece of one.
func (w *Writer) take(l line) {
	if !w.over {
		w.text = append(w.text, l.text...)
		if l.ended {
			w.text = append(w.text, '\n')
			w.chars++
		}
		if w.chars += utf8.RuneCount(l.text); w.chars > w.limit+1 { // one for the newline at the end, which may not be there
			w.text, w.over = nil, true
		}
	}
	strength, key := w.look.at(l.text), keyOf(l.text)
	first := w.failures
	if strength != no {
		w.failures++
	}
	if l.ended && w.prev != nil && w.prev.ended && key == w.prevKey && w.fold(l) {
		return
	}
	w.seq++
	it := &item{seq: w.seq, line: l.number, last: l.number, text: string(l.text), piece: l.piece, ended: l.ended, first: first, upto: w.failures}
	it.chars = utf8.RuneCountInString(it.text) + 1
	if key != w.prevKey {
		w.alike = 0
	}
	w.alike++
	w.prev, w.prevKey = it, key
	if w.headRoom -= it.chars; w.headRoom > 0 {
		w.head = append(w.head, it)
	}
	w.tail = append(w.tail, it)
	for w.tailN += it.chars; w.tailN-w.tail[0].chars > w.limit; w.tail = w.tail[1:] {
		w.tailN -= w.tail[0].chars
	}
	w.shelve(it, strength, key)
}

// fold counts a line as one more like the one before, if it is. Of lines that differ in their numbers the first three stay.
func (w *Writer) fold(l line) bool {
	same := string(l.text) == w.prev.text
	switch {
	case same && (w.prev.more == 0 || w.prev.same):
		w.prev.same = true
	case w.alike < 3 || w.prev.more > 0 && w.prev.same:
		return false
	}
	w.prev.more++
	w.prev.last, w.prev.upto = l.number, w.failures
	return true
}

// shelve keeps an item that looks like a failure, or stands near one. The same failure again gets no place of its own.
func (w *Writer) shelve(it *item, s strength, key uint64) {
	if s != no && !w.seen[key] {
		if len(w.seen) < kinds {
			w.seen[key] = true
		}
		shelf := &w.weak
		if s == strong {
			shelf = &w.strong
		}
		from, space := len(w.tail)-1, w.limit/20
		for from > 0 && len(w.tail)-1-from < before && w.tail[from-1].chars <= space {
			from--
			space -= w.tail[from].chars
		}
		for _, near := range w.tail[from:] {
			shelf.add(near)
		}
		shelf.follow, shelf.space = after, w.limit/10
		return
	}
	for _, shelf := range []*shelf{&w.strong, &w.weak} {
		if shelf.space -= it.chars; shelf.follow > 0 && shelf.space >= 0 {
			shelf.follow--
			shelf.add(it)
		} else {
			shelf.follow = 0
		}
	}
}

func (s *shelf) add(it *item) {
	if s.room > 0 && (len(s.items) == 0 || s.items[len(s.items)-1].seq < it.seq) {
		s.room -= it.chars
		s.items = append(s.items, it)
	}
}

// Excerpt ends the log.
func (w *Writer) Excerpt() Excerpt {
	ended := w.lines.close()
	e := Excerpt{Whole: true, Lines: w.lines.number, Bytes: w.bytes, Failures: w.failures}
	if text := strings.TrimSuffix(string(w.text), "\n"); !w.over && utf8.RuneCountInString(text) <= w.limit {
		if ended && utf8.RuneCountInString(text) < w.limit {
			text = string(w.text)
		}
		e.Text = text
		return e
	}
	e.Whole = false
	e.Text, e.Left = w.render(w.choose())
	return e
}

// choose finds what there is room for, in the order in which it matters, and returns it in that of the log.
func (w *Writer) choose() []*item {
	chosen := map[int64]*item{}
	room := w.limit - markRoom // for what may be left out at the end
	add := func(items iter, share int) {
		left := min(share, room)
		for it := range items {
			cost := it.chars + utf8.RuneCountInString(it.repeats())
			if chosen[it.seq-1] == nil && chosen[it.seq+1] == nil {
				cost += markRoom // for what lies between it and the rest
			}
			if chosen[it.seq] != nil {
				continue
			}
			if cost > left {
				return
			}
			chosen[it.seq] = it
			left, room = left-cost, room-cost
		}
	}
	ends := room * 4 / 10
	add(slices.Values(w.strong.items), room-ends)
	add(slices.Values(w.weak.items), room-ends)
	add(backward(w.tail), room*2/3)
	add(slices.Values(w.head), room)
	list := make([]*item, 0, len(chosen))
	for _, it := range chosen {
		list = append(list, it)
	}
	slices.SortFunc(list, func(a, b *item) int { return int(a.seq - b.seq) })
	return list
}

type iter = func(yield func(*item) bool)

func backward(items []*item) iter {
	return func(yield func(*item) bool) {
		for _, it := range slices.Backward(items) {
			if !yield(it) {
				return
			}
		}
	}
}

// repeats is what is shown behind an item for the lines that are like it: they themselves, where a mark would be longer.
func (it *item) repeats() string {
	switch {
	case it.more == 0:
		return ""
	case it.same && it.more*int64(it.chars) < markRoom/2:
		return strings.Repeat("\n"+it.text, int(it.more))
	case it.same:
		return fmt.Sprintf("\n[the same %d times more, up to line %d]", it.more, it.last)
	}
	return fmt.Sprintf("\n[%d more that differ in their numbers only, up to line %d]", it.more, it.last)
}

// render writes the items with marks between them, and counts the lines of which nothing is there.
func (w *Writer) render(items []*item) (text string, left int64) {
	var b bytes.Buffer
	at := &item{} // what was shown last
	gap := func(line, failures, seq int64) {
		lines, failed := line-at.last-1, failures-at.upto
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		switch {
		case lines > 0:
			left += lines
			fmt.Fprintf(&b, "[%d lines left out: %d to %d", lines, at.last+1, line-1)
			if failed > 0 {
				fmt.Fprintf(&b, "; %d of them look like failures", failed)
			}
			b.WriteByte(']')
		case seq > 0:
			fmt.Fprintf(&b, "[a part of line %d left out]", at.last)
		}
	}
	for _, it := range items {
		adjacent := it.seq == at.seq+1
		if !adjacent {
			gap(it.line, it.first, it.seq)
		}
		if b.Len() > 0 && (!adjacent || !it.piece) {
			b.WriteByte('\n')
		}
		b.WriteString(it.text)
		b.WriteString(it.repeats())
		at = it
	}
	if at.seq != w.seq {
		gap(w.lines.number+1, w.failures, w.seq)
	}
	return clip(b.String(), w.limit), left
}

// clip is for a limit that is too small for anything but a beginning.
func clip(s string, limit int) string {
	for i := range s {
		if limit--; limit < 0 {
			return s[:i]
		}
	}
	return s
}
