package worktree

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"

	"opencode-delegate/internal/lazyregexp"
)

// pointer is what git keeps of a file of Git LFS: https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md.
var pointer = lazyregexp.New(`^version https://git-lfs\.github\.com/spec/v1\n(?:ext-[^\n]*\n)*oid sha256:([0-9a-f]{64})\nsize ([0-9]{1,18})\n$`)

// maxPointer is the length of a pointer by the same text, in bytes.
const maxPointer = 1024

// large puts the contents of Git LFS in the place of their pointers, where the user's repository has them and git-lfs is there, without which it
// would be the pointer that the user sees. The worker's own git-lfs finds those contents too, by the alternates.
func (t *transfer) large(common string, names []string) error {
	if _, err := exec.LookPath("git-lfs"); err != nil {
		return nil
	}
	for _, name := range names {
		if err := t.largeOne(common, name); err != nil {
			return err
		}
	}
	return nil
}

func (t *transfer) largeOne(common, name string) error {
	fi, err := t.to.Lstat(name)
	if err != nil || !fi.Mode().IsRegular() || fi.Size() > maxPointer {
		return err
	}
	text, err := t.to.ReadFile(name)
	if err != nil {
		return err
	}
	says := pointer().FindSubmatch(text)
	if says == nil {
		return nil
	}
	id := string(says[1])
	size, err := strconv.ParseInt(string(says[2]), 10, 64)
	if err != nil {
		return nil
	}
	in, err := os.OpenFile(filepath.Join(common, "lfs", "objects", id[:2], id[2:4], id), os.O_RDONLY|openNoBlock, 0)
	if err != nil {
		return nil // the pointer stays
	}
	defer in.Close()
	if have, err := in.Stat(); err != nil || !have.Mode().IsRegular() || have.Size() != size {
		return nil
	}
	tmp := path.Join(path.Dir(name), unfinished)
	out, err := t.to.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	h := sha256.New()
	_, err = io.Copy(io.MultiWriter(out, h), untilDone(t.ctx, in))
	if err = cmp.Or(err, out.Chmod(fi.Mode().Perm()), out.Close()); err != nil {
		return err
	}
	if hex.EncodeToString(h.Sum(nil)) != id {
		return t.to.Remove(tmp)
	}
	return t.to.Rename(tmp, name)
}
