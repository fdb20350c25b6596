package gitdiff

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"opencode-delegate/internal/permission"
)

// Of untracked files at most so many are looked at, and of each at most so many bytes.
const (
	untrackedLimit = 5000
	contentLimit   = 16 << 20
)

// binaryHead is the part of a file in which git looks for a NUL byte to tell a binary from a text.
const binaryHead = 8000

// untracked selects the files that git does not know and is not told to ignore, as if they had been added.
func (r *repository) untracked(ctx context.Context, s *selection) error {
	root, err := os.OpenRoot(r.top)
	if err != nil {
		return fmt.Errorf("the work tree: %w", err)
	}
	defer root.Close()
	var names []string
	args := append([]string{"ls-files", "-z", "--others", "--exclude-per-directory=.gitignore"}, r.ignore...)
	err = r.look(ctx, func(out io.Reader) error {
		lines := bufio.NewReaderSize(out, 32<<10)
		for {
			name, err := lines.ReadString(0)
			if name = strings.TrimSuffix(name, "\x00"); name != "" {
				if len(names) == untrackedLimit {
					s.more.Files++ // they are counted no further: there may be millions
					return errEnough
				}
				names = append(names, name)
			}
			if err == io.EOF {
				return nil
			} else if err != nil {
				return err
			}
		}
	}, args...)
	if err := explained(err, "the untracked files cannot be listed"); err != nil {
		return err
	}
	slices.Sort(names)
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		addNew(root, name, s)
	}
	return nil
}

// addNew selects one untracked file.
func addNew(root *os.Root, name string, s *selection) {
	shown := quoted(name)
	if strings.HasSuffix(name, "/") {
		s.name(shown, "untracked: a repository of its own")
		return
	}
	if permission.Secret(path.Base(name)) {
		s.name(shown, "untracked; its name says that it holds secrets")
		return
	}
	fi, err := root.Lstat(name)
	switch {
	case err != nil: // gone meanwhile
		return
	case fi.Mode()&os.ModeSymlink != 0:
		target, _ := root.Readlink(name)
		s.name(shown, "untracked: a symbolic link to "+quoted(target))
		return
	case !fi.Mode().IsRegular():
		s.name(shown, "untracked: no regular file")
		return
	}
	f, err := root.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		s.name(shown, "untracked: it cannot be read")
		return
	}
	defer f.Close()
	text, err := readNew(f, int64(s.limit))
	switch {
	case errors.Is(err, errBinary):
		s.name(shown, "untracked: binary")
	case err != nil:
		s.name(shown, "untracked: it cannot be read")
	default:
		head := fmt.Sprintf("diff --git a/%s b/%s\nnew file, untracked\n--- /dev/null\n+++ b/%s\n@@ -0,0 +1,%d @@\n", shown, shown, shown, text.lines)
		s.add(File{Path: shown, Text: head + text.marked, Added: text.lines}, int64(utf8.RuneCountInString(head))+text.size)
	}
}

// A content is a text with a mark before each line.
type content struct {
	marked string // no longer than a selection could show
	size   int64  // characters of the whole
	lines  int64
}

var errBinary = errors.New("it is no text")

// readNew reads a text as one that was added.
func readNew(r io.Reader, limit int64) (content, error) {
	in := bufio.NewReaderSize(io.LimitReader(r, contentLimit), 32<<10)
	head, err := in.Peek(binaryHead)
	if err != nil && err != io.EOF {
		return content{}, err
	}
	if bytes.IndexByte(head, 0) >= 0 {
		return content{}, errBinary
	}
	var c content
	var b strings.Builder
	write := func(p []byte) {
		if c.size += int64(utf8.RuneCount(p)); c.size <= limit {
			b.Write(p)
		}
	}
	for whole := true; ; {
		piece, err := in.ReadSlice('\n')
		if len(piece) > 0 {
			if whole {
				c.lines++
				write([]byte{'+'})
			}
			write(piece)
			whole = piece[len(piece)-1] == '\n'
		}
		switch {
		case err == io.EOF:
			if !whole {
				write([]byte("\n\\ No newline at end of file\n"))
			}
			c.marked = b.String()
			return c, nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return content{}, err
		}
	}
}
