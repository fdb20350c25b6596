package worktree

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/tree"
)

// Dependencies are fingerprints of what a snapshot does not cover, by path, and of directories of dependencies that came after it. A fingerprint is made of names, modes,
// sizes, modification times, change times and inodes: no content is read. A program cannot set a change time back; where the system has none, a
// change with the same size and time is not seen.
type Dependencies map[string][sha256.Size]byte

// maxDependencies bounds the files and directories that are looked at.
const maxDependencies = 5_000_000

// Dependencies takes the fingerprints as they are now. For two of one snapshot, one before and one after a run, [ChangedDependencies] says what the run has changed.
func (s *Snapshot) Dependencies(ctx context.Context) (Dependencies, error) {
	root, err := os.OpenRoot(s.list.dir)
	if err != nil {
		return nil, fmt.Errorf("dependencies in %s: %w", s.list.dir, err)
	}
	defer root.Close()
	f := &fingerprinter{ctx: ctx, slots: make(chan struct{}, runtime.GOMAXPROCS(0))}
	f.left.Store(maxDependencies)
	found := Dependencies{}
	holes := newCovered(s.list).holes
	for name := range holes {
		if found[name], err = f.entry(root, name, 0); err != nil {
			return nil, fmt.Errorf("dependencies in %s: %w", s.list.dir, err)
		}
	}
	err = f.younger(root, "", holes, func(name string) (err error) {
		if s.list.find(name) == nil {
			found[name], err = f.entry(root, name, 0)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("dependencies in %s: %w", s.list.dir, err)
	}
	return found, nil
}

// ChangedDependencies names, sorted, what is in one of the two only, or is another in both.
func ChangedDependencies(before, after Dependencies) []string {
	var changed []string
	for _, name := range keysOf(before, after) {
		was, there := before[name]
		if is, still := after[name]; there != still || was != is {
			changed = append(changed, name)
		}
	}
	return changed
}

type fingerprinter struct {
	ctx   context.Context
	slots chan struct{}
	left  atomic.Int64
}

// younger calls f for each directory that is named like one of dependencies; what is in one of those, or in a hole, is not looked at.
func (f *fingerprinter) younger(root *os.Root, at string, holes map[string]string, found func(name string) error) error {
	dir, err := root.Open(path.Join(".", at))
	if err != nil {
		return nil // somebody has closed or removed it
	}
	defer dir.Close()
	entries, _ := dir.ReadDir(-1)
	if err := f.spend(len(entries)); err != nil {
		return err
	}
	for _, d := range entries {
		name := path.Join(at, d.Name())
		if _, hole := holes[name]; hole || !d.IsDir() || isDotGit(d.Name()) {
			continue
		}
		if isDependency(root.Name(), name) {
			err = found(name)
		} else {
			err = f.younger(root, name, holes, found)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *fingerprinter) spend(n int) error {
	if f.ctx.Err() != nil {
		return context.Cause(f.ctx)
	}
	if f.left.Add(int64(-n)) < 0 {
		return fault.New(fault.Usage, "there are more than %d files in directories of dependencies", maxDependencies)
	}
	return nil
}

// entry is the fingerprint of a path: of its own state and, of a directory, of what is in it. What cannot be looked into counts as it is from outside.
func (f *fingerprinter) entry(root *os.Root, name string, depth int) (sum [sha256.Size]byte, err error) {
	fi, err := root.Lstat(name)
	if err != nil {
		return sum, nil
	}
	if !fi.IsDir() {
		return sha256.Sum256(appendStat(nil, fi)), nil
	}
	if depth > maxDepth {
		return sum, fault.New(fault.Usage, "there are more than %d levels of directories at %s", maxDepth, tree.Quote(name))
	}
	sub, err := root.OpenRoot(name)
	if err != nil {
		return sha256.Sum256(appendStat(nil, fi)), nil
	}
	defer sub.Close()
	return f.dir(sub, fi, depth)
}

func (f *fingerprinter) dir(root *os.Root, own fs.FileInfo, depth int) (sum [sha256.Size]byte, err error) {
	names, err := allNames(root)
	if err != nil {
		return sha256.Sum256(appendStat(nil, own)), nil
	}
	if err := f.spend(len(names)); err != nil {
		return sum, err
	}
	text := binary.LittleEndian.AppendUint32(nil, uint32(own.Mode()))
	subs := make([][sha256.Size]byte, len(names))
	errs := make([]error, len(names))
	var others sync.WaitGroup
	for i, name := range names {
		text = append(append(text, name...), 0)
		fi, err := root.Lstat(name)
		switch {
		case err != nil:
		case !fi.IsDir():
			text = appendStat(text, fi)
		default:
			select {
			case f.slots <- struct{}{}:
				others.Go(func() {
					subs[i], errs[i] = f.entry(root, name, depth+1)
					<-f.slots
				})
			default:
				subs[i], errs[i] = f.entry(root, name, depth+1)
			}
		}
	}
	others.Wait()
	for i := range subs {
		text = append(text, subs[i][:]...)
	}
	return sha256.Sum256(text), errors.Join(errs...)
}

func allNames(root *os.Root) ([]string, error) {
	f, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

// appendStat adds what the system says of a file. The times of a directory are left out: they change with what is made in it and removed again.
func appendStat(text []byte, fi fs.FileInfo) []byte {
	s := statOf(fi)
	for _, n := range []uint64{uint64(fi.Mode()), uint64(fi.Size()), uint64(s.mtime), uint64(s.ctime), s.ino} {
		text = binary.LittleEndian.AppendUint64(text, n)
	}
	return text
}
