package verify

import (
	"fmt"
	"io"
	"os"

	"opencode-delegate/internal/excerpt"
)

// tailRoom is how much of LogLimit is kept for the end of the output. It waits in memory, for the end is only known at the end.
const tailRoom = 4 << 20

// A log is a file with the beginning and the end of an output.
type log struct {
	file *os.File
	err  error // the first one; what comes after it is only counted

	all, kept int64  // bytes of the output, and those of it that are in the file
	room      int64  // of the head
	tail      []byte // a ring, made when the head is full
	at        int    // where the ring goes on
	ring      int    // its size
	skipped   int64  // bytes that have fallen out of the ring
}

func createLog(path string, limit int) (*log, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("log of the check: %w", err)
	}
	if err := f.Chmod(0o600); err != nil {
		f.Close()
		return nil, fmt.Errorf("log of the check: %w", err)
	}
	ring := min(tailRoom, limit/2)
	return &log{file: f, room: int64(limit - ring), ring: ring}, nil
}

// Write takes all of p. A disk that is full must not end a check.
func (l *log) Write(p []byte) (int, error) {
	l.all += int64(len(p))
	rest := p
	if l.room > 0 {
		now := rest[:min(int64(len(rest)), l.room)]
		l.put(now)
		l.room -= int64(len(now))
		rest = rest[len(now):]
	}
	if over := len(rest) - l.ring; over > 0 {
		l.skipped += int64(over + len(l.tail))
		rest, l.tail, l.at = rest[over:], l.tail[:0], 0
	}
	for len(rest) > 0 {
		if len(l.tail) < l.ring {
			n := min(len(rest), l.ring-len(l.tail))
			l.tail = append(l.tail, rest[:n]...)
			rest = rest[n:]
			continue
		}
		n := copy(l.tail[l.at:], rest)
		l.skipped += int64(n)
		l.at = (l.at + n) % l.ring
		rest = rest[n:]
	}
	return len(p), nil
}

func (l *log) put(p []byte) {
	if l.err == nil {
		var n int
		n, l.err = l.file.Write(p)
		l.kept += int64(n)
	}
}

// close writes the end.
func (l *log) close() error {
	if l.skipped > 0 && l.err == nil {
		_, l.err = fmt.Fprintf(l.file, "\n[%d bytes left out]\n", l.skipped)
	}
	l.put(l.tail[l.at:])
	l.put(l.tail[:l.at])
	if err := l.file.Close(); l.err == nil {
		l.err = err
	}
	if l.err != nil {
		return fmt.Errorf("log of the check: %w", l.err)
	}
	return nil
}

// An output is what is done with the output of a check.
type output struct {
	log     *log
	excerpt *excerpt.Writer
}

var _ io.Writer = (*output)(nil)

func (o *output) Write(p []byte) (int, error) {
	_, _ = o.log.Write(p)
	return o.excerpt.Write(p)
}
