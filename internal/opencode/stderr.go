package opencode

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"opencode-delegate/internal/redact"
)

// clipPart is how much is kept of the beginning, and how much of the end, of opencode's stderr.
const clipPart = 256 << 10

// A clip passes on the first bytes of a stream as they come and holds the last ones back until it is closed.
type clip struct {
	w       io.Writer
	err     error // of w; the rest is then counted only: a full disk must not end a run
	room    int   // of the beginning
	tail    []byte
	at      int // where the next byte of the tail goes, once it is full
	skipped int64
}

func newClip(w io.Writer) *clip { return &clip{w: w, room: clipPart} }

func (c *clip) Write(p []byte) (int, error) {
	total := len(p)
	if n := min(c.room, len(p)); n > 0 {
		c.put(p[:n])
		c.room -= n
		p = p[n:]
	}
	if over := len(p) - clipPart; over > 0 {
		c.skipped += int64(over) + int64(len(c.tail))
		c.tail, c.at = c.tail[:0], 0
		p = p[over:]
	}
	if grow := min(clipPart-len(c.tail), len(p)); grow > 0 {
		c.tail = append(c.tail, p[:grow]...)
		p = p[grow:]
	}
	for len(p) > 0 {
		n := copy(c.tail[c.at:], p)
		c.at = (c.at + n) % clipPart
		c.skipped += int64(n)
		p = p[n:]
	}
	return total, nil
}

func (c *clip) put(p []byte) {
	if c.err == nil && len(p) > 0 {
		_, c.err = c.w.Write(p)
	}
}

// Close writes the tail. The error is the first one of the writer underneath.
func (c *clip) Close() error {
	if c.skipped > 0 {
		c.put(fmt.Appendf(nil, "\n[%d bytes left out]\n", c.skipped))
	}
	c.put(c.tail[c.at:])
	c.put(c.tail[:c.at])
	c.tail, c.at, c.skipped = nil, 0, 0
	return c.err
}

// A stderrLog is where the raw stderr of an attempt goes, with its secrets taken out.
type stderrLog struct {
	clip *clip
	red  *redact.Writer
}

func newStderrLog(w io.Writer, set *redact.Set) *stderrLog {
	if w == nil {
		w = io.Discard
	}
	c := newClip(w)
	return &stderrLog{clip: c, red: set.Writer(c)}
}

func (l *stderrLog) Write(p []byte) (int, error) { return l.red.Write(p) }

func (l *stderrLog) Close() error {
	err := l.red.Close()
	return errors.Join(err, l.clip.Close())
}

// readLines gives each line of r to say, without its newline and at most lineLimit bytes of it, and copies everything
// to raw. The slice is valid during the call only. It returns at the end of r.
func readLines(r io.Reader, raw io.Writer, say func(line []byte)) {
	in := bufio.NewReaderSize(io.TeeReader(r, raw), 64<<10)
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part[:min(len(part), lineLimit-len(line))]...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if n := len(line); n > 0 && line[n-1] == '\n' {
			line = line[:n-1]
		}
		if len(line) > 0 {
			say(line)
		}
		line = line[:0]
		if err != nil {
			return
		}
	}
}
