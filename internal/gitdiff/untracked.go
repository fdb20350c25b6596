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
	names, err := r.list(ctx, s, append([]string{"ls-files", "-z", "--others", "--exclude-per-directory=.gitignore"}, r.ignore...)...)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		addNew(root, name, s)
	}
	return nil
}

// list is what a git prints as names with a NUL behind each, sorted and each once.
func (r *repository) list(ctx context.Context, s *selection, args ...string) (names []string, err error) {
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
	slices.Sort(names)
	return slices.Compact(names), explained(err, "the files cannot be listed")
}

// addNew selects one untracked file.
func addNew(root *os.Root, name string, s *selection) {
	text, why := textOf(root, name, int64(s.limit))
	shown := quoted(name)
	switch {
	case why == gone:
	case why != "":
		s.name(shown, "untracked: "+why)
	default:
		s.add(text.file(shown, fmt.Sprintf("diff --git a/%s b/%s\nnew file, untracked\n--- /dev/null\n", shown, shown)))
	}
}

// gone is why a file that was listed has no text: it is not there.
const gone = "gone"

// textOf is the text of a file of the work tree as if all of it had been added, or why there is none to be shown.
func textOf(root *os.Root, name string, limit int64) (text content, why string) {
	if strings.HasSuffix(name, "/") {
		return content{}, "a repository of its own"
	}
	if permission.Secret(path.Base(name)) {
		return content{}, "its name says that it holds secrets"
	}
	fi, err := root.Lstat(name)
	switch {
	case err != nil:
		return content{}, gone
	case fi.Mode()&os.ModeSymlink != 0:
		target, _ := root.Readlink(name)
		return content{}, "a symbolic link to " + quoted(target)
	case !fi.Mode().IsRegular():
		return content{}, "no regular file"
	}
	f, err := root.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return content{}, "it cannot be read"
	}
	defer f.Close()
	text, err = readNew(f, limit)
	switch {
	case errors.Is(err, errBinary):
		return content{}, "binary"
	case err != nil:
		return content{}, "it cannot be read"
	}
	return text, ""
}

// A content is a text with a mark before each line.
type content struct {
	marked string // no longer than a selection could show
	size   int64  // characters of the whole
	lines  int64
}

// file is the content below a header, and its whole size. The path is quoted.
func (c content) file(path, header string) (File, int64) {
	header += fmt.Sprintf("+++ b/%s\n@@ -0,0 +1,%d @@\n", path, c.lines)
	return File{Path: path, Text: header + c.marked, Added: c.lines, Lines: c.lines}, int64(utf8.RuneCountInString(header)) + c.size
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
