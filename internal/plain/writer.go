package plain

import "io"

// A Writer cleans what passes through it, whatever the pieces that it comes in. It holds back a few bytes at most.
type Writer struct {
	dst io.Writer
	c   cleaner
	err error
}

// NewWriter returns a writer to w. The caller ends it with Close.
func NewWriter(w io.Writer) *Writer { return &Writer{dst: w} }

// Write takes all of p, or returns the error of the writer beneath, which then stays.
func (w *Writer) Write(p []byte) (int, error) {
	taken := 0
	for len(p) > 0 && w.err == nil {
		n := min(len(p), 32<<10)
		w.c.text(p[:n], false)
		w.flush()
		p = p[n:]
		taken += n
	}
	return taken, w.err
}

// Close ends the text. It does not close the writer beneath.
func (w *Writer) Close() error {
	w.c.text(nil, true)
	w.flush()
	return w.err
}

func (w *Writer) flush() {
	if w.err == nil && len(w.c.out) > 0 {
		_, w.err = w.dst.Write(w.c.out)
	}
	w.c.out = w.c.out[:0]
}
