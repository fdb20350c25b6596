package worktree

import (
	"cmp"
	"context"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// pour puts everything that a snapshot holds into dir, an empty directory of ours in which nobody else is at work.
func (s *Snapshot) pour(ctx context.Context, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	kept, err := os.Open(filepath.Join(s.store, contentsName))
	if err != nil {
		return err
	}
	defer kept.Close()
	for i := range s.list.entries {
		if e := &s.list.entries[i]; e.mode.IsDir() {
			if err := root.Mkdir(e.path, 0o700); err != nil {
				return err
			}
		}
	}
	runs := byDirectory(s.list.entries, func(e entry) string { return e.path })
	err = inParallel(ctx, len(runs), func(i int) error { return pourRun(ctx, root, kept, runs[i]) })
	for i := range slices.Backward(s.list.entries) {
		if e := &s.list.entries[i]; e.mode.IsDir() && err == nil {
			err = root.Chmod(e.path, e.mode.Perm())
		}
	}
	return err
}

// pourRun puts the files and links of one directory there.
func pourRun(ctx context.Context, root *os.Root, kept io.ReaderAt, run []entry) error {
	dir, err := root.OpenRoot(path.Dir(run[0].path))
	if err != nil {
		return err
	}
	defer dir.Close()
	for i := range run {
		switch e := &run[i]; e.mode.Type() {
		case fs.ModeSymlink:
			err = dir.Symlink(e.target, path.Base(e.path))
		case 0:
			err = pourFile(ctx, dir, kept, e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func pourFile(ctx context.Context, dir *os.Root, kept io.ReaderAt, e *entry) error {
	f, err := dir.OpenFile(path.Base(e.path), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, untilDone(ctx, readContent(kept, *e)))
	return cmp.Or(err, f.Chmod(e.mode.Perm()), f.Close())
}

// inParallel calls f for 0 to n-1, by as many workers as there are processors, until one call fails.
func inParallel(ctx context.Context, n int, f func(i int) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				if err := f(i); err != nil {
					stop(err)
				}
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}
