package worktree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"opencode-delegate/internal/repocode"
)

// A part is one repository of a copy: that of the work tree, or that of a submodule.
type part struct {
	path           string // in the tree, with slashes; empty for the whole
	gitDir, common string // the user's
	commit         string
	own            string // the git directory as the copy gets it
}

// top is the part that is the whole.
func (c *Copy) top() part {
	return part{"", c.record.GitDir, c.record.Common, c.record.Base, filepath.Join(c.place, ownGitName)}
}

// parts are all of them, each before those in it.
func (c *Copy) parts() []part {
	all := []part{c.top()}
	for i, m := range c.record.Modules {
		all = append(all, part{m.Path, m.GitDir, m.Common, m.Commit, filepath.Join(c.place, ownGitName, "modules", fmt.Sprint(i))})
	}
	return all
}

// joined is path.Join for parts of which the first may be empty and the second is clean.
func joined(at, name string) string {
	if at == "" {
		return name
	}
	return at + "/" + name
}

// handedOn are the keys of the user's configuration that the copy gets. The programs of git-lfs run where the worker runs git, and nowhere else.
func handedOn() []string {
	return append(settled[:len(settled):len(settled)], "user.name", "user.email", "core.sparsecheckout", "core.sparsecheckoutcone",
		"filter.lfs.clean", "filter.lfs.smudge", "filter.lfs.process", "filter.lfs.required")
}

// template makes a git directory that the copy gets, without a template of git.
func (c *Copy) template(ctx context.Context, g *git, p part) error {
	format, _ := configured(filepath.Join(g.common, "config"), "extensions.objectformat")
	if err := os.MkdirAll(p.own, 0o700); err != nil {
		return err
	}
	if err := emptyRepository(p.own, format); err != nil {
		return err
	}
	files := map[string]string{
		"HEAD":                    p.commit + "\n",
		"objects/info/alternates": quotedPath(filepath.Join(g.common, "objects")) + "\n",
		"info/exclude":            g.excludes() + c.excludes(p.path),
	}
	if p.path == "" {
		files["HEAD"], files[c.head()] = c.heads()
		var err error
		if files["packed-refs"], err = g.refs(ctx); err != nil {
			return err
		}
	}
	for name, from := range map[string]string{"shallow": g.common, "info/sparse-checkout": g.gitDir} {
		if text, err := readRegular(filepath.Join(from, filepath.FromSlash(name)), 16<<20); err == nil {
			files[name] = string(text)
		}
	}
	if err := writeAll(p.own, files); err != nil {
		return err
	}
	env := ownEnv(p.own)
	if err := runGit(ctx, p.own, env, nil, nil, "read-tree", p.commit); err != nil {
		return err
	}
	if err := g.sparse(ctx, p, env); err != nil {
		return err
	}
	return g.configure(ctx, p, env)
}

// refs are the user's tags and branches, local and remote, as a file of packed refs: what is built asks `git describe`, and what is checked asks how far it is from another
// branch. A name in which the branch of the copy could not be is left out.
func (g *git) refs(ctx context.Context) (packed string, err error) {
	var b strings.Builder
	left := maxRefs
	err = runGit(ctx, g.top, g.theirs(), nil, func(out io.Reader) error {
		return each(io.LimitReader(out, maxPackedRefs), '\n', func(line string) error {
			id, name, _ := strings.Cut(line, " ")
			if left--; left >= 0 && commitID().MatchString(id) && isRef(name) && !inSlashes("refs/heads/opencode-delegate", name) {
				b.WriteString(line + "\n")
			}
			return nil
		})
	}, "for-each-ref", "--format=%(objectname) %(refname)", "refs/tags", "refs/heads", "refs/remotes")
	return b.String(), err
}

// head is the file of the branch in a git directory.
func (c *Copy) head() string { return "refs/heads/" + c.Branch() }

// heads are the contents of HEAD and of the branch at the start.
func (c *Copy) heads() (head, branch string) {
	return "ref: " + c.head() + "\n", c.record.Base + "\n"
}

// renamed makes the branch of another copy, whose git directory this one has got, its own.
func (c *Copy) renamed(from *Copy) error {
	if c.head() == from.head() {
		return nil
	}
	dir := filepath.Join(c.place, ownGitName)
	files := map[string]string{}
	files["HEAD"], files[c.head()] = c.heads()
	return cmp.Or(os.Remove(filepath.Join(dir, filepath.FromSlash(from.head()))), writeAll(dir, files))
}

// writeAll writes files with slashes in their names below dir.
func writeAll(dir string, files map[string]string) error {
	for name, text := range files {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// configure hands on what the copy needs of the user's configuration.
func (g *git) configure(ctx context.Context, p part, env []string) error {
	sources := append(repocode.UserConfig(g.lookup("HOME"), g.lookup), filepath.Join(g.common, "config"))
	if on, _ := configured(filepath.Join(g.common, "config"), "extensions.worktreeconfig"); strings.EqualFold(on, "true") {
		sources = append(sources, filepath.Join(g.gitDir, "config.worktree"))
	}
	for _, key := range handedOn() {
		for i := len(sources) - 1; i >= 0; i-- {
			if value, ok := configured(sources[i], key); ok {
				if err := runGit(ctx, p.own, env, nil, nil, "config", key, value); err != nil {
					return err
				}
				break
			}
		}
	}
	return nil
}

// sparse marks in the index of the copy what a sparse checkout has left out.
func (g *git) sparse(ctx context.Context, p part, env []string) error {
	out := map[string]bool{}
	err := g.run(ctx, nil, func(r io.Reader) error {
		return each(r, 0, func(line string) error {
			if name, ok := strings.CutPrefix(line, "S "); ok {
				out[name] = true
			}
			return nil
		})
	}, "ls-files", "-t", "-z", "--cached")
	if err != nil || len(out) == 0 {
		return err
	}
	var marked strings.Builder
	known, err := g.set(ctx, "ls-tree", "-r", "-z", "--name-only", "--full-tree", p.commit)
	if err != nil {
		return err
	}
	for name := range out {
		if known[name] {
			marked.WriteString(name + "\x00")
		}
	}
	return runGit(ctx, p.own, append(env[:len(env):len(env)], "GIT_WORK_TREE="+p.own), strings.NewReader(marked.String()), nil, "update-index", "--skip-worktree", "-z", "--stdin")
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
func (c *Copy) excludes(at string) string {
	var b strings.Builder
	for _, p := range append(c.record.Link[:len(c.record.Link):len(c.record.Link)], c.record.Copied...) {
		if at != "" {
			p = strings.TrimPrefix(p, at+"/")
		}
		if !strings.Contains(p, "\n") {
			b.WriteString("/" + strings.NewReplacer("\\", "\\\\", "*", "\\*", "?", "\\?", "[", "\\[", " ", "\\ ").Replace(p) + "\n")
		}
	}
	return b.String()
}

// repositories give the tree its git directories. No git looks at files that are not the user's.
func (c *Copy) repositories(ctx context.Context, users bool) error {
	if err := copyOwn(filepath.Join(c.place, ownGitName), filepath.Join(c.Tree(), ".git")); err != nil {
		return err
	}
	root, err := os.OpenRoot(c.Tree())
	if err != nil {
		return err
	}
	defer root.Close()
	for _, p := range c.parts() {
		if p.path != "" && !isDirIn(root, p.path) {
			continue // a result may have something else there
		}
		git := ".git"
		if p.path != "" {
			git = path.Join(".git", "modules", filepath.Base(p.own))
			text := "gitdir: " + strings.Repeat("../", 1+strings.Count(p.path, "/")) + git + "\n"
			if err := root.WriteFile(p.path+"/.git", []byte(text), 0o600); err != nil {
				return err
			}
		}
		if !users {
			continue
		}
		if err := c.refresh(ctx, filepath.Join(c.Tree(), filepath.FromSlash(git)), filepath.Join(c.Tree(), filepath.FromSlash(p.path))); err != nil {
			return err
		}
	}
	return nil
}

// refresh spares the worker's first git the reading of all files. That it fails where files differ from the commit, or takes too long, does not matter.
func (c *Copy) refresh(ctx context.Context, git, workTree string) error {
	err := runGit(ctx, c.Tree(), append(ownEnv(git), "GIT_WORK_TREE="+workTree), nil, nil,
		"-c", "filter.lfs.clean=", "-c", "filter.lfs.process=", "-c", "filter.lfs.required=false", "update-index", "-q", "--refresh")
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if said := (*refusal)(nil); err == nil || errors.As(err, &said) {
		return nil
	}
	if err := os.Remove(filepath.Join(git, "index.lock")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// isDirIn reports whether a path and all above it are directories.
func isDirIn(root *os.Root, p string) bool {
	at := ""
	for part := range strings.SplitSeq(p, "/") {
		at = path.Join(at, part)
		if fi, err := root.Lstat(at); err != nil || !fi.IsDir() {
			return false
		}
	}
	return true
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
