package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/repocode"
	"opencode-delegate/internal/tree"
)

// files fills the tree of the copy.
func (c *Copy) files(ctx context.Context, g *git, dir string) error {
	dirty, err := g.set(ctx, "diff-index", "-z", "--name-only", "--no-renames", "--ignore-submodules=dirty", c.record.Base, "--")
	if err != nil {
		return err
	}
	c.record.Dirt = c.record.Dirty && len(dirty) > 0
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
	if fromObjects.Len() > 0 {
		env := append(g.env[:len(g.env):len(g.env)], "GIT_WORK_TREE="+c.Tree(), "GIT_INDEX_FILE="+filepath.Join(c.place, ownGitName, "index"))
		if err := runGit(ctx, c.Tree(), env, &fromObjects, nil, "checkout-index", "-q", "-f", "-z", "--stdin"); err != nil {
			return err
		}
	}
	if c.record.Dirty {
		if err := c.dirt(ctx, g, to); err != nil {
			return err
		}
	}
	if at, ok := below(c.record.Top, dir); ok {
		if err := to.mkdir(filepath.ToSlash(at)); err != nil {
			return fault.New(fault.Usage, "%s is no directory in the commit that is checked out", tree.Quote(at))
		}
	}
	return nil
}

// dirt brings along what is neither as in the commit nor ignored.
func (c *Copy) dirt(ctx context.Context, g *git, to *transfer) error {
	if err := noPipes(ctx, g.top); err != nil {
		return err
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
		if !strings.HasSuffix(p, "/") && !c.depends(p) { // a repository inside is not part of this one
			c.record.Dirt = c.record.Dirt || !to.done[p]
			if err := to.copy(p); err != nil {
				return err
			}
		}
	}
	return nil
}

// template makes the git directory that the copy gets, without a template of git.
func (c *Copy) template(ctx context.Context, g *git) error {
	dir := filepath.Join(c.place, ownGitName)
	format, _ := configured(filepath.Join(g.common, "config"), "extensions.objectformat")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	if err := emptyRepository(dir, format); err != nil {
		return err
	}
	files := map[string]string{
		"HEAD":                     "ref: refs/heads/" + c.Branch() + "\n",
		"refs/heads/" + c.Branch(): c.record.Base + "\n",
		"objects/info/alternates":  quotedPath(filepath.Join(g.common, "objects")) + "\n",
		"info/exclude":             g.excludes() + c.excludes(),
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
	return runGit(ctx, c.place, env, nil, nil, "read-tree", c.record.Base)
}

// quotedPath is a path as git reads it in a list of object directories.
func quotedPath(name string) string {
	if strings.HasPrefix(name, `"`) || strings.ContainsAny(name, "\n") {
		return inC(name)
	}
	return name
}

// excludes are the patterns that lie outside of the work tree.
func (g *git) excludes() string {
	var b strings.Builder
	for _, file := range g.ignoreFiles() {
		if text, err := readRegular(file, 1<<20); err == nil {
			b.Write(text)
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// excludes keep dependencies out of what the worker commits. A pattern that ends with a slash, as many write it, is not one of a link.
func (c *Copy) excludes() string {
	var b strings.Builder
	for _, p := range append(c.record.Link[:len(c.record.Link):len(c.record.Link)], c.record.Copied...) {
		if !strings.Contains(p, "\n") {
			b.WriteString("/" + strings.NewReplacer("\\", "\\\\", "*", "\\*", "?", "\\?", "[", "\\[", " ", "\\ ").Replace(p) + "\n")
		}
	}
	return b.String()
}

// repository gives the tree its git directory.
func (c *Copy) repository(ctx context.Context) error {
	own, dir := filepath.Join(c.place, ownGitName), filepath.Join(c.Tree(), ".git")
	if err := copyOwn(own, dir); err != nil {
		return err
	}
	err := runGit(ctx, c.Tree(), append(ownEnv(dir), "GIT_WORK_TREE="+c.Tree()), nil, nil, "update-index", "-q", "--refresh")
	if said := (*refusal)(nil); errors.As(err, &said) {
		return nil // it says so of files that differ from the commit
	}
	return err
}

// copyOwn copies a directory of ours that holds directories and files only.
func copyOwn(from, to string) error {
	return filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.Mkdir(filepath.Join(to, rel), 0o700)
		}
		return cloneFile(name, filepath.Join(to, rel))
	})
}
