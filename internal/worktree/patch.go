package worktree

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"opencode-delegate/internal/fault"
)

// A change is one path of which two snapshots hold something else, as a patch can say it: of a mode only the executable bit counts, and
// of a directory nothing.
type change struct {
	path        string
	was, is     *entry // nil: no file or link
	base, after *Snapshot
}

// executable is the one bit that a patch keeps.
const executable = 0o100

func samePatch(a, b *entry) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.mode.Type() == b.mode.Type() && a.mode&executable == b.mode&executable && a.sum == b.sum && a.target == b.target
}

// leaf is the entry of a path if it is a file or a link.
func (l list) leaf(path string) *entry {
	if e := l.find(path); !isDir(e) {
		return e
	}
	return nil
}

func changes(base, after *Snapshot) []change {
	var all []change
	for _, p := range allPaths(base.list, after.list) {
		if was, is := base.list.leaf(p), after.list.leaf(p); !samePatch(was, is) {
			all = append(all, change{p, was, is, base, after})
		}
	}
	return all
}

// Changed are the paths that differ between two snapshots in what a patch keeps, sorted. Of a renamed file both are there.
func Changed(base, after *Snapshot) (paths []string) {
	for _, c := range changes(base, after) {
		paths = append(paths, c.path)
	}
	return paths
}

// Patch writes what differs between two snapshots as git's patch: with binary contents, executable bit, links and renames. `git apply` makes of
// base exactly after, but for modes beside that bit and for empty directories. Attributes and filters do not count. limit bounds the patch, in bytes.
func Patch(ctx context.Context, base, after *Snapshot, w io.Writer, limit int64) error {
	scratch, err := os.MkdirTemp("", "oc-delegate-git-*")
	if err != nil {
		return fault.New(fault.Usage, "no temporary directory: %w", err).With("set TMPDIR to a directory that you can write")
	}
	defer os.RemoveAll(scratch)
	if err := emptyRepository(scratch, ""); err != nil {
		return fmt.Errorf("patch: %w", err)
	}
	all := changes(base, after)
	stream, feed := io.Pipe()
	go func() { feed.CloseWithError(feedChanges(ctx, feed, all)) }()
	env := append(ownEnv(scratch), "GIT_CEILING_DIRECTORIES="+scratch)
	err = runGit(ctx, scratch, env, stream, nil, "-c", "pack.compression=0", "-c", "core.bare=true", "fast-import", "--quiet", "--done", "--date-format=raw")
	stream.Close()
	if err != nil {
		return fmt.Errorf("patch: %w", err)
	}
	err = runGit(ctx, scratch, env, nil, func(out io.Reader) error {
		n, err := io.Copy(w, io.LimitReader(out, limit+1))
		if err == nil && n > limit {
			err = fault.New(fault.Usage, "the patch has more than %d bytes", limit)
		}
		return err
	}, "-c", "core.bare=true", "-c", "core.quotePath=true", "diff-tree", "-r", "-p", "--binary", "--full-index", renames(all), "-l2000", "--no-ext-diff", "--no-textconv", "--no-color", "--src-prefix=a/", "--dst-prefix=b/", "refs/heads/base", "refs/heads/after")
	if err != nil {
		return fmt.Errorf("patch: %w", err)
	}
	return nil
}

// renames is the option that finds them, or the one that does not. Where a link became a directory and was found again under another name, git apply
// refuses the patch ("beyond a symbolic link"): a rename says nothing of what kind the old path was.
func renames(all []change) string {
	links := map[string]bool{}
	for _, c := range all {
		if c.was != nil && c.was.mode.Type() == fs.ModeSymlink && c.is == nil {
			links[c.path] = true
		}
	}
	for _, c := range all {
		for up := path.Dir(c.path); up != "."; up = path.Dir(up) {
			if links[up] {
				return "--no-renames"
			}
		}
	}
	return "-M"
}

// feedChanges writes two commits for git fast-import, which hold the changed paths only.
func feedChanges(ctx context.Context, w io.Writer, all []change) error {
	out := bufio.NewWriterSize(w, 64<<10)
	for _, side := range []string{"base", "after"} {
		fmt.Fprintf(out, "commit refs/heads/%s\ncommitter x <x> 0 +0000\ndata 0\n", side)
		for _, c := range all {
			e, s := c.was, c.base
			if side == "after" {
				e, s = c.is, c.after
			}
			if e == nil {
				continue
			}
			if err := feedEntry(ctx, out, s, e); err != nil {
				return err
			}
		}
	}
	out.WriteString("done\n")
	return out.Flush()
}

func feedEntry(ctx context.Context, out *bufio.Writer, s *Snapshot, e *entry) error {
	mode, size, r := "100644", e.size, io.Reader(strings.NewReader(e.target))
	switch {
	case e.mode.IsRegular():
		kept, err := os.Open(filepath.Join(s.store, contentsName))
		if err != nil {
			return err
		}
		defer kept.Close()
		r = readContent(kept, *e)
		if e.mode&executable != 0 {
			mode = "100755"
		}
	default:
		mode, size = "120000", int64(len(e.target))
	}
	fmt.Fprintf(out, "M %s inline %s\ndata %d\n", mode, inC(e.path), size)
	_, err := io.Copy(out, untilDone(ctx, r))
	return cmp.Or(err, out.WriteByte('\n'))
}

// inC is a path in the quotes of C, as fast-import reads it.
func inC(path string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(path) {
		if c := path[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			fmt.Fprintf(&b, `\%03o`, c)
		} else {
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
