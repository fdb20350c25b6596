package gitdiff

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/permission"
)

// tracked selects what differs between two sides of what git knows; one commit alone means the files as they are.
func (r *repository) tracked(ctx context.Context, sides []string, s *selection) error {
	args := append([]string{"diff", "--no-ext-diff", "--no-textconv", "--no-color", "--find-renames", "-l400", "--unified=5", "--submodule=short", "--ignore-submodules=dirty"}, sides...)
	err := r.look(ctx, func(out io.Reader) error { return readPatch(out, s) }, append(args, "--")...)
	return explained(err, "what has changed cannot be shown")
}

// explained says what can be done about a git that has failed.
func explained(err error, what string) error {
	said := (*refusal)(nil)
	if !errors.As(err, &said) {
		return err
	}
	f := fault.New(fault.RunFailed, "%s: git: %s", what, said.said)
	if strings.Contains(said.said, "unable to read") || strings.Contains(said.said, "bad object") {
		f = f.With("objects are missing, as in a partial clone; git diff fetches them, and so does git fetch --refetch")
	}
	return f
}

// A block is the difference of one file, as it is read.
type block struct {
	header, text bytes.Buffer // of text no more than a selection could show
	added, gone  int64
	size         int64 // characters of the whole
	reach        int64 // the last line, of either side, that a hunk shows
	hunks        bool  // the first hunk has begun
	binary       bool
}

// readPatch divides the output of git diff. A line of content never begins like a header: it has a mark of its own in front.
func readPatch(out io.Reader, s *selection) error {
	lines := bufio.NewReaderSize(out, 32<<10)
	var b *block
	whole := true // what is read next begins a line
	for {
		piece, err := lines.ReadSlice('\n')
		if len(piece) > 0 {
			if whole && (bytes.HasPrefix(piece, []byte("diff --")) || bytes.HasPrefix(piece, []byte("* Unmerged path "))) {
				b.finish(s)
				b = &block{}
			}
			if b != nil { // before the first header are warnings at most
				b.take(piece, whole, s.limit)
			}
			whole = piece[len(piece)-1] == '\n'
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err == io.EOF:
			b.finish(s)
			return nil
		case err != nil:
			return err
		}
	}
}

func (b *block) take(piece []byte, whole bool, limit int) {
	b.size += int64(utf8.RuneCount(piece))
	if b.size <= int64(limit) {
		b.text.Write(piece)
	}
	switch {
	case !whole:
	case bytes.HasPrefix(piece, []byte("@@ ")): // a line of content has a mark in front
		b.hunks = true
		if h, ok := parseHunk(string(piece)); ok {
			b.reach = max(b.reach, h.old.last(), h.new.last())
		}
	case !b.hunks:
		if b.header.Len() < 16<<10 {
			b.header.Write(piece)
		}
		b.binary = b.binary || bytes.HasPrefix(piece, []byte("Binary files "))
	case piece[0] == '+':
		b.added++
	case piece[0] == '-':
		b.gone++
	}
}

// finish hands a block on.
func (b *block) finish(s *selection) {
	if b == nil {
		return
	}
	before, name := pathsIn(b.header.String())
	switch {
	case permission.Secret(path.Base(before)) || permission.Secret(path.Base(name)):
		s.name(quoted(name), fmt.Sprintf("its name says that it holds secrets; +%d -%d lines", b.added, b.gone))
	case b.binary:
		s.name(quoted(name), "binary")
	case strings.HasPrefix(b.header.String(), "* "):
		s.name(quoted(name), "a merge has left it in conflict")
	default:
		s.add(File{Path: quoted(name), Text: b.text.String(), Added: b.added, Deleted: b.gone, Lines: b.reach}, b.size)
	}
}

// pathsIn are the old and the new path that the header of a block is about; of a file that was added or deleted both are the same.
func pathsIn(header string) (before, after string) {
	found := map[string]string{}
	for line := range strings.Lines(header) {
		for _, word := range []string{"+++ ", "--- ", "rename from ", "rename to ", "* Unmerged path ", "diff --git "} {
			if rest, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), word); ok && found[word] == "" {
				found[word] = rest
			}
		}
	}
	side := func(word string) string {
		_, name, _ := strings.Cut(unquote(strings.TrimSuffix(found[word], "\t")), "/")
		if found[word] == "/dev/null" {
			return ""
		}
		return name
	}
	before, after = side("--- "), side("+++ ")
	if from := found["rename from "]; from != "" {
		before, after = unquote(from), unquote(found["rename to "])
	} else if name := found["* Unmerged path "]; name != "" {
		before, after = unquote(name), unquote(name)
	}
	if before == "" && after == "" { // both sides are the same: "a/PATH b/PATH"
		rest := found["diff --git "]
		if _, name, ok := strings.Cut(unquote(rest[:len(rest)/2]), "/"); ok {
			return name, name
		}
		return rest, rest
	}
	return cmp.Or(before, after), cmp.Or(after, before)
}

// unquote reads a path as git writes it: in quotes with the escapes of C where that is needed.
func unquote(s string) string {
	if len(s) < 2 || s[0] != '"' || s[len(s)-1] != '"' {
		return s
	}
	if text, err := strconv.Unquote(s); err == nil { // Go knows all of git's escapes
		return text
	}
	return s
}

// quoted is a path for a reader: as it is, or in quotes when a character in it could be taken for something else.
func quoted(name string) string {
	if q := strconv.Quote(name); q != `"`+name+`"` || strings.TrimSpace(name) != name {
		return q
	}
	return name
}
