package worktree

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// changed are the tracked files of the work tree that are not as in a commit. Times alone decide nothing: files that look touched are read again, with an index of our
// own. Of those with a filter of the user's, which is not run, the size and times in the index decide: git looks into a file whose time is not older than the
// index, as after a clone or a commit in the same second, and what the filter keeps of it is another content.
func (g *git) changed(ctx context.Context, commit string) (map[string]bool, error) {
	diff := []string{"diff-index", "-z", "--name-only", "--no-renames", "--ignore-submodules=dirty", commit, "--"}
	dirty, err := g.set(ctx, diff...)
	if _, none := os.Lstat(filepath.Join(g.gitDir, "index")); err != nil || len(dirty) == 0 || errors.Is(none, fs.ErrNotExist) {
		return dirty, err
	}
	filtered, err := g.filtered(ctx, slices.Sorted(maps.Keys(dirty)))
	if err != nil {
		return nil, err
	}
	if len(filtered) > 0 {
		o, err := g.withIndex(func(time.Time) time.Time { return time.Now().Add(time.Hour) })
		if err != nil {
			return nil, err
		}
		byTimes, err := o.set(ctx, diff...)
		if err != nil {
			return nil, err
		}
		for _, name := range filtered {
			if !byTimes[name] {
				delete(dirty, name)
			}
		}
	}
	// The time of the index is what tells git which files to read again.
	o, err := g.withIndex(func(its time.Time) time.Time { return its })
	if err != nil {
		return nil, err
	}
	said := (*refusal)(nil)
	if err := o.run(ctx, nil, nil, "update-index", "-q", "--refresh"); err != nil && !errors.As(err, &said) { // it refuses where something is changed
		return nil, err
	}
	byContent, err := o.set(ctx, diff...)
	maps.DeleteFunc(dirty, func(name string, _ bool) bool { return !byContent[name] })
	return dirty, err
}

// withIndex is the same git with an index of its own, of a time that is made of that of the index.
func (g *git) withIndex(when func(its time.Time) time.Time) (*git, error) {
	name := filepath.Join(g.gitDir, "index")
	fi, err := os.Lstat(name)
	if err != nil {
		return nil, err
	}
	o, own := *g, filepath.Join(g.scratch, "index")
	o.env = append(g.env[:len(g.env):len(g.env)], "GIT_INDEX_FILE="+own)
	if err := os.Remove(own); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err = cloneFile(name, own); err == nil {
		at := when(fi.ModTime())
		err = os.Chtimes(own, at, at)
	}
	return &o, err
}

// maxAttributes is how much of a file of attributes git reads, in bytes (git 2.39.5).
const maxAttributes = 100 << 20

// filtered are those of the names that have a filter by the attributes of the work tree and of the user.
func (g *git) filtered(ctx context.Context, names []string) (list []string, err error) {
	if len(names) == 0 {
		return nil, nil
	}
	if info := regularFiles(filepath.Join(g.common, "info", "attributes")); len(info) > 0 {
		text, err := readRegular(info[0], maxAttributes)
		if err == nil {
			err = os.MkdirAll(filepath.Join(g.scratch, "info"), 0o700)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(g.scratch, "info", "attributes"), text, 0o600)
		}
		if err != nil {
			return nil, err
		}
	}
	args := []string{"check-attr", "-z", "--stdin", "filter"}
	if file := regularFiles(g.everywhere("core.attributesfile", "attributes")); len(file) > 0 {
		args = append([]string{"-c", "core.attributesFile=" + file[0]}, args...)
	}
	var fields []string
	err = g.run(ctx, bytes.NewReader([]byte(strings.Join(names, "\x00")+"\x00")), func(out io.Reader) error {
		return each(out, 0, func(field string) error { // name, attribute, value
			if fields = append(fields, field); len(fields) == 3 {
				if fields[2] != "unspecified" && fields[2] != "unset" {
					list = append(list, fields[0])
				}
				fields = fields[:0]
			}
			return nil
		})
	}, args...)
	return list, err
}
