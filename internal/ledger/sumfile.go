package ledger

import (
	"encoding/binary"
	"hash/crc32"
	"math"
)

// A sum file is numbers as varints: a thousand of them have to be read in a moment, and JSON takes ten times as long. It ends with a
// checksum, so that a damaged one is not believed.

// sumMagic begins a sum file. It changes with the form and the meaning of what follows.
const sumMagic = "oc-ledger-sum 2\n"

// sumLimit bounds what is read of a sum file.
const sumLimit = 64 << 20

// A mark says which bytes of a day a sum is made of.
type mark struct {
	bytes int64  // from the beginning, to the end of a line
	mtime int64  // of the day when it was read, in nanoseconds
	print uint64 // of the end of these bytes
}

func checksum(data []byte) uint32 { return crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)) }

// encode is the content of a sum file.
func encode(m mark, s *summary) []byte {
	var names []string
	index := map[string]uint64{}
	name := func(b []byte, text string) []byte {
		i, ok := index[text]
		if !ok {
			i = uint64(len(names))
			index[text] = i
			names = append(names, text)
		}
		return binary.AppendUvarint(b, i)
	}
	rows := binary.AppendUvarint(nil, uint64(len(s.rows)))
	for i := range s.rows {
		r := &s.rows[i]
		for _, text := range []string{r.provider, r.model, r.tier, r.repo} {
			rows = name(rows, text)
		}
		for _, n := range r.fields() {
			rows = binary.AppendUvarint(rows, uint64(*n))
		}
	}
	spent := s.minutes()
	minutes := binary.AppendUvarint(nil, uint64(len(spent)))
	for at, paid := range spent {
		minutes = name(name(minutes, at.provider), at.model)
		for _, n := range []int64{int64(at.of), int64(paid.cost), paid.unpriced} {
			minutes = binary.AppendUvarint(minutes, uint64(n))
		}
	}
	b := []byte(sumMagic)
	for _, n := range []uint64{uint64(m.bytes), uint64(m.mtime), m.print, uint64(s.damaged), uint64(s.later), uint64(len(names))} {
		b = binary.AppendUvarint(b, n)
	}
	for _, text := range names {
		b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
	}
	b = append(append(b, rows...), minutes...)
	return binary.BigEndian.AppendUint32(b, checksum(b))
}

// decode reads a sum file; false for what encode has not written.
func decode(data []byte) (m mark, s *summary, ok bool) {
	body := len(data) - 4
	if body < len(sumMagic) || string(data[:len(sumMagic)]) != sumMagic || binary.BigEndian.Uint32(data[body:]) != checksum(data[:body]) {
		return mark{}, nil, false
	}
	r := reader{rest: data[len(sumMagic):body]}
	m = mark{r.int(), int64(r.uint()), r.uint()}
	s = &summary{damaged: r.int(), later: r.int()}
	r.names = make([]string, r.count())
	for i := range r.names {
		r.names[i] = r.text()
	}
	s.rows = make([]row, r.count())
	for i := range s.rows {
		row := &s.rows[i]
		row.group = group{r.name(), r.name(), r.name(), r.name()}
		for _, n := range row.fields() {
			*n = r.int()
		}
		if r.bad {
			return mark{}, nil, false
		}
	}
	s.raw, s.names = r.rest, r.names
	return m, s, !r.bad
}

// readMinutes reads the last part of a sum file.
func readMinutes(raw []byte, names []string, into map[minute]spending) {
	r := reader{rest: raw, names: names}
	for range r.count() {
		m := minute{r.name(), r.name(), int(r.int())}
		paid := spending{USD(r.int()), r.int()}
		if r.bad {
			return
		}
		into[m] = paid
	}
}

// A reader takes numbers from the front of bytes that anybody may have written. After the first that is wrong all are 0.
type reader struct {
	rest  []byte
	names []string
	bad   bool
}

func (r *reader) uint() uint64 {
	if len(r.rest) > 0 && r.rest[0] < 0x80 { // most numbers are small
		n := r.rest[0]
		r.rest = r.rest[1:]
		return uint64(n)
	}
	n, size := binary.Uvarint(r.rest)
	if size <= 0 {
		r.bad, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

func (r *reader) int() int64 {
	n := r.uint()
	if n > math.MaxInt64 {
		r.bad, r.rest, n = true, nil, 0
	}
	return int64(n)
}

// count is a number of things that follow; each takes a byte at least.
func (r *reader) count() int {
	n := r.uint()
	if n > uint64(len(r.rest)) {
		r.bad, r.rest, n = true, nil, 0
	}
	return int(n)
}

func (r *reader) text() string {
	n := r.count()
	s := string(r.rest[:n])
	r.rest = r.rest[n:]
	return s
}

func (r *reader) name() string {
	i := r.uint()
	if i >= uint64(len(r.names)) {
		r.bad, r.rest = true, nil
		return ""
	}
	return r.names[i]
}
