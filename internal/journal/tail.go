package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// pollEvery is how often a file that has no more is looked at again.
const pollEvery = 150 * time.Millisecond

// A tail reads a file that grows. It gives whole lines only; what follows the last newline is given when there will be no
// more of this file.
type tail struct {
	ctx   context.Context
	path  string
	file  *os.File
	ended <-chan struct{} // closed when nothing will be written any more
	idle  func() error    // called before each wait
	once  bool            // do not wait
	whole bool            // never give what follows the last newline

	off  int64 // what was given
	line int64 // the end of the last whole line that was seen
	seen int64 // the end of what was looked at
	last bool  // there is nothing more than what is there now
	over bool  // and no file will follow this one
	gone bool  // the file was cut and is to be read anew: what it has by now does not follow what was given
	err  error // what ended the reading, but for the end of the file
}

// Read is that of an io.Reader.
func (t *tail) Read(p []byte) (int, error) {
	for t.err == nil && !t.gone {
		if t.ctx.Err() != nil {
			t.err = context.Cause(t.ctx)
			break
		}
		n, err := t.next(p)
		switch {
		case n > 0:
			return n, nil
		case err == nil:
			continue
		case err != io.EOF:
			t.err = fmt.Errorf("read %s: %w", t.path, err)
			continue
		case t.last:
			return 0, io.EOF
		}
		// What was written between the end and the reason for which it is the last one is read before it counts.
		if t.last, err = t.final(); err != nil {
			t.err = err
		} else if !t.last {
			t.err = t.wait()
		}
	}
	if t.gone {
		return 0, io.EOF
	}
	return 0, t.err
}

// next gives what is left of whole lines, or looks for the end of a further one: then it gives nothing, or what it looked
// at. io.EOF: there is none.
func (t *tail) next(p []byte) (int, error) {
	if t.off < t.line {
		n, err := t.file.ReadAt(p[:min(int64(len(p)), t.line-t.off)], t.off)
		t.off += int64(n)
		return n, err
	}
	from := t.seen
	n, err := t.file.ReadAt(p, from)
	if n == 0 {
		if err == io.EOF && t.last && !t.whole && t.off < from {
			t.line = from
			return 0, nil
		}
		return 0, err
	}
	t.seen += int64(n)
	end := bytes.LastIndexByte(p[:n], '\n') + 1
	if end == 0 {
		return 0, nil
	}
	t.line = from + int64(end)
	if from > t.off {
		return 0, nil
	}
	t.off, t.seen = t.line, t.line
	return end, nil
}

// final reports whether what the file has now is all that it will have.
func (t *tail) final() (bool, error) {
	if t.once {
		t.over = true
		return true, nil
	}
	ended := isClosed(t.ended)
	own, err := t.file.Stat()
	if err != nil {
		return false, fmt.Errorf("read %s: %w", t.path, err)
	}
	switch size := own.Size(); {
	case size < t.off:
		t.gone = true
		return true, nil
	case size < t.seen:
		t.line, t.seen = t.off, t.off // half a line was taken away
	}
	if now, err := os.Lstat(t.path); err == nil && !os.SameFile(own, now) {
		return true, nil
	}
	t.over = ended
	return ended, nil
}

// await opens the file as soon as it is there. None is there when the job has ended before.
func (t *tail) await() error {
	for {
		ended := isClosed(t.ended)
		f, err := open(t.path)
		switch {
		case err == nil:
			t.file = f
			return nil
		case !errors.Is(err, fs.ErrNotExist):
			return err
		case ended:
			return nil
		}
		if err := t.wait(); err != nil {
			return err
		}
	}
}

// wait returns when there may be more.
func (t *tail) wait() error {
	if err := t.idle(); err != nil {
		return err
	}
	timer := time.NewTimer(pollEvery)
	defer timer.Stop()
	select {
	case <-t.ctx.Done():
		return context.Cause(t.ctx)
	case <-t.ended:
	case <-timer.C:
	}
	return nil
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
