package worktree

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/klauspost/compress/s2"

	"opencode-delegate/internal/crashpoint"
	"opencode-delegate/internal/fault"
)

// maxBlock is the largest file that is read and compressed in one piece, in bytes.
const maxBlock = 1 << 20

// A content is what a list says of what a file held.
type content struct {
	size   int64
	sum    [sha256.Size]byte
	at     int64 // where it stands in the store
	stored int64 // how long it is there, compressed; 0: as it was. Up to maxBlock it is one block of S2, beyond a stream
}

// possible reports whether what a list says of a content can be so.
func (c content) possible() bool {
	return c.size >= 0 && c.at >= 0 && c.stored >= 0 && (c.size > maxBlock || c.stored <= maxBlock)
}

// A keeper takes a file to its end and says what it held. It may be called by several at once.
type keeper interface {
	keep(ctx context.Context, r io.Reader, room *room) (content, error)
}

// room is what one caller of a keeper reads and compresses into.
type room struct{ in, out []byte }

func newRoom() *room { return &room{in: make([]byte, maxBlock+1)} }

// fill reads as much as one block holds, and reports whether that is all.
func (r *room) fill(ctx context.Context, from io.Reader) (text []byte, all bool, err error) {
	n := 0
	for n < len(r.in) {
		if ctx.Err() != nil {
			return nil, false, context.Cause(ctx)
		}
		m, err := from.Read(r.in[n:])
		n += m
		if err == io.EOF {
			return r.in[:n], true, nil
		}
		if err != nil {
			return nil, false, err
		}
	}
	return r.in[:n], false, nil
}

// contents are what the files of a snapshot held, one after another in one file, each compressed for itself and each only once.
type contents struct {
	mu    sync.Mutex
	f     *os.File
	out   *bufio.Writer
	at    int64 // where the next one begins
	left  int64
	known map[[sha256.Size]byte]content
}

// createContents begins the file. Where there is an earlier snapshot it begins with the contents of that one.
func createContents(store string, limit int64, since *Snapshot) (*contents, error) {
	f, err := os.OpenFile(filepath.Join(store, contentsName), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	crashpoint.Here("made", contentsName)
	c := &contents{f: f, out: bufio.NewWriterSize(f, 256<<10), left: limit, known: map[[sha256.Size]byte]content{}}
	if since != nil {
		if err := c.goOnFrom(since); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	return c, nil
}

func (c *contents) goOnFrom(since *Snapshot) error {
	in, err := os.Open(filepath.Join(since.store, contentsName))
	if err != nil {
		return err
	}
	defer in.Close()
	if c.at, err = io.Copy(c.f, in); err != nil {
		return err
	}
	for i := range since.list.entries {
		if e := &since.list.entries[i]; e.mode.IsRegular() {
			c.known[e.sum] = e.content
		}
	}
	return nil
}

func (c *contents) keep(ctx context.Context, r io.Reader, room *room) (content, error) {
	text, all, err := room.fill(ctx, r)
	if err != nil {
		return content{}, err
	}
	if !all {
		return c.long(io.MultiReader(bytes.NewReader(text), untilDone(ctx, r)))
	}
	kept := content{size: int64(len(text)), sum: sha256.Sum256(text)}
	c.mu.Lock()
	first, known := c.known[kept.sum]
	err = c.spend(kept.size)
	c.mu.Unlock()
	if known || err != nil {
		return first, err
	}
	if room.out = s2.Encode(room.out[:cap(room.out)], text); len(room.out) < len(text) {
		text, kept.stored = room.out, int64(len(room.out))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if first, known := c.known[kept.sum]; known {
		return first, nil
	}
	kept.at = c.at
	c.at += int64(len(text))
	c.known[kept.sum] = kept
	_, err = c.out.Write(text)
	return kept, err
}

// spend counts what is kept against the limit.
func (c *contents) spend(size int64) error {
	if c.left -= size; c.left < 0 {
		return fault.New(fault.Usage, "the files together are too large to be kept")
	}
	return nil
}

// long keeps what is too large for a block. A second one that is the same is written and then forgotten: reading it twice could give two contents.
func (c *contents) long(r io.Reader) (content, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept, h := content{at: c.at}, sha256.New()
	deft := s2.NewWriter(countingWriter{c.out, &c.at}, s2.WriterBlockSize(maxBlock), s2.WriterConcurrency(1))
	var err error
	kept.size, err = io.Copy(io.MultiWriter(h, deft), io.LimitReader(r, c.left+1))
	if err = errors.Join(err, deft.Close()); err == nil {
		err = c.spend(kept.size)
	}
	if err != nil {
		return content{}, err
	}
	kept.sum, kept.stored = [sha256.Size]byte(h.Sum(nil)), c.at-kept.at
	if first, known := c.known[kept.sum]; known {
		return first, c.back(kept.at)
	}
	c.known[kept.sum] = kept
	return kept, nil
}

type countingWriter struct {
	w io.Writer
	n *int64
}

func (c countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	*c.n += int64(n)
	return n, err
}

// back drops what was written behind a place.
func (c *contents) back(at int64) error {
	err := c.out.Flush()
	if err == nil {
		err = c.f.Truncate(at)
	}
	if err == nil {
		_, err = c.f.Seek(at, io.SeekStart)
	}
	c.at = at
	return err
}

// close ends the writing; what was written is on the disk then.
func (c *contents) close() error {
	err := c.out.Flush()
	if err == nil {
		err = c.f.Sync()
	}
	crashpoint.Here("written", contentsName)
	return errors.Join(err, c.f.Close())
}

// sums is a keeper that keeps nothing.
type sums struct{}

func (sums) keep(ctx context.Context, r io.Reader, room *room) (content, error) {
	text, all, err := room.fill(ctx, r)
	if err != nil || all {
		return content{size: int64(len(text)), sum: sha256.Sum256(text)}, err
	}
	h := sha256.New()
	size, err := io.Copy(h, io.MultiReader(bytes.NewReader(text), untilDone(ctx, r)))
	return content{size: size, sum: [sha256.Size]byte(h.Sum(nil))}, err
}

// A keptReader reads a content again. Its end is an error when it is not what the list says.
type keptReader struct {
	r    io.Reader
	h    hash.Hash
	left int64
	want entry
}

// readContent reads one from the file of contents.
func readContent(f io.ReaderAt, e entry) io.Reader {
	var r io.Reader
	switch {
	case e.stored == 0:
		r = io.NewSectionReader(f, e.at, e.size)
	case e.size <= maxBlock:
		r = &block{f: f, e: e}
	default:
		r = s2.NewReader(io.NewSectionReader(f, e.at, e.stored), s2.ReaderMaxBlockSize(maxBlock))
	}
	return &keptReader{r: io.LimitReader(r, e.size+1), h: sha256.New(), left: e.size, want: e}
}

func (c *keptReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.h.Write(p[:n])
	c.left -= int64(n)
	if err == nil {
		return n, nil
	}
	if err != io.EOF || c.left != 0 || [sha256.Size]byte(c.h.Sum(nil)) != c.want.sum {
		return n, fmt.Errorf("the kept content of %q is damaged", c.want.path)
	}
	return n, io.EOF
}

// A block is a content in one piece, which is read when it is asked for.
type block struct {
	f    io.ReaderAt
	e    entry
	text *bytes.Reader
}

func (b *block) Read(p []byte) (int, error) {
	if b.text == nil {
		stored := make([]byte, b.e.stored)
		if _, err := b.f.ReadAt(stored, b.e.at); err != nil {
			return 0, io.ErrUnexpectedEOF
		}
		if n, err := s2.DecodedLen(stored); err != nil || int64(n) != b.e.size {
			return 0, io.ErrUnexpectedEOF
		}
		text, err := s2.Decode(nil, stored)
		if err != nil {
			return 0, err
		}
		b.text = bytes.NewReader(text)
	}
	return b.text.Read(p)
}
