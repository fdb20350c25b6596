package worktree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/tree"
)

// maxDepth bounds the levels of directories: each open level holds a file descriptor.
const maxDepth = 256

// keptBits are the bits of a mode that a list holds.
const keptBits = fs.ModeType | fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

// A coverage decides what of a directory a list holds.
type coverage interface {
	// enter is told of the top ("") and of each directory that holds a .git, before what is in it is looked at; git says that it holds one. Nobody asks for
	// holes meanwhile.
	enter(ctx context.Context, path string, git bool) error
	// hole says why a path is not covered; empty when it is. size is that of a file. It may be asked by several at once.
	hole(path string, dir bool, size, maxIgnored int64) string
}

// A walker lists a directory. Whoever finds a free slot lets another one go beside him.
type walker struct {
	ctx      context.Context
	o        Options
	cover    coverage
	covering sync.RWMutex
	keeper   keeper
	slots    chan struct{}
	rooms    sync.Pool

	mu   sync.Mutex
	list list
	left int
	err  error // the first one
}

// walk lists dir. It goes from directory to directory by open handles, follows no link and opens only what is a regular file.
func walk(ctx context.Context, dir string, o Options, cover coverage, k keeper) (list, error) {
	taken := time.Now()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return list{}, err
	}
	defer root.Close()
	w := &walker{ctx: ctx, o: o, cover: cover, keeper: k, slots: make(chan struct{}, runtime.GOMAXPROCS(0)), left: o.MaxEntries}
	w.list = list{dir: dir, taken: taken}
	w.rooms.New = func() any { return newRoom() }
	names, err := w.names(root)
	if err == nil {
		w.dir(root, "", names, 0)
		err = w.err
	}
	if err != nil {
		return list{}, err
	}
	slices.SortFunc(w.list.entries, func(a, b entry) int { return strings.Compare(a.path, b.path) })
	slices.SortFunc(w.list.holes, func(a, b Hole) int { return strings.Compare(a.Path, b.Path) })
	return w.list, nil
}

// fail ends the walk; nil does not.
func (w *walker) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
}

func (w *walker) failed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil && w.ctx.Err() != nil {
		w.err = context.Cause(w.ctx)
	}
	return w.err != nil
}

// portion is how many entries of a directory are looked at by one.
const portion = 64

// dir lists what a directory holds. at is its path, empty for the top.
func (w *walker) dir(root *os.Root, at string, names []string, depth int) {
	if depth > maxDepth {
		w.fail(fault.New(fault.Usage, "there are more than %d levels of directories at %s", maxDepth, tree.Quote(at)))
	}
	if git := slices.ContainsFunc(names, isDotGit); git || at == "" {
		w.covering.Lock()
		err := w.cover.enter(w.ctx, at, git)
		w.covering.Unlock()
		w.fail(err)
	}
	if w.failed() {
		return
	}
	var others sync.WaitGroup
	defer others.Wait()
	for some := range slices.Chunk(names, portion) {
		select {
		case w.slots <- struct{}{}:
			others.Go(func() {
				w.portion(root, at, some, depth)
				<-w.slots
			})
		default:
			w.portion(root, at, some, depth)
		}
	}
}

// found is what one portion comes to.
type found struct {
	entries []entry
	holes   []Hole
}

func (f *found) hole(path, why string, git bool) { f.holes = append(f.holes, Hole{path, why, git}) }

func (w *walker) portion(root *os.Root, at string, names []string, depth int) {
	var f found
	for _, name := range names {
		if w.failed() {
			return
		}
		path := name
		if at != "" {
			path = at + "/" + name
		}
		if err := w.entry(&f, root, name, path, depth); err != nil && !errors.Is(err, fs.ErrNotExist) {
			w.fail(fmt.Errorf("%s: %w", tree.Quote(path), err))
			return
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list.entries = append(w.list.entries, f.entries...)
	w.list.holes = append(w.list.holes, f.holes...)
}

func (w *walker) names(root *os.Root) ([]string, error) {
	f, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []string
	for {
		if err := w.ctx.Err(); err != nil {
			return nil, context.Cause(w.ctx)
		}
		some, err := f.Readdirnames(4096)
		all = append(all, some...)
		w.mu.Lock()
		w.left -= len(some)
		much := w.left < 0
		w.mu.Unlock()
		if much {
			return nil, fault.New(fault.Usage, "there are more than %d files and directories", w.o.MaxEntries)
		}
		if err == io.EOF {
			slices.Sort(all)
			return all, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (w *walker) entry(f *found, root *os.Root, name, path string, depth int) error {
	if isDotGit(name) {
		f.hole(path, "a .git is not covered", true)
		return nil
	}
	fi, err := root.Lstat(name)
	if err != nil {
		return err
	}
	w.covering.RLock()
	why := w.cover.hole(path, fi.IsDir(), fi.Size(), w.o.MaxIgnored)
	w.covering.RUnlock()
	if why != "" {
		f.hole(path, why, false)
		return nil
	}
	e := entry{path: path, mode: fi.Mode() & keptBits}
	switch fi.Mode().Type() {
	case fs.ModeDir:
		return w.sub(f, root, name, e, depth)
	case fs.ModeSymlink:
		if e.target, err = root.Readlink(name); err != nil {
			return err
		}
		e.mode = fs.ModeSymlink // its other bits mean nothing and cannot be set
	case 0:
		err := w.file(root, name, &e, fi)
		if errors.Is(err, fs.ErrPermission) {
			f.hole(path, "it cannot be read", false)
			return nil
		}
		if err != nil {
			return err
		}
	default:
		f.hole(path, "it is no file, link or directory", false)
		return nil
	}
	f.entries = append(f.entries, e)
	return nil
}

func (w *walker) sub(f *found, root *os.Root, name string, e entry, depth int) error {
	var names []string
	sub, err := root.OpenRoot(name)
	if err == nil {
		defer sub.Close()
		names, err = w.names(sub)
	}
	if errors.Is(err, fs.ErrPermission) {
		f.hole(e.path, "it cannot be read", false)
		return nil
	}
	if err != nil {
		return err
	}
	f.entries = append(f.entries, e)
	w.dir(sub, e.path, names, depth+1)
	return nil
}

// file reads one file, keeps its content where that is asked for, and notes what was read. One that nobody has touched since an earlier snapshot
// is not read.
func (w *walker) file(root *os.Root, name string, e *entry, fi fs.FileInfo) error {
	if was := w.o.Since.untouched(e.path, fi); was != nil {
		e.content, e.stat = was.content, was.stat
		return nil
	}
	f, err := root.OpenFile(name, os.O_RDONLY|openNoBlock, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if fi, err = f.Stat(); err != nil {
		return err
	}
	if !fi.Mode().IsRegular() {
		return fs.ErrNotExist // it was replaced meanwhile
	}
	e.mode, e.stat = fi.Mode()&keptBits, statOf(fi)
	room := w.rooms.Get().(*room)
	defer w.rooms.Put(room)
	e.content, err = w.keeper.keep(w.ctx, f, room)
	return err
}

// untilDone is a reader that ends with the context: a file may be long, or grow for ever.
func untilDone(ctx context.Context, r io.Reader) io.Reader {
	return readerFunc(func(p []byte) (int, error) {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		return r.Read(p)
	})
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
