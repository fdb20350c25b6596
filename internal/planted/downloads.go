package planted

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// maxFiles bounds the entries of all downloads together. Each takes about 200 bytes and 3 µs.
const maxFiles = 100_000

// A stamp is what the system records about an entry. A directory's times and size say nothing of what runs, and are 0.
type stamp struct {
	mode         fs.FileMode
	size         int64
	mtime, ctime int64 // ns; ctime and ino are 0 where the system has none
	ino          uint64
}

func stampOf(fi fs.FileInfo) stamp {
	if fi.IsDir() {
		return stamp{mode: fs.ModeDir}
	}
	ctime, ino := changed(fi)
	return stamp{fi.Mode(), fi.Size(), fi.ModTime().UnixNano(), ctime, ino}
}

// downloads are the places into which opencode fetches what it runs or loads.
func (s *State) downloadDirs() []string {
	return []string{
		filepath.Join(s.dirs.Cache, "bin"), filepath.Join(s.dirs.Cache, "node_modules"), filepath.Join(s.dirs.Cache, "packages"), filepath.Join(s.dirs.Cache, "skills"),
		filepath.Join(s.dirs.Data, "bin"), filepath.Join(s.dirs.Data, "node_modules"), filepath.Join(s.dirs.Data, "packages"),
	}
}

// walkDownloads records each entry, or, given a comparison, moves away what is new or changed: a new directory as a whole.
func (s *State) walkDownloads(ctx context.Context, c *check) {
	left := maxFiles
	for _, top := range s.downloadDirs() {
		err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if left--; left < 0 {
				return errors.New("too many files")
			}
			if ctx.Err() != nil {
				return fs.SkipAll
			}
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				s.problem(path, err)
				return nil
			}
			fi, err := os.Lstat(path)
			if err != nil {
				return nil // gone meanwhile
			}
			is := stampOf(fi)
			s.downloads[path] = is
			if c == nil {
				return nil
			}
			return c.download(path, top, is)
		})
		if err != nil {
			s.problem(top, err)
		}
	}
}

// download compares one entry. The place itself may appear: opencode makes it empty.
func (c *check) download(path, top string, is stamp) error {
	was, known := c.before.downloads[path]
	if was == is && known || path == top && is.mode.IsDir() {
		return nil
	}
	v := Violation{What: fmt.Sprintf("%s, which opencode can run or load, was changed", c.after.shown(path))}
	if !known {
		v.What = fmt.Sprintf("%s appeared where opencode keeps what it runs or loads", c.after.shown(path))
		v.Download = path != top
	}
	var err error
	v.Kept, err = c.move(path)
	c.report(v, err)
	if is.mode.IsDir() {
		return fs.SkipDir
	}
	return nil
}
