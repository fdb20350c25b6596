package worktree

import (
	"io/fs"
	"time"

	"opencode-delegate/internal/tree"
)

// A stat is what the system says of a file without reading it. The change time is the kernel's: no program can set it back.
type stat struct {
	mtime, ctime int64 // ns
	ino          uint64
}

func statOf(fi fs.FileInfo) stat {
	s := stat{mtime: fi.ModTime().UnixNano()}
	s.ctime, s.ino, _ = tree.ChangeTime(fi)
	return s
}

// unsettled is how long before a look a change may have been made that a second one would give the same times: file systems count them in
// steps, ext4 in 4 ms.
const unsettled = 50 * time.Millisecond

// untouched is the entry of a file that nobody has touched since the snapshot; nil when it may have been, or when there is no snapshot.
func (s *Snapshot) untouched(path string, fi fs.FileInfo) *entry {
	if _, _, known := tree.ChangeTime(fi); s == nil || !known {
		return nil
	}
	was := s.list.find(path)
	if was == nil || !was.mode.IsRegular() || was.size != fi.Size() || was.stat != statOf(fi) || was.ctime >= s.list.taken.Add(-unsettled).UnixNano() {
		return nil
	}
	return was
}
