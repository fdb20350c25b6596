package worktree

import (
	"bytes"
	"context"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// unfilter takes out of the changed files those that are only seen through a filter of the user's. git looks into a file whose time is not older than the
// index, as after a clone or a commit in the same second, and this git knows no filter, so that the content is another than what is kept of it. Of such a file
// the size and times in the index decide alone. What the filter would make of the content is not asked: no program of the user's is run here.
func (g *git) unfilter(ctx context.Context, commit string, dirty map[string]bool) error {
	filtered, err := g.filtered(ctx, slices.Sorted(maps.Keys(dirty)))
	if err != nil || len(filtered) == 0 {
		return err
	}
	later := filepath.Join(g.scratch, "later")
	index, err := readRegular(filepath.Join(g.gitDir, "index"), maxIndex)
	if err == nil {
		err = os.WriteFile(later, index, 0o600)
	}
	if err != nil {
		return err
	}
	ahead := time.Now().Add(time.Hour)
	if err := os.Chtimes(later, ahead, ahead); err != nil {
		return err
	}
	o := *g
	o.env = append(g.env[:len(g.env):len(g.env)], "GIT_INDEX_FILE="+later)
	changed, err := o.set(ctx, "diff-index", "-z", "--name-only", "--no-renames", "--ignore-submodules=dirty", commit, "--")
	if err != nil {
		return err
	}
	for _, name := range filtered {
		if !changed[name] {
			delete(dirty, name)
		}
	}
	return nil
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
