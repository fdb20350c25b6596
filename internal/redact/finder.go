package redact

import (
	"bytes"
	"encoding/binary"
	"slices"
)

const (
	// reach is how far before the position at which it was found a region may begin: a secret whose first byte is
	// the end of an escape takes the whole escape with it (\uXXXX is the longest).
	reach = 6
	// lookBehind bounds how far back the bytes before a position are looked at.
	lookBehind = 256
)

// A finder looks for many patterns in one pass. Every pattern begins with three fixed bytes, its head; the pass looks at
// every second pair of bytes, which is enough to see one half of any head, and four such pairs at once.
type finder struct {
	half  *[1 << 16]uint8 // by pair of bytes, the first one in the low half
	maybe *[1 << 12]bool  // by hash of three bytes: spares most look-ups in heads
	heads map[[3]byte][]pattern
}

// What a pair of bytes may be to a head.
const (
	front = 1 << iota // its first two bytes
	back              // its last two
)

// A pattern looks at b[at:], where its head is; b[:at] is what stands before.
// It needs more when the bytes end before it can decide, which they never do when final.
type pattern func(b []byte, at int, final bool) (m match, needsMore bool)

// A match is the region [start,end) when end > start, and goes on for as long as rest eats.
type match struct {
	start, end int
	rest       eater
}

// An eater decides how much of b still belongs to a secret that was found already.
// It is not done when b ended before the secret did; the bytes from n on are shown to it again, with more.
type eater interface {
	eat(b []byte, final bool) (n int, done bool)
}

type region struct{ start, end int }

// findings is what is known of a stretch of bytes: the regions to be replaced, and an eater that is not done.
type findings struct {
	regions []region
	rest    eater
	marked  bool // the last that was let through is a Mark: a region that follows at once needs none of its own
}

func newFinder(literals []string) finder {
	f := finder{half: new([1 << 16]uint8), maybe: new([1 << 12]bool), heads: map[[3]byte][]pattern{}}
	for _, lit := range literals {
		f.add(lit[:3], literal(lit))
	}
	for _, s := range shapes {
		f.add(s.head, s.find)
	}
	return f
}

func (f *finder) add(head string, p pattern) {
	h := [3]byte{head[0], head[1], head[2]}
	f.heads[h] = append(f.heads[h], p)
	f.maybe[hash(h)] = true
	f.half[uint16(h[0])|uint16(h[1])<<8] |= front
	f.half[uint16(h[1])|uint16(h[2])<<8] |= back
}

// hash spreads heads over finder.maybe (Knuth's multiplicative hash).
func hash(h [3]byte) uint32 {
	return (uint32(h[0]) | uint32(h[1])<<8 | uint32(h[2])<<16) * 2654435761 >> 20
}

// scan looks at b[from:] and adds what it finds. It returns the position up to which b is decided; len(b) when final.
func (f *finder) scan(to *findings, b []byte, from int, final bool) (decided int) {
	if to.rest != nil {
		var wait bool
		if from, wait = to.feed(b, from, final); wait {
			return from
		}
	}
	half, low := f.half, from
	for i := from; i+1 < len(b); {
		if i+8 <= len(b) {
			w := binary.LittleEndian.Uint64(b[i:])
			if half[uint16(w)]|half[uint16(w>>16)]|half[uint16(w>>32)]|half[uint16(w>>48)] == 0 {
				i += 8
				continue
			}
		}
		is := half[uint16(b[i])|uint16(b[i+1])<<8]
		at := i
		i += 2
		if is&back != 0 && at > low {
			next, wait := f.try(to, b, at-1, final)
			if wait {
				return max(from, next)
			}
			low, i = max(low, next), max(i, next)
		}
		if is&front != 0 && at >= low && at+2 < len(b) {
			next, wait := f.try(to, b, at, final)
			if wait {
				return max(from, next)
			}
			low, i = max(low, next), max(i, next)
		}
	}
	if final {
		return len(b)
	}
	return max(from, low, len(b)-2-reach)
}

// try lets the patterns whose head is at b[at:] look. It returns the position up to which nothing needs to be looked at
// any more, or, when it has to wait for more bytes, the one up to which b is decided.
func (f *finder) try(to *findings, b []byte, at int, final bool) (next int, wait bool) {
	h := [3]byte(b[at : at+3])
	if !f.maybe[hash(h)] {
		return 0, false
	}
	for _, p := range f.heads[h] {
		m, needsMore := p(b, at, final)
		if needsMore {
			return at - reach, true
		}
		if m.end <= m.start {
			continue
		}
		to.regions = append(to.regions, region{max(escapeStart(b, m.start), 0), m.end})
		if m.rest == nil {
			continue
		}
		to.rest = m.rest
		n, wait := to.feed(b, m.end, final)
		if wait {
			return n, true
		}
		next = max(next, n)
	}
	return next, false
}

// feed lets the eater go on at b[from:]. wait says that it wants more bytes than there are.
func (f *findings) feed(b []byte, from int, final bool) (next int, wait bool) {
	n, done := f.rest.eat(b[from:], final)
	if n > 0 {
		f.regions = append(f.regions, region{from, from + n})
	}
	if done || final {
		f.rest = nil
		return from + n, false
	}
	return from + n, true
}

// cut gives the bytes of b[from:to] to put, with a Mark for each region; regions that touch have one Mark together.
// What a region covers beyond to is kept in f.
func (f *findings) cut(b []byte, from, to int, put func([]byte)) {
	slices.SortFunc(f.regions, func(x, y region) int { return x.start - y.start })
	keep := f.regions[:0]
	for _, r := range f.regions {
		if r.start >= to {
			keep = append(keep, r)
			continue
		}
		if r.end <= from {
			continue
		}
		if r.start > from {
			put(b[from:r.start])
			f.marked = false
		}
		if !f.marked {
			put([]byte(Mark))
			f.marked = true
		}
		if r.end > to {
			keep = append(keep, region{to, r.end})
			from = to
			continue
		}
		from = r.end
	}
	f.regions = keep
	if from < to {
		put(b[from:to])
		f.marked = false
	}
}

// literal is the pattern of one exact spelling.
func literal(lit string) pattern {
	want := []byte(lit)
	return func(b []byte, at int, final bool) (match, bool) {
		have := b[at:]
		if len(have) < len(want) {
			return match{}, !final && bytes.HasPrefix(want, have)
		}
		if !bytes.HasPrefix(have, want) {
			return match{}, false
		}
		end := at + len(want)
		if want[len(want)-1] != '\\' || backslashes(b, end)%2 == 0 {
			return match{start: at, end: end}, false
		}
		// The last byte begins an escape: what it escapes must not be left without it.
		if end == len(b) {
			return match{start: at, end: end}, !final
		}
		if b[end] == '"' || b[end] == '\\' {
			end++
		}
		return match{start: at, end: end}, false
	}
}

// backslashes counts those that end at b[end-1].
func backslashes(b []byte, end int) int {
	n := 0
	for n < lookBehind && end-n > 0 && b[end-n-1] == '\\' {
		n++
	}
	return n
}

// escapeStart is where the JSON escape begins inside which position at lies, or at itself.
func escapeStart(b []byte, at int) int {
	if backslashes(b, at)%2 == 1 {
		return at - 1
	}
	for u := at - 1; u >= max(at-4, 1); u-- {
		if b[u] == 'u' && backslashes(b, u)%2 == 1 {
			return u - 1
		}
		if !hex[b[u]] {
			break
		}
	}
	return at
}
