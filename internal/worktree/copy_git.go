package worktree

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/lazyregexp"
	"opencode-delegate/internal/repocode"
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

// keep makes the ref that keeps a commit alive.
func (g *git) keep(ctx context.Context, ref, commit string) error {
	return runGit(ctx, g.top, g.theirs(), nil, nil, "-c", "core.logAllRefUpdates=false", "update-ref", "--no-deref", ref, commit, strings.Repeat("0", len(commit)))
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

// files fills the tree of the copy.
func (c *Copy) files(ctx context.Context, g *git) error {
	dirty, err := g.set(ctx, "diff-index", "-z", "--name-only", "--no-renames", "--ignore-submodules=dirty", c.record.Base, "--")
	if err != nil {
		return err
	}
	to, err := newTransfer(ctx, g.top, c.Tree())
	if err != nil {
		return err
	}
	defer to.close()
	var fromObjects bytes.Buffer
	err = g.run(ctx, nil, func(out io.Reader) error {
		return each(out, 0, func(line string) error {
			info, p, _ := strings.Cut(line, "\t")
			switch {
			case strings.HasPrefix(info, "160000"):
				return to.mkdir(p)
			case !dirty[p]:
				return to.copy(p) // of what a sparse checkout leaves out there is nothing to copy
			case !c.record.Dirty:
				fmt.Fprintf(&fromObjects, "%s\x00", p)
			}
			return nil
		})
	}, "ls-tree", "-r", "-z", "--full-tree", c.record.Base)
	if err != nil {
		return err
	}
	if err := c.index(ctx, g); err != nil {
		return err
	}
	if fromObjects.Len() > 0 {
		env := append(g.env[:len(g.env):len(g.env)], "GIT_WORK_TREE="+c.Tree(), "GIT_INDEX_FILE="+filepath.Join(c.place, ownGitName, "index"))
		if err := runGit(ctx, c.Tree(), env, &fromObjects, nil, "checkout-index", "-q", "-f", "-z", "--stdin"); err != nil {
			return err
		}
	}
	if !c.record.Dirty {
		return nil
	}
	args := []string{"ls-files", "-z", "--cached", "--others", "--exclude-per-directory=.gitignore"}
	for _, file := range g.ignoreFiles() {
		args = append(args, "--exclude-from="+file)
	}
	present, err := g.set(ctx, args...)
	if err != nil {
		return err
	}
	for p := range present {
		if !strings.HasSuffix(p, "/") { // a repository inside is not part of this one
			if err := to.copy(p); err != nil {
				return err
			}
		}
	}
	return nil
}

// index makes our index of the base, which says what is tracked when the result is taken.
func (c *Copy) index(ctx context.Context, g *git) error {
	env := append(g.env[:len(g.env):len(g.env)], "GIT_INDEX_FILE="+filepath.Join(c.place, ownGitName, "index"))
	return runGit(ctx, c.place, env, nil, nil, "read-tree", c.record.Base)
}

// repository makes the git directory of the copy, without a template.
func (c *Copy) repository(ctx context.Context, g *git) error {
	dir := filepath.Join(c.Tree(), ".git")
	format, _ := configured(filepath.Join(g.common, "config"), "extensions.objectformat")
	if err := emptyRepository(dir, format); err != nil {
		return err
	}
	branch := "refs/heads/opencode-delegate/" + c.record.ID
	files := map[string]string{
		"HEAD":                    "ref: " + branch + "\n",
		branch:                    c.record.Base + "\n",
		"objects/info/alternates": filepath.Join(g.common, "objects") + "\n",
	}
	if text, err := readRegular(filepath.Join(g.common, "shallow"), 16<<20); err == nil {
		files["shallow"] = string(text)
	}
	for name, text := range files {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			return err
		}
	}
	sources := append(repocode.UserConfig(g.lookup("HOME"), g.lookup), filepath.Join(g.common, "config"))
	env := append(ownEnv(dir), "GIT_WORK_TREE="+c.Tree())
	for _, key := range append(settled[:len(settled):len(settled)], "user.name", "user.email") {
		for i := len(sources) - 1; i >= 0; i-- {
			if value, ok := configured(sources[i], key); ok {
				if err := runGit(ctx, c.place, env, nil, nil, "config", key, value); err != nil {
					return err
				}
				break
			}
		}
	}
	if err := runGit(ctx, c.Tree(), env, nil, nil, "read-tree", "HEAD"); err != nil {
		return err
	}
	err := runGit(ctx, c.Tree(), env, nil, nil, "update-index", "-q", "--refresh")
	if said := (*refusal)(nil); errors.As(err, &said) {
		return nil // it says so of files that differ from the commit
	}
	return err
}
