package delegate

import (
	"errors"
	"fmt"
	"io"
	"os"
	"unicode/utf8"

	"opencode-delegate/internal/digest"
	"opencode-delegate/internal/event"
	"opencode-delegate/internal/record"
	"opencode-delegate/internal/redact"
)

// evidence is what a run writes down as it happens. A file that cannot be written is remembered and never ends a run: a
// full disk must not hide a verdict.
type evidence struct {
	dir    record.Dir
	events *os.File // nil when it could not be made
	log    *event.Log
	stderr io.Writer
	files  []*os.File
	err    error
}

func openEvidence(dir record.Dir, set *redact.Set) *evidence {
	e := &evidence{dir: dir}
	e.events = e.create(record.Events)
	var sink io.Writer = io.Discard
	if e.events != nil {
		sink = e.events
	}
	e.log = event.NewLog(sink, set)
	e.stderr = io.Discard
	if f := e.create(record.Stderr); f != nil {
		e.stderr = f
	}
	return e
}

func (e *evidence) create(name string) *os.File {
	f, err := e.dir.Create(name)
	if err != nil {
		e.note(err)
		return nil
	}
	e.files = append(e.files, f)
	return f
}

func (e *evidence) note(err error) {
	if err != nil && e.err == nil {
		e.err = err
	}
}

// close ends the writing and tells what was lost.
func (e *evidence) close() error {
	e.note(e.log.Err())
	for _, f := range e.files {
		if f.Name() != e.dir.File(record.Stderr) { // a log of opencode's; not worth the disk's time
			e.note(f.Sync())
		}
		f.Close()
	}
	if e.err != nil {
		return fmt.Errorf("evidence: %w", e.err)
	}
	return nil
}

// text writes the whole answer to result.md and returns what of it a result holds, its size, and whether that is all.
//
// Short blocks come from memory, so that an answer survives a full disk; a long one is copied from the log.
func (e *evidence) text(blocks []event.Text) (head string, size int64, whole bool) {
	w := &headWriter{limit: TextLimit}
	var dst io.Writer = w
	f := e.create(record.Text)
	if f != nil {
		e.note(f.Truncate(0)) // of an attempt before
		dst = io.MultiWriter(w, &lossy{w: f, note: e.note})
	}
	whole = true
	for i, b := range blocks {
		if i > 0 {
			io.WriteString(dst, "\n\n")
		}
		switch {
		case b.Whole():
			io.WriteString(dst, b.Head)
		case e.events != nil && b.Line.N > 0:
			if err := event.CopyText(dst, e.events, b.Line); err != nil {
				e.note(err)
				whole = false
			}
		default:
			io.WriteString(dst, b.Head)
			e.note(errors.New("a long answer could not be kept whole"))
			whole = false
		}
	}
	return w.text(), w.size, whole && w.size == int64(len(w.buf))
}

// tail is the end of the whole text, where a digest block stands.
func (e *evidence) tail(head string, whole bool) string {
	if whole {
		return head
	}
	f, err := os.Open(e.dir.File(record.Text))
	if err != nil {
		return head
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return head
	}
	tail, err := digest.ReadTail(f, fi.Size(), digest.TailSize)
	if err != nil {
		return head
	}
	return tail
}

// A headWriter keeps the beginning of what is written and counts the rest.
type headWriter struct {
	buf   []byte
	size  int64
	limit int
}

func (w *headWriter) Write(p []byte) (int, error) {
	w.size += int64(len(p))
	if room := w.limit - len(w.buf); room > 0 {
		w.buf = append(w.buf, p[:min(room, len(p))]...)
	}
	return len(p), nil
}

// text is the beginning as valid UTF-8: a code point that the limit cut in two is left out.
func (w *headWriter) text() string {
	b := w.buf
	for n := 0; n < utf8.UTFMax && len(b) > 0 && !utf8.Valid(b); n++ {
		b = b[:len(b)-1]
	}
	return string(b)
}

// A lossy writer reports its first error and lets the rest pass.
type lossy struct {
	w      io.Writer
	note   func(error)
	failed bool
}

func (l *lossy) Write(p []byte) (int, error) {
	if !l.failed {
		if _, err := l.w.Write(p); err != nil {
			l.failed = true
			l.note(err)
		}
	}
	return len(p), nil
}
