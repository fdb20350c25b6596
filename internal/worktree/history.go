package worktree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/plain"
	"opencode-delegate/internal/tree"
)

// A History is what the worker committed. It is told apart from the result: that is the state of the files, whatever the commits say.
type History struct {
	Head    string   // the commit that the copy's HEAD is at; empty when there is none that can be had
	Branch  string   // the one that HEAD is at, a full ref; empty when it is detached
	Commits []Commit // those of Head that the base does not have, the oldest first, the newest 10,000 at most
	All     int      // how many there are
	// Rewritten says that Head does not descend from the base: a reset to an older commit, an amended base, an orphan branch.
	Rewritten bool
	// Lost is one sentence that says why there are no commits to be had though the worker's git directory is another than at the start. The result is not affected.
	Lost string
	// Elsewhere are other refs of the copy that are not at the base: what is on them does not land. At most 100.
	Elsewhere []string
}

// A Commit of the worker. Nothing in it is to be trusted.
type Commit struct {
	ID             string
	Subject        string // one line of printable text, as are Author and Email
	Author, Email  string
	Time           time.Time // of the author
	SeveralParents bool
}

// A past is a git directory of our own with the commits of a worker in it. What they hold was read again and checked by git index-pack --strict: each object is what its
// name says, each that they need is there, and no tree holds a path that would be dangerous to check out.
type past struct {
	History
	base    string
	dir     string
	env     []string
	scratch string
}

func (p *past) close() { os.RemoveAll(p.scratch) }

// Commits tells what the worker committed. Nothing of the worker may be alive. No git reads the copy's git directory: HEAD and refs are read by us, and objects
// are copied first; whatever else is there (configuration, hooks, attributes, alternates, replaced objects, grafts) counts for nothing. An
// error is one of ours; what the worker did is in History.
func (c *Copy) Commits(ctx context.Context) (History, error) {
	p, err := c.past(ctx)
	if err != nil {
		return History{}, err
	}
	defer p.close()
	return p.History, nil
}

// Bundle writes the worker's commits in the format of git bundle, from which `git fetch FILE` or `git pull FILE` take them where the base is. It reports whether
// there are any. The patch beside it says everything that is to land; the bundle keeps who made which step of it. They are two files because
// no one file is both: a mail-style series loses merges, line ends and messages that look like mail, and git apply refuses some
// series whose sum it takes. limit bounds the bundle, in bytes.
func (c *Copy) Bundle(ctx context.Context, w io.Writer, limit int64) (bool, error) {
	p, err := c.past(ctx)
	if err != nil {
		return false, err
	}
	defer p.close()
	if p.All == 0 {
		return false, nil
	}
	ref := c.head()
	err = runGit(ctx, p.dir, p.env, nil, nil, "update-ref", ref, p.Head)
	if err == nil {
		err = runGit(ctx, p.dir, p.env, nil, atMost(w, limit, "the bundle"), "bundle", "create", "-q", "-", ref, "^"+p.base)
	}
	if err != nil {
		return false, fmt.Errorf("bundle: %w", err)
	}
	return true, nil
}

// atMost copies what is read to w and refuses more than limit bytes.
func atMost(w io.Writer, limit int64, what string) func(io.Reader) error {
	return func(out io.Reader) error {
		n, err := io.Copy(w, io.LimitReader(out, limit+1))
		if err == nil && n > limit {
			err = fault.New(fault.Usage, "%s has more than %d bytes", what, limit)
		}
		return err
	}
}

// past gathers what the worker committed.
func (c *Copy) past(ctx context.Context) (*past, error) {
	scratch, err := os.MkdirTemp("", "oc-delegate-git-*")
	if err != nil {
		return nil, fault.New(fault.Usage, "no temporary directory: %w", err).With("set TMPDIR to a directory that you can write")
	}
	p := &past{base: c.record.Base, scratch: scratch, dir: filepath.Join(scratch, "checked")}
	p.env = ownEnv(p.dir)
	err = c.borrowing(p.dir)
	if err == nil {
		err = p.read(ctx, c)
	}
	if lost := (*lostError)(nil); errors.As(err, &lost) {
		p.History = History{Lost: lost.why, Rewritten: true}
		err = nil
	}
	if err != nil {
		p.close()
		return nil, fmt.Errorf("the commits in the copy: %w", err)
	}
	return p, nil
}

// A lostError says why there are no commits; it is no fault of ours.
type lostError struct{ why string }

func (l *lostError) Error() string { return l.why }

func lost(format string, args ...any) error {
	return &lostError{plain.Line(fmt.Sprintf(format, args...), 200)}
}

// borrowing makes a git directory of our own that has the objects of the user's repository.
func (c *Copy) borrowing(dir string) error {
	own := filepath.Join(c.place, ownGitName)
	format, _ := configured(filepath.Join(own, "config"), "extensions.objectformat")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	if err := emptyRepository(dir, format); err != nil {
		return err
	}
	if err := cloneFile(filepath.Join(own, "shallow"), filepath.Join(dir, "shallow")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return cloneFile(filepath.Join(own, "objects", "info", "alternates"), filepath.Join(dir, "objects", "info", "alternates"))
}

// read finds HEAD, brings its commits into our git directory and lists them.
func (p *past) read(ctx context.Context, c *Copy) error {
	tree, err := os.OpenRoot(c.Tree())
	if err != nil {
		return lost("the copy is gone")
	}
	defer tree.Close()
	if fi, err := tree.Lstat(".git"); err != nil || !fi.IsDir() {
		return lost("the copy has no git directory any more")
	}
	git, err := tree.OpenRoot(".git")
	if err != nil {
		return lost("the git directory of the copy cannot be read")
	}
	defer git.Close()
	r := &refs{root: git}
	head, branch, err := r.head()
	if err != nil {
		return err
	}
	began, err := c.began()
	if err != nil {
		return err
	}
	if p.Head, p.Branch, p.Elsewhere = head, branch, r.elsewhere(branch, p.base, began); head == p.base {
		return nil
	}
	if err := p.bring(ctx, c, git, head); err != nil {
		return err
	}
	if err := p.list(ctx); err != nil {
		return err
	}
	return p.lent(ctx, c)
}

// began are the packed refs that the copy began with.
func (c *Copy) began() (map[string]string, error) {
	own, err := os.OpenRoot(filepath.Join(c.place, ownGitName))
	if err != nil {
		return nil, err
	}
	defer own.Close()
	r := &refs{root: own}
	err = r.readPacked()
	return r.packed, err
}

// lent refuses commits that hold what was linked or copied into the copy.
func (p *past) lent(ctx context.Context, c *Copy) error {
	if p.All == 0 || len(c.record.Link)+len(c.record.Copied) == 0 {
		return nil
	}
	return touched(ctx, p.run, p.Head, p.base, func(name string) error {
		if c.depends(name) {
			return lost("they hold %s, which was lent to the copy and never lands", tree.Quote(name))
		}
		return nil
	})
}

// bring takes the objects that head needs and the base does not have: copied, packed, unpacked and checked.
func (p *past) bring(ctx context.Context, c *Copy, git *os.Root, head string) error {
	raw := filepath.Join(p.scratch, "raw")
	if err := c.borrowing(raw); err != nil {
		return err
	}
	if err := takeObjects(ctx, git, raw); err != nil {
		return err
	}
	err := carry(ctx, ownEnv(raw), head+"\n^"+p.base+"\n", p.dir, p.env)
	if err == nil {
		err = runGit(ctx, p.dir, p.env, nil, nil, "rev-list", "--objects", "--quiet", head, "^"+p.base)
	}
	if said := (*refusal)(nil); errors.As(err, &said) {
		return lost("git does not take the commits in the copy: %s", said.said)
	}
	return err
}

// maxPack bounds what is brought from a copy, in bytes.
const maxPack = 2 << 30

// carry brings the objects that revs (lines as git rev-list reads them) name from one repository into another, and checks each. Both are known by the environment of their git.
func carry(ctx context.Context, from []string, revs, dir string, to []string) error {
	stream, feed := io.Pipe()
	sent := make(chan error, 1)
	go func() {
		err := runGit(ctx, dir, from, strings.NewReader(revs), func(out io.Reader) error { _, err := io.Copy(feed, out); return err },
			"pack-objects", "--revs", "--stdout", "-q", "--delta-base-offset")
		feed.CloseWithError(err)
		sent <- err
	}()
	err := runGit(ctx, dir, to, stream, nil, "index-pack", "--stdin", "--strict", fmt.Sprint("--max-input-size=", maxPack))
	stream.Close()
	if serr := <-sent; serr != nil && !errors.Is(serr, io.ErrClosedPipe) {
		return serr
	}
	return err
}

// list asks our git directory for the commits.
func (p *past) list(ctx context.Context) error {
	err := runGit(ctx, p.dir, p.env, nil, nil, "merge-base", "--is-ancestor", p.base, p.Head)
	if said := (*refusal)(nil); errors.As(err, &said) && said.code == 1 {
		p.Rewritten, err = true, nil
	}
	if err != nil {
		return err
	}
	err = runGit(ctx, p.dir, p.env, nil, func(out io.Reader) error {
		text, err := io.ReadAll(io.LimitReader(out, 64))
		if err == nil {
			p.All, err = strconv.Atoi(strings.TrimSpace(string(text)))
		}
		return err
	}, "rev-list", "--count", p.Head, "^"+p.base)
	if err != nil {
		return err
	}
	return runGit(ctx, p.dir, p.env, nil, func(out io.Reader) error {
		return each(io.LimitReader(out, 64<<20), 0, func(line string) error {
			part := strings.SplitN(line, "\x1f", 6)
			if len(part) != 6 {
				return nil // a name with such a character in it; the commit is counted
			}
			at, _ := strconv.ParseInt(part[2], 10, 64)
			p.Commits = append(p.Commits, Commit{
				ID: part[0], SeveralParents: strings.Contains(part[1], " "), Time: time.Unix(at, 0).UTC(),
				Author: plain.Line(part[3], 200), Email: plain.Line(part[4], 200), Subject: plain.Line(part[5], 500),
			})
			return nil
		})
	}, "log", "-z", "--topo-order", "--reverse", "--max-count=10000", "--no-decorate", "--no-color", "--no-show-signature", "--no-notes", "--no-mailmap", "--encoding=UTF-8",
		"--format=tformat:%H%x1f%P%x1f%at%x1f%an%x1f%ae%x1f%s", p.Head, "^"+p.base)
}
