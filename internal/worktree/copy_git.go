package worktree

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/lazyregexp"
)

var commitID = lazyregexp.New(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// theirs is the environment of a git that reads the configuration of the user's repository, before anything of a worker could be in it. Only commands
// that run no program of it may be asked.
func (g *git) theirs() []string {
	return append(ownEnv(g.scratch), "GIT_DIR="+g.gitDir, "GIT_WORK_TREE="+g.top)
}

// head is the commit that is checked out.
func (g *git) head(ctx context.Context) (string, error) {
	var text []byte
	err := runGit(ctx, g.top, g.theirs(), nil, func(out io.Reader) (err error) {
		text, err = io.ReadAll(io.LimitReader(out, 4<<10))
		return err
	}, "rev-parse", "--verify", "--quiet", "--end-of-options", "HEAD^{commit}")
	id := strings.TrimSpace(string(text))
	if said := (*refusal)(nil); errors.As(err, &said) {
		if said.said != "" {
			return "", fault.New(fault.Usage, "HEAD cannot be found: %s", said.said)
		}
		return "", fault.New(fault.Usage, "the repository has no commit yet; commit something first")
	}
	if err == nil && !commitID().MatchString(id) {
		err = fmt.Errorf("git names %.80q as HEAD", id)
	}
	return id, err
}

// complete refuses a commit of which objects are missing.
func (g *git) complete(ctx context.Context, commit string) error {
	missing := 0
	err := g.run(ctx, nil, func(out io.Reader) error {
		return each(out, '\n', func(line string) error {
			if strings.HasPrefix(line, "?") {
				missing++
			}
			return nil
		})
	}, "rev-list", "--objects", "--no-walk", "--missing=print", commit)
	if said := (*refusal)(nil); errors.As(err, &said) {
		return fault.New(fault.Usage, "the files of HEAD are not all there: %s", said.said).With("git fetch --refetch brings what a partial clone lacks")
	}
	if err == nil && missing > 0 {
		err = fault.New(fault.Usage, "%d objects of HEAD are missing, as in a partial clone", missing).With("git fetch --refetch brings them")
	}
	return err
}

// each hands on what a command prints, part by part.
func each(out io.Reader, end byte, f func(string) error) error {
	in := bufio.NewReaderSize(out, 64<<10)
	for {
		part, err := in.ReadString(end)
		if part = strings.TrimSuffix(part, string(end)); part != "" {
			if err := f(part); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// set are the paths that a command prints, each with a NUL behind it.
func (g *git) set(ctx context.Context, args ...string) (map[string]bool, error) {
	paths := map[string]bool{}
	err := g.run(ctx, nil, func(out io.Reader) error {
		return each(out, 0, func(p string) error { paths[p] = true; return nil })
	}, args...)
	return paths, err
}
