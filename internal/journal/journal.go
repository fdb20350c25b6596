// Package journal shows the events of a job, which may still be running, to a person, and saves what can be used of a job
// whose supervisor died.
//
// It reads events.jsonl of a record: lines of any length, from a worker that nobody trusts. Memory stays bounded, and what
// is written acts on no terminal.
package journal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"opencode-delegate/internal/event"
)

// A Log is the events file of one job, and how to show it.
type Log struct {
	Path string
	Raw  bool           // the lines as they are, with what acts on a terminal escaped
	Zone *time.Location // of the times that are shown; nil = UTC
}

// Print writes what is there. The last line, when its newline is missing, is written only of a job that has ended: it may be
// half of one. A file that is missing is fs.ErrNotExist.
func (l Log) Print(ctx context.Context, w io.Writer, ended bool) error {
	f, err := open(l.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	out := l.output(w)
	t := &tail{ctx: ctx, path: l.Path, file: f, once: true, whole: !ended}
	return out.close(out.show(t))
}

// Follow writes what is there and then what comes, until the job has ended and all of it is written. ended is closed when
// nothing will be written any more. The end of ctx ends it with the cause.
//
// The file need not be there yet, and it may be cut to nothing or replaced by another at any time: the rest of the old one
// comes first, then the new one from its beginning. A line comes when it is whole, or at the end of its file.
func (l Log) Follow(ctx context.Context, w io.Writer, ended <-chan struct{}) error {
	out := l.output(w)
	return out.close(l.follow(ctx, out, ended))
}

func (l Log) follow(ctx context.Context, out *output, ended <-chan struct{}) error {
	for {
		t := &tail{ctx: ctx, path: l.Path, ended: ended, idle: out.flush}
		if err := t.await(); err != nil || t.file == nil {
			return err
		}
		err := out.show(t)
		t.file.Close()
		if err != nil || t.over {
			return err
		}
	}
}

// open opens a regular file: anything else could block, or is not ours.
func open(path string) (*os.File, error) {
	fi, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !fi.Mode().IsRegular() {
		return nil, fmt.Errorf("read %s: %w", path, errIrregular)
	}
	return os.Open(path)
}

var errIrregular = errors.New("it is no regular file")

// An output writes the lines of one file after the other.
type output struct {
	w     *bufio.Writer
	lines *Renderer // nil: raw
}

func (l Log) output(w io.Writer) *output {
	o := &output{w: bufio.NewWriterSize(w, 64<<10)}
	if !l.Raw {
		o.lines = NewRenderer(o.w, l.Zone)
	}
	return o
}

func (o *output) flush() error { return o.w.Flush() }

// close writes what is left, whatever has ended the output.
func (o *output) close(err error) error {
	if o.lines != nil {
		o.lines.Close() // a bufio.Writer keeps its first error
	}
	if ferr := o.w.Flush(); err == nil {
		return ferr
	}
	return err
}

// show writes what t gives.
func (o *output) show(t *tail) error {
	if o.lines == nil {
		return copyRaw(o.w, t)
	}
	o.lines.Log = t.file
	// A log that discards counts all the same, so that the spans of texts are those of the file.
	s := event.NewStream(t, event.NewLog(io.Discard, nil))
	for {
		e, err := s.Next()
		switch {
		case t.err != nil:
			return t.err // whatever else came was cut by it
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
		if err := o.lines.Event(e); err != nil {
			return err
		}
	}
}
