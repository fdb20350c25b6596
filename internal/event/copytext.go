package event

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// ErrNoText says that a span of the log holds no text: it was never logged, or the log is not the one that it belongs to.
var ErrNoText = errors.New("no text in the event log")

// CopyText writes the whole text of an event, whose Text.Line is span, from the log to dst, in bounded memory.
func CopyText(dst io.Writer, log io.ReaderAt, span Span) error {
	if span.N <= 0 {
		return ErrNoText
	}
	// The member may occur twice, and the last counts: find it first.
	var d decoder
	d.lexer.fill = d.lexer.from(io.NewSectionReader(log, span.Off, span.N))
	if _, ok := d.event(); !ok || d.bodyAt < 0 {
		return fmt.Errorf("event log at byte %d: %w", span.Off, ErrNoText)
	}
	out := bufio.NewWriterSize(dst, 64<<10)
	var x lexer
	x.fill = x.from(io.NewSectionReader(log, span.Off+d.bodyAt, span.N-d.bodyAt))
	c := capture{put: func(b []byte) { out.Write(b) }}
	if !x.text(&c) {
		return fmt.Errorf("event log at byte %d: %w", span.Off, ErrNoText)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("copying a text of %d bytes: %w", c.size, err)
	}
	return nil
}

// from is a fill that reads r. An error of r ends the text.
func (x *lexer) from(r io.Reader) func() bool {
	return func() bool {
		rest := copy(x.win, x.win[x.pos:])
		x.base += int64(x.pos)
		x.pos = 0
		if cap(x.win) < rest+16<<10 {
			grown := make([]byte, rest, rest+64<<10)
			copy(grown, x.win[:rest])
			x.win = grown
		}
		n, _ := io.ReadAtLeast(r, x.win[rest:cap(x.win)], 1)
		x.win = x.win[:rest+n]
		return n > 0
	}
}
