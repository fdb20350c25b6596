package event

import (
	"bytes"
	"fmt"
	"io"
	"sync"

	"opencode-delegate/internal/redact"
)

// A Log receives the lines of a stream as they came, but for secrets. It counts what it wrote, so one Log serves one
// file from its first byte on, for as many streams as follow each other.
type Log struct {
	w    io.Writer
	text *redact.Set // for lines that are no JSON
	json *redact.Set

	off  int64
	torn bool // the last write was cut: the next line begins with a newline of its own
	lost bool // a write failed since the line began

	mu  sync.Mutex
	err error
}

// NewLog returns a log that writes to w what set lets through.
func NewLog(w io.Writer, set *redact.Set) *Log {
	return &Log{w: w, text: set, json: set.JSON()}
}

// Err returns the first error of the writer. Lines are decoded and given to the writer all the same after it: a disk
// may have room again. It may be called at any time.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// set chooses what to redact with, by the beginning of a line.
func (l *Log) set(line []byte) *redact.Set {
	if b := bytes.TrimLeft(line, " \t\r\n\ufeff"); len(b) > 0 && (b[0] == '{' || b[0] == '[') {
		return l.json
	}
	return l.text
}

// line logs one whole line, with or without its newline, and returns it as it was logged, without.
func (l *Log) line(raw []byte) (line []byte, span Span) {
	body := bytes.TrimSuffix(raw, []byte("\n"))
	line = l.set(body).Bytes(body)
	l.begin()
	off := l.off
	if len(line) == len(body) && (len(line) == 0 || &line[0] == &body[0]) && len(raw) > len(body) {
		l.write(raw)
	} else {
		l.write(line)
		l.write([]byte("\n"))
	}
	return line, l.span(off, off+int64(len(line)))
}

// begin starts a line.
func (l *Log) begin() {
	l.lost = false
	if l.torn {
		l.write([]byte("\n"))
		l.lost = l.torn
	}
}

// write appends b to the current line. Once a part of a line is lost the rest is worth nothing.
func (l *Log) write(b []byte) {
	if l.w == nil {
		l.lost = true
	}
	if l.lost || len(b) == 0 {
		return
	}
	n, err := l.w.Write(b)
	l.off += int64(max(n, 0))
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	if err == nil {
		l.torn = b[len(b)-1] != '\n'
		return
	}
	l.lost = true
	l.torn = l.torn || n > 0
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = fmt.Errorf("writing the event log at byte %d: %w", l.off, err)
	}
}

// span is the range [from,to) of the log, or none when the line was lost.
func (l *Log) span(from, to int64) Span {
	if l.lost {
		return Span{}
	}
	return Span{Off: from, N: to - from}
}
