package worktree

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"

	"opencode-delegate/internal/fault"
)

// A Count is what a patch does to one file, in lines.
type Count struct {
	Path       string // after the patch, relative, with slashes
	Binary     bool   // nothing is counted then
	Insertions int
	Deletions  int
}

// Counts reads a patch as [Patch] writes it, and changes nothing. The counts come in the order of the patch.
func Counts(ctx context.Context, patch io.Reader) ([]Count, error) {
	in := bufio.NewReader(patch)
	if _, err := in.Peek(1); errors.Is(err, io.EOF) {
		return nil, nil // which git refuses
	}
	scratch, err := os.MkdirTemp("", "oc-delegate-git-*")
	if err != nil {
		return nil, fault.New(fault.Usage, "no temporary directory: %w", err).With("set TMPDIR to a directory that you can write")
	}
	defer os.RemoveAll(scratch)
	if err := emptyRepository(scratch, ""); err != nil {
		return nil, err
	}
	var all []Count
	err = runGit(ctx, scratch, ownEnv(scratch), in, func(out io.Reader) error {
		return each(out, 0, func(line string) error {
			added, rest, _ := strings.Cut(line, "\t")
			removed, path, ok := strings.Cut(rest, "\t")
			if !ok {
				return errors.New("a line is not as git writes it")
			}
			c := Count{Path: path, Binary: added == "-"}
			c.Insertions, _ = strconv.Atoi(added) // a binary file has a dash
			c.Deletions, _ = strconv.Atoi(removed)
			all = append(all, c)
			return nil
		})
	}, "apply", "--numstat", "-z", "-")
	return all, err
}

// Lines are the insertions and deletions between two snapshots, over all text files. limit is that of [Patch].
func Lines(ctx context.Context, base, after *Snapshot, limit int64) (insertions, deletions int, err error) {
	patch, feed := io.Pipe()
	go func() { feed.CloseWithError(Patch(ctx, base, after, feed, limit)) }()
	counts, err := Counts(ctx, patch)
	patch.CloseWithError(errors.New("nobody reads on"))
	for _, c := range counts {
		insertions, deletions = insertions+c.Insertions, deletions+c.Deletions
	}
	return insertions, deletions, err
}
