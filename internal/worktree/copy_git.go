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

// complete refuses a commit of which objects are missing, but for the contents of files that a sparse checkout leaves out.
func (g *git) complete(ctx context.Context, commit string) error {
	missing := map[string]bool{}
	err := g.run(ctx, nil, func(out io.Reader) error {
		return each(out, '\n', func(line string) error {
			if id, ok := strings.CutPrefix(line, "?"); ok {
				missing[id] = true
			}
			return nil
		})
	}, "rev-list", "--objects", "--no-walk", "--missing=print", commit)
	if err == nil && len(missing) > 0 {
		err = g.unneeded(ctx, commit, missing)
	}
	if said := (*refusal)(nil); errors.As(err, &said) {
		return fault.New(fault.Usage, "the files of HEAD are not all there: %s", said.said).With("git fetch --refetch brings what a partial clone lacks")
	}
	if err == nil && len(missing) > 0 {
		err = fault.New(fault.Usage, "%d objects of HEAD are missing, as in a partial clone", len(missing)).With("git fetch --refetch brings them")
	}
	return err
}

// unneeded takes the contents that only a sparse checkout's absent files have out of what is missing.
func (g *git) unneeded(ctx context.Context, commit string, missing map[string]bool) error {
	absent := map[string]bool{}
	err := g.run(ctx, nil, func(out io.Reader) error {
		return each(out, 0, func(line string) error {
			if name, ok := strings.CutPrefix(line, "S "); ok {
				absent[name] = true
			}
			return nil
		})
	}, "ls-files", "-z", "-t")
	if err != nil || len(absent) == 0 {
		return err
	}
	needed, spared := map[string]bool{}, map[string]bool{}
	err = g.run(ctx, nil, func(out io.Reader) error {
		return each(out, 0, func(line string) error {
			info, name, _ := strings.Cut(line, "\t")
			if id := info[strings.LastIndexByte(info, ' ')+1:]; absent[name] {
				spared[id] = true
			} else {
				needed[id] = true
			}
			return nil
		})
	}, "ls-tree", "-r", "-z", "--full-tree", commit)
	for id := range spared {
		if !needed[id] {
			delete(missing, id)
		}
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
