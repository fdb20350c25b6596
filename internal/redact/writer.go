package redact

import "io"

// piece is how much of what is written is looked at in one go.
const piece = 64 << 10

// A Writer redacts what passes through it, also where a secret lies across several writes. It holds back what may yet
// turn out to be part of a secret: a few bytes as a rule, at most the longest spelling of a value or 4 KiB.
type Writer struct {
	set  *Set
	dst  io.Writer
	buf  []byte // some bytes that were written already, then those that were not
	done int    // the bytes of buf that were written
	f    findings
	err  error
}

// Writer returns a writer to w. The caller ends it with Flush or Close.
func (s *Set) Writer(w io.Writer) *Writer { return &Writer{set: s, dst: w} }

// Write takes all of p, or returns the error of the writer beneath, which then stays.
func (w *Writer) Write(p []byte) (int, error) {
	if w.set == nil {
		return w.dst.Write(p)
	}
	taken := 0
	for len(p) > 0 && w.err == nil {
		n := min(len(p), piece)
		w.buf = append(w.buf, p[:n]...)
		p = p[n:]
		taken += n
		w.advance(false)
	}
	return taken, w.err
}

// Flush writes what is held back, as if the text ended here. What is written afterwards is a new text.
func (w *Writer) Flush() error {
	if w.set == nil {
		return nil
	}
	w.advance(true)
	w.buf, w.done, w.f = w.buf[:0], 0, findings{}
	return w.err
}

// Close is Flush. It does not close the writer beneath.
func (w *Writer) Close() error { return w.Flush() }

func (w *Writer) advance(final bool) {
	decided := w.set.scan(&w.f, w.buf, w.done, final)
	w.f.cut(w.buf, w.done, decided, func(b []byte) {
		if w.err == nil {
			_, w.err = w.dst.Write(b)
		}
	})
	drop := max(0, decided-lookBehind)
	w.buf = w.buf[:copy(w.buf, w.buf[drop:])]
	w.done = decided - drop
	for i := range w.f.regions {
		w.f.regions[i].start -= drop
		w.f.regions[i].end -= drop
	}
}
