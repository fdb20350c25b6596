package worktree

import (
	"bufio"
	"compress/flate"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"

	"opencode-delegate/internal/fault"
)

// contents are what the files of a snapshot held, one after another in one file, each compressed for itself and each only once.
type contents struct {
	f     *os.File
	out   *bufio.Writer
	deft  *flate.Writer
	at    int64 // where the next one begins
	left  int64
	known map[[sha256.Size]byte]int64
}

func createContents(store string, limit int64) (*contents, error) {
	f, err := os.OpenFile(filepath.Join(store, contentsName), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	c := &contents{f: f, out: bufio.NewWriterSize(f, 256<<10), left: limit, known: map[[sha256.Size]byte]int64{}}
	c.deft, err = flate.NewWriter(countingWriter{c.out, &c.at}, flate.BestSpeed)
	return c, err
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

// add keeps one content. A second one that is the same is written and then forgotten: reading it twice could give two contents.
func (c *contents) add(ctx context.Context, r io.Reader) (size int64, sum [sha256.Size]byte, at int64, err error) {
	at = c.at
	h := sha256.New()
	c.deft.Reset(countingWriter{c.out, &c.at})
	size, err = io.Copy(io.MultiWriter(h, c.deft), io.LimitReader(untilDone(ctx, r), c.left+1))
	if err == nil {
		err = c.deft.Close()
	}
	if err != nil {
		return 0, sum, 0, err
	}
	if c.left -= size; c.left < 0 {
		return 0, sum, 0, fault.New(fault.Usage, "the files together are too large to be kept")
	}
	sum = [sha256.Size]byte(h.Sum(nil))
	if first, ok := c.known[sum]; ok {
		return size, sum, first, c.back(at)
	}
	c.known[sum] = at
	return size, sum, at, nil
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
	return errors.Join(err, c.f.Close())
}

// A content is one that is read again. Its end is an error when it is not what the list says.
type content struct {
	r    io.Reader
	h    hash.Hash
	left int64
	want entry
}

// content reads one from the file of contents.
func readContent(f io.ReaderAt, e entry) io.Reader {
	raw := bufio.NewReaderSize(io.NewSectionReader(f, e.at, 1<<62), 32<<10)
	return &content{r: io.LimitReader(flate.NewReader(raw), e.size+1), h: sha256.New(), left: e.size, want: e}
}

func (c *content) Read(p []byte) (int, error) {
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
