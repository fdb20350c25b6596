package planted

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"opencode-delegate/internal/gitconfig"
	"opencode-delegate/internal/repocode"
)

// Bounds of the search: opencode keeps a snapshot's repository two levels down and a reference's three.
const (
	maxDepth = 6
	maxDirs  = 50_000 // entries that the search looks at
	maxHooks = 1000   // entries of a directory of hooks
)

// A layout tells where repositories are.
type layout int

const (
	bare     layout = iota // snapshot/PROJECT/HASH is a git directory. One that lacks a HEAD is filled by git init, which leaves hooks alone
	checkout               // repos/HOST/OWNER/NAME holds a .git. git clone refuses a directory that is not empty
)

// A finder reads repositories.
type finder struct {
	*State
	ctx  context.Context
	left int
}

// dir searches a directory for repositories.
func (f *finder) dir(path string, l layout, depth int) {
	it := readItem(path, place)
	if it.absent() {
		return
	}
	f.files[path] = it
	if !it.mode.IsDir() || f.ctx.Err() != nil {
		return
	}
	if l == bare && depth > 0 && f.has(path, "HEAD", "config", "config.worktree", "commondir", "hooks", "info", "objects") {
		f.gitDir(path)
		return
	}
	if l == checkout && f.has(path, ".git") {
		f.gitDir(filepath.Join(path, ".git"))
		return
	}
	if l == checkout && f.has(path, "HEAD") {
		f.gitDir(path)
		return
	}
	if depth == maxDepth {
		f.problem(path, errors.New("too many levels of directories"))
		return
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		f.problem(path, err)
	}
	for _, e := range entries {
		if f.left--; f.left < 0 {
			f.problem(path, errors.New("too many entries"))
			return
		}
		if e.IsDir() || e.Type()&fs.ModeSymlink != 0 {
			f.dir(filepath.Join(path, e.Name()), l, depth+1)
		}
	}
}

func (f *finder) has(dir string, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return err == nil
	})
}

func (f *finder) add(path string, k kind) item {
	it := readItem(path, k)
	if !it.absent() {
		f.files[path] = it
	}
	return it
}

// gitDir reads what makes git run something.
func (f *finder) gitDir(path string) {
	if !f.add(path, place).mode.IsDir() {
		return
	}
	f.add(filepath.Join(path, "config"), configure)
	f.add(filepath.Join(path, "config.worktree"), configure)
	f.add(filepath.Join(path, "commondir"), whole)
	if info := filepath.Join(path, "info"); f.add(info, place).mode.IsDir() {
		f.add(filepath.Join(info, "attributes"), whole)
	}
	hooks := filepath.Join(path, "hooks")
	if !f.add(hooks, place).mode.IsDir() {
		return
	}
	entries, err := os.ReadDir(hooks)
	if err == nil && len(entries) > maxHooks {
		err = errors.New("too many hooks")
		entries = entries[:maxHooks]
	}
	if err != nil {
		f.problem(hooks, err)
	}
	for _, e := range entries {
		if !e.IsDir() && !strings.HasSuffix(e.Name(), ".sample") {
			f.add(filepath.Join(hooks, e.Name()), whole)
		}
	}
}

// repositories compares all of it.
func (c *check) repositories() {
	templates := map[string]bool{} // git init copies the user's own hooks into each new repository
	for path, it := range c.before.files {
		if it.kind == whole && it.mode.IsRegular() && it.bad == nil {
			templates[template(path, it)] = true
		}
	}
	for _, path := range sortedKeys(c.after.files) {
		was, is := c.before.files[path], c.after.files[path]
		shown := c.after.shown(path)
		if c.gone(path) || was.equal(is) {
			continue
		}
		switch is.kind {
		case place:
			if !is.mode.IsDir() {
				c.replace(path, was, fmt.Sprintf("%s was replaced by something that is no directory", shown))
			}
		case whole:
			if was.absent() && is.bad == nil && templates[template(path, is)] {
				continue
			}
			c.replace(path, was, fmt.Sprintf("%s, which git runs or obeys, was %s", shown, verb(was)))
		case configure:
			c.configuration(path, shown, was, is)
		}
	}
}

// template identifies a file that a repository may have from git's template directory.
func template(path string, it item) string {
	return fmt.Sprintf("%s\x00%o\x00%s", filepath.Base(path), it.mode, it.text)
}

// gone reports that something above a path has been moved away.
func (c *check) gone(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

func verb(was item) string {
	if was.absent() {
		return "added"
	}
	return "changed"
}

// replace moves away what stands at a path and puts back what was there.
func (c *check) replace(path string, was item, what string) {
	kept, err := c.move(path)
	if err == nil {
		err = restore(path, was)
	}
	c.report(Violation{What: what, Kept: kept}, err)
}

// configuration compares keys, and takes out those that run code. Others are git's and opencode's to change.
func (c *check) configuration(path, shown string, was, is item) {
	old := &gitconfig.File{}
	if was.mode.IsRegular() && was.bad == nil {
		if f, err := gitconfig.Parse(was.text); err == nil {
			old = f
		}
	}
	var now *gitconfig.File
	err := is.bad
	if err == nil && is.mode.IsRegular() {
		now, err = gitconfig.Parse(is.text)
	}
	if now == nil || err != nil {
		c.replace(path, was, fmt.Sprintf("%s is no git configuration any more", shown))
		return
	}
	cut := map[string]bool{}
	var with []gitconfig.Entry
	for _, key := range now.Keys() {
		before, after := old.Values(key), now.Values(key)
		if gitconfig.Same(before, after) || !slices.ContainsFunc(after, func(e gitconfig.Entry) bool { return runsCode(e, was.absent()) }) {
			continue
		}
		cut[key] = true
		with = append(with, before...)
	}
	if len(cut) == 0 {
		return
	}
	kept, err := c.move(path)
	if err == nil {
		err = write(path, now.Replace(cut, with), is.mode.Perm())
	}
	for _, key := range sortedKeys(cut) {
		c.report(Violation{What: fmt.Sprintf("git configuration %q, which can run a program, was set in %s", key, shown), Kept: kept}, err)
		err = nil
	}
}

// runsCode reports whether an entry of a repository of opencode's is one that it does not write itself.
func runsCode(e gitconfig.Entry, isNew bool) bool {
	switch e.Key {
	case "core.worktree": // a new snapshot names its project
		return !isNew
	case "core.fsmonitor": // as a boolean it is git's own; opencode writes false
		return !e.Implicit && !slices.Contains([]string{"", "false", "true", "no", "yes", "off", "on", "0", "1"}, strings.ToLower(e.Value))
	}
	return repocode.RunsCode(e.Key, e.Value)
}
