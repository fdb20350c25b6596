package journal

import (
	"bytes"
	"fmt"
	"io"

	"opencode-delegate/internal/event"
	"opencode-delegate/internal/plain"
)

// text writes a whole text.
func (r *Renderer) text(e event.Event) error {
	t := e.Text
	if t.Blank() {
		return nil
	}
	r.buf = append(r.clock(r.buf[:0], e.At), "says: "...)
	if _, err := r.w.Write(r.buf); err != nil {
		return err
	}
	b := &block{w: r.w}
	switch {
	case t.Whole():
		b.write(plain.Clean(t.Head))
	case r.Log == nil || t.Line.N == 0:
		b.write(plain.Clean(t.Head))
		b.write(fmt.Sprintf("\n… the whole text has %d bytes", t.Size))
	default:
		clean := plain.NewWriter(b)
		err := event.CopyText(clean, r.Log, t.Line)
		clean.Close()
		if err != nil && b.err == nil {
			b.write("\n… the rest of the text could not be read")
		}
	}
	b.write("\n")
	return b.end()
}

// A block writes a text whose lines after the first are indented. Newlines at its beginning and its end are left out.
type block struct {
	w        io.Writer
	began    bool
	newlines int // that were not written yet
	err      error
}

const indent = "         " // as wide as the time

func (b *block) write(s string) { b.Write([]byte(s)) }

func (b *block) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0 && b.err == nil; {
		n := bytes.IndexByte(rest, '\n')
		if n == 0 {
			b.newlines++
			rest = rest[1:]
			continue
		}
		if n < 0 {
			n = len(rest)
		}
		if b.began && b.newlines > 0 {
			for range b.newlines {
				b.put("\n")
			}
			b.put(indent)
		}
		b.began, b.newlines = true, 0
		if b.err == nil {
			_, b.err = b.w.Write(rest[:n])
		}
		rest = rest[n:]
	}
	return len(p), b.err
}

func (b *block) put(s string) {
	if b.err == nil {
		_, b.err = io.WriteString(b.w, s)
	}
}

// end ends the last line.
func (b *block) end() error {
	b.put("\n")
	return b.err
}
