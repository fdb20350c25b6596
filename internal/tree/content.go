package tree

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A hasher reads contents for a snapshot, the smallest first, so that a budget covers as many files as possible.
type hasher struct {
	ctx   context.Context
	s     *Snapshot
	root  *os.Root
	bytes int64
	keep  atomic.Int64 // bytes that may still be held
	blobs blobSet
}

// tick is the coarsest step of a change time that a local file system is known to make. A file that was touched
// within it of the moment of a snapshot could change again without a trace, as git's index knows too ("racy").
const tick = 50 * time.Millisecond

func (h *hasher) run(since *Snapshot) {
	todo := h.candidates(since)
	slices.SortStableFunc(todo, func(a, b *entry) int {
		return cmp.Or(-compareBool(a.isOwn(), b.isOwn()), cmp.Compare(a.size, b.size))
	})
	for i, e := range todo {
		if h.bytes -= e.size; !e.isOwn() && (h.bytes < 0 || e.size > maxHashFile) {
			todo = todo[:i]
			break
		}
	}
	if len(todo) == 0 {
		return
	}
	h.blobs = readIndexes(h.s.dir, h.s.stores)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), 4) {
		wg.Go(func() {
			buf := make([]byte, 64<<10)
			for h.ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(todo) {
					return
				}
				todo[i].content = h.read(todo[i], &buf)
			}
		})
	}
	wg.Wait()
}

// candidates are the files whose content must be read; the others get theirs from the snapshot before.
func (h *hasher) candidates(since *Snapshot) []*entry {
	var todo []*entry
	at := 0
	for i := range h.s.entries {
		e := &h.s.entries[i]
		if !e.mode.IsRegular() {
			continue
		}
		if since != nil {
			for at < len(since.entries) && compareNames(since.entries[at].path, e.path) < 0 {
				at++
			}
			if at < len(since.entries) && since.entries[at].path == e.path {
				old := &since.entries[at]
				e.path = old.path // one string for both snapshots
				if hasChangeTime && old.sameStat(e) && !since.racy(old) {
					e.content = old.content
					continue
				}
			}
		}
		todo = append(todo, e)
	}
	return todo
}

// racy reports whether a file was touched so shortly before the snapshot that its times prove nothing.
func (s *Snapshot) racy(e *entry) bool { return e.ctime > s.taken.Add(-tick).UnixNano() }

// read returns what a file holds, or nil when it cannot be read as the file that was seen. buf is working space.
func (h *hasher) read(e *entry, buf *[]byte) *content {
	f, err := h.root.OpenFile(e.path, os.O_RDONLY|openNoBlock, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil || !fi.Mode().IsRegular() || fi.Size() != e.size {
		return nil
	}
	if _, ino := statExtra(fi); ino != e.ino {
		return nil
	}
	whole := e.size <= maxText
	if whole {
		if int64(cap(*buf)) < e.size {
			*buf = make([]byte, e.size)
		}
		text := (*buf)[:e.size]
		if _, err := io.ReadFull(f, text); err != nil {
			return nil
		}
		c := newContent(text)
		switch {
		case len(text) == 0 || isBinary(text):
		case e.isOwn() || !h.blobs.has(c.blob) && h.keep.Add(-e.size) >= 0:
			c.text = bytes.Clone(text)
		}
		return c
	}
	sum, blob := sha256.New(), sha1.New()
	fmt.Fprintf(blob, "blob %d\x00", e.size)
	var lines lineCounter
	n, err := io.CopyBuffer(io.MultiWriter(sum, blob, &lines), io.LimitReader(f, e.size), (*buf)[:cap(*buf)])
	if err != nil || n != e.size {
		return nil
	}
	return &content{sum: [sha256.Size]byte(sum.Sum(nil)), blob: [20]byte(blob.Sum(nil)), lines: lines.count()}
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

func newContent(text []byte) *content {
	var lines lineCounter
	lines.Write(text)
	return &content{sum: sha256.Sum256(text), blob: blobName(text), lines: lines.count()}
}

// linkContent is what a symbolic link holds; git counts it as one line.
func linkContent(target string) *content {
	return &content{sum: sha256.Sum256([]byte(target)), lines: 1}
}

// blobName is git's name of a content in a SHA-1 repository. It finds an object; identity is proved by the SHA-256 sum.
func blobName(text []byte) [20]byte {
	h := sha1.New()
	fmt.Fprintf(h, "blob %d\x00", len(text))
	h.Write(text)
	return [20]byte(h.Sum(nil))
}

// binaryHead is the part of a file in which git looks for a NUL byte to tell a binary from a text.
const binaryHead = 8000

func isBinary(text []byte) bool {
	return bytes.IndexByte(text[:min(len(text), binaryHead)], 0) >= 0
}

// A lineCounter counts the lines of what is written to it; none if it is binary.
type lineCounter struct {
	size   int
	lines  int
	binary bool
	last   byte
}

func (l *lineCounter) Write(p []byte) (int, error) {
	if l.size < binaryHead {
		l.binary = l.binary || bytes.IndexByte(p[:min(len(p), binaryHead-l.size)], 0) >= 0
	}
	if len(p) > 0 {
		l.lines += bytes.Count(p, []byte{'\n'})
		l.last = p[len(p)-1]
	}
	l.size += len(p)
	return len(p), nil
}

func (l *lineCounter) count() int {
	switch {
	case l.binary || l.size == 0:
		return 0
	case l.last != '\n':
		return l.lines + 1
	}
	return l.lines
}
