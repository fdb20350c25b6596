// Package tree says which files of a directory changed during a run, from what stands on the disk before and after.
//
//	before, err := tree.Take(ctx, dir, tree.Options{})
//	…the run…
//	after, err := tree.Take(ctx, dir, tree.Options{Since: before})
//	changes := tree.Compare(ctx, before, after)
//
// git's opinion is not asked for: a run may commit, stash, reset, or ignore what it changed, and the list is the same. A file that
// was dirty before and is as dirty now is not a change; ignored files, files of submodules and of nested repositories are files like
// any other.
//
// A file is first compared by size, modification time, change time, inode and mode. Where those differ, its content decides: a file that
// was rewritten with the same bytes is no change. Contents are known of the smallest files first, up to Options.HashBytes; beyond
// that a difference of the times counts as modified. A symbolic link is compared by its target and never followed; what is neither file, link nor
// directory is never opened. Of a directory only the mode counts.
//
// Not looked at: whatever lies in a .git (package repocode looks there), owners and extended attributes, and what
// opencode itself writes into a project, see ownChange.
//
// When any part could not be examined, Changes.Known is false and says why; there is no list then.
package tree

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Options bound the work of Take. The zero value is right for a run.
type Options struct {
	// Since is the snapshot before the run, of the same directory: contents of files that it knows and that nobody touched
	// are taken from it. The result is the same without it, at the price of reading them again.
	Since *Snapshot
	// MaxEntries bounds the files and directories that are looked at; more make the changes unknown. 0 means 1,000,000, about 200 MB.
	MaxEntries int
	// HashBytes bounds the contents that are read, in bytes. 0 means 256 MiB, negative none.
	HashBytes int64
	// KeepBytes bounds the contents held in memory for counting lines, in bytes; what git's object store holds is
	// not held. 0 means 8 MiB, negative none.
	KeepBytes int64
	// Git is the git program that reads old contents from the object store. Empty means the one in PATH. Without git, insertions and
	// deletions may be unknown; the list of files is not affected.
	Git string
	// Cage is closed around that git in [Compare], where the snapshot is the later of the two: a run may have written what git reads. nil is none.
	Cage Cage
}

// A Cage wraps a command so that it can change nothing; argv[0] is an absolute path. env is what its environment needs beyond.
type Cage func(argv []string) (wrapped, env []string, err error)

const (
	defaultMaxEntries = 1_000_000
	defaultHashBytes  = 256 << 20
	defaultKeepBytes  = 8 << 20

	// maxHashFile is the largest file whose content is read, in bytes.
	maxHashFile = 64 << 20
	// maxText is the largest file whose lines are compared, in bytes.
	maxText = 2 << 20
	// maxDepth bounds the levels of directories: each open level holds a file descriptor.
	maxDepth = 256
)

func (o Options) withDefaults() Options {
	o.MaxEntries = cmp.Or(o.MaxEntries, defaultMaxEntries)
	o.HashBytes = cmp.Or(o.HashBytes, defaultHashBytes)
	o.KeepBytes = cmp.Or(o.KeepBytes, defaultKeepBytes)
	return o
}

// A Snapshot is a directory as it was at one moment. It is not changed once Take has returned it.
type Snapshot struct {
	dir     string // absolute, links resolved
	git     string
	cage    Cage
	taken   time.Time
	entries []entry  // in the order of compareNames
	stores  []string // object directories of the repositories that the directory belongs to or holds
	closed  []string // directories that neither we nor the run could look into
	reason  string   // why the snapshot is not whole; empty when it is
}

// An entry is one file, link, special file or directory.
type entry struct {
	path         string // relative to the snapshot's directory, with slashes
	size         int64
	mtime, ctime int64 // ns; ctime is 0 where the system has none
	ino          uint64
	mode         fs.FileMode // type and permission bits
	content      *content    // nil when not known
}

// A content is what a file held. It is shared between snapshots.
type content struct {
	sum   [sha256.Size]byte // of the bytes, or of a link's target
	blob  [20]byte          // git's SHA-1 name of it
	lines int               // as git counts them; 0 for a binary file
	text  []byte            // the bytes, when they are held
}

// Take looks at every file below dir. An error means that dir itself cannot be used; everything else that
// goes wrong, the end of ctx included, makes the changes unknown in Compare.
func Take(ctx context.Context, dir string, o Options) (*Snapshot, error) {
	o = o.withDefaults()
	real, err := filepath.Abs(dir)
	if err == nil {
		real, err = filepath.EvalSymlinks(real)
	}
	if err != nil {
		return nil, fmt.Errorf("fingerprint of %s: %w", dir, err)
	}
	root, err := os.OpenRoot(real)
	if err != nil {
		return nil, fmt.Errorf("fingerprint of %s: %w", dir, err)
	}
	defer root.Close()
	s := &Snapshot{dir: real, git: o.Git, cage: o.Cage, taken: time.Now()}
	w := &walker{ctx: ctx, s: s, left: o.MaxEntries}
	w.dir(root, "", 0)
	s.stores = objectStores(real, w.repositories)
	if s.reason == "" {
		h := &hasher{ctx: ctx, s: s, root: root, bytes: o.HashBytes}
		h.keep.Store(max(o.KeepBytes, 0))
		h.run(o.Since)
	}
	if err := ctx.Err(); err != nil {
		s.fail("the fingerprint was not finished: " + context.Cause(ctx).Error())
	}
	return s, nil
}

// fail records the first reason why a snapshot is not whole.
func (s *Snapshot) fail(reason string) {
	if s.reason == "" {
		s.reason = reason
		s.entries = nil
	}
}

// Files is the number of files in the snapshot, directories not counted; -1 when it is not whole.
func (s *Snapshot) Files() int {
	if s.reason != "" {
		return -1
	}
	n := 0
	for i := range s.entries {
		if !s.entries[i].mode.IsDir() {
			n++
		}
	}
	return n
}

// compareNames orders paths by their parts: a directory's content comes directly behind it.
func compareNames(a, b string) int {
	for i := range min(len(a), len(b)) {
		if x, y := a[i], b[i]; x != y {
			switch {
			case x == '/':
				return -1
			case y == '/':
				return 1
			}
			return cmp.Compare(x, y)
		}
	}
	return cmp.Compare(len(a), len(b))
}

// find returns the entry of a path.
func (s *Snapshot) find(path string) *entry {
	i, ok := slices.BinarySearchFunc(s.entries, path, func(e entry, p string) int { return compareNames(e.path, p) })
	if !ok {
		return nil
	}
	return &s.entries[i]
}
