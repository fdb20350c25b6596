package ledger

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"opencode-delegate/internal/atomicfile"
	"opencode-delegate/internal/lock"
)

const (
	// tailLimit is how much of the newest day is read again rather than written into its sum: a day that grows would be summed
	// anew at each look.
	tailLimit = 128 << 10
	// printLength is how many bytes say whether a day still begins with what its sum is made of.
	printLength = 4 << 10
	// dayLimit is how many days are known of; they make a hundred years.
	dayLimit = 40_000
)

// days are the days that have a file, the oldest first.
func (l *Ledger) days() (days []string, err error) {
	if err := l.isDir(); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return nil, err
	}
	d, err := os.Open(l.dir)
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	defer d.Close()
	names, err := d.Readdirnames(3 * dayLimit)
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	for _, name := range names {
		day, ok := strings.CutSuffix(name, entriesSuffix)
		if _, err := time.Parse(dayLayout, day); ok && err == nil {
			days = append(days, day)
		}
	}
	slices.Sort(days)
	return days, nil
}

// sum adds a day up. newest says that the day may grow.
func (l *Ledger) sum(day string, newest bool) (*summary, error) {
	path, sumPath := filepath.Join(l.dir, day+entriesSuffix), filepath.Join(l.dir, day+sumSuffix)
	m, s, ok := readSum(sumPath)
	if fi, err := os.Lstat(path); ok && err == nil && fi.Mode().IsRegular() && fi.Size() == m.bytes && fi.ModTime().UnixNano() == m.mtime {
		return s, nil
	}
	f, err := open(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}
	// A day is only appended to. One that is not longer than its sum and yet another was changed by somebody else.
	if !ok || fi.Size() <= m.bytes || m.print != fingerprint(f, m.bytes) {
		m, s = mark{}, &summary{}
	}
	done, rest, err := walk(f, day, m.bytes, fi.Size(), s.add)
	if err != nil {
		return nil, err
	}
	if grown := done - m.bytes; grown > tailLimit || grown > 0 && !newest {
		// Where it cannot be written the next one reads the day again.
		_ = atomicfile.WriteFast(sumPath, encode(mark{done, fi.ModTime().UnixNano(), fingerprint(f, done)}, s), 0o600)
	}
	if len(rest) > 0 {
		err = l.settle(f, day, done, s.add)
	}
	return s, err
}

// each gives every line of a day to take.
func (l *Ledger) each(day string, from int64, take func(kind, *line)) error {
	f, err := open(filepath.Join(l.dir, day+entriesSuffix), os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := end(f)
	if err != nil {
		return err
	}
	done, rest, err := walk(f, day, from, size, take)
	if err == nil && len(rest) > 0 {
		err = l.settle(f, day, done, take)
	}
	return err
}

// settle reads what follows the last whole line. Either somebody writes it at this moment, and it is not yet there; or he died, and it is
// damaged unless only its newline is missing.
func (l *Ledger) settle(f *os.File, day string, from int64, take func(kind, *line)) error {
	if held, err := lock.Held(filepath.Join(l.dir, lockFile)); err == nil && held {
		return nil
	}
	size, err := end(f)
	if err != nil {
		return err
	}
	_, rest, err := walk(f, day, from, size, take)
	if err == nil && len(rest) > 0 {
		var l line
		take(parse(rest, day, &l), &l)
	}
	return err
}

// walk gives every whole line between two offsets to take, parsed; the rest is that of lines.
func walk(f io.ReaderAt, day string, from, to int64, take func(kind, *line)) (done int64, rest []byte, err error) {
	var l line
	return lines(f, from, to, func(data []byte) { take(parse(data, day, &l), &l) })
}

// fingerprint is that of the bytes before an offset.
func fingerprint(f io.ReaderAt, at int64) uint64 {
	from := max(0, at-printLength)
	data := make([]byte, at-from)
	n, _ := f.ReadAt(data, from)
	h := sha256.Sum256(data[:n])
	return binary.BigEndian.Uint64(h[:])
}

func readSum(path string) (mark, *summary, bool) {
	f, err := open(path, os.O_RDONLY)
	if err != nil {
		return mark{}, nil, false
	}
	defer f.Close()
	size, err := end(f)
	if err != nil || size > sumLimit {
		return mark{}, nil, false
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(f, data); err != nil {
		return mark{}, nil, false
	}
	return decode(data)
}
