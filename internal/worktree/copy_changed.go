package worktree

import (
	"bytes"
	"context"
	"errors"
	"io"
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
	if err != nil || len(dirty) == 0 {
		return dirty, err
	}
	index, err := readRegular(filepath.Join(g.gitDir, "index"), maxIndex)
	if err != nil {
		return dirty, nil // too large, or none
	}
	o := *g
	fresh := filepath.Join(g.scratch, "fresh")
	o.env = append(g.env[:len(g.env):len(g.env)], "GIT_INDEX_FILE="+fresh)
	if err := os.WriteFile(fresh, index, 0o600); err != nil {
		return nil, err
	}
	filtered, err := g.filtered(ctx, slices.Sorted(maps.Keys(dirty)))
	if err != nil {
		return nil, err
	}
	if len(filtered) > 0 {
		ahead := time.Now().Add(time.Hour)
		if err := os.Chtimes(fresh, ahead, ahead); err != nil {
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
		if err := os.WriteFile(fresh, index, 0o600); err != nil {
			return nil, err
		}
	}
	said := (*refusal)(nil)
	if err := o.run(ctx, nil, nil, "update-index", "-q", "--refresh"); err != nil && !errors.As(err, &said) { // it refuses where something is changed
		return nil, err
	}
	byContent, err := o.set(ctx, diff...)
	maps.DeleteFunc(dirty, func(name string, _ bool) bool { return !byContent[name] })
	return dirty, err
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
