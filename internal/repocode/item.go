package repocode

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// kind says how an item is compared and put back.
type kind int

const (
	kindFile   kind = iota // as a whole: attributes, commondir, a program that the configuration names
	kindConfig             // key by key
	kindHook               // as a whole, with its mode
	kindDir                // only what it is: a directory that becomes a link is a change, its creation is not
	kindGit                // a .git: directory, or file that names one
)

// form is what stands at a path.
type form int

const (
	absent form = iota
	regular
	directory
	symlink
	special  // FIFO, socket, device: never opened
	overfull // a hooks directory with more than a repository can sensibly hold
)

var formNames = [...]string{"nothing", "a file", "a directory", "a symbolic link", "a special file", "a directory with too many entries"}

func (f form) String() string { return formNames[f] }

// An item is one place that decides what git runs, as it was at one moment. The zero value is an absent one.
type item struct {
	kind  kind
	owner string // the git directory that it belongs to; empty for one in the work tree
	form  form
	mode  fs.FileMode // permission bits
	text  []byte      // content, or target of a symbolic link; nil when large
	sum   [sha256.Size]byte
	large bool // content is not in text: above maxText, or beyond the budget
	bad   error
}

func (a item) equal(b item) bool {
	return a.form == b.form && a.mode == b.mode && a.sum == b.sum && (a.bad == nil) == (b.bad == nil)
}

// maxText is the largest content in bytes that is held to be put back; see also budget.
const maxText = 4 << 20

// budget bounds the bytes that one state holds.
const budget = 24 << 20

// readItem looks at a path without following it. A path that cannot be examined has bad set.
func readItem(path string, k kind, owner string, left *int64) item {
	it := item{kind: k, owner: owner}
	fi, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) || isNotDir(err):
		return it
	case err != nil:
		it.form, it.bad = special, err
		return it
	}
	switch mode := fi.Mode(); {
	case mode.IsDir():
		it.form, it.mode = directory, mode.Perm()
		return it
	case mode&fs.ModeSymlink != 0:
		it.form = symlink
		target, err := os.Readlink(path)
		it.text, it.bad = []byte(target), err
		it.sum = sha256.Sum256(it.text)
		return it
	case !mode.IsRegular():
		it.form = special
		return it
	}
	it.form, it.mode = regular, fi.Mode().Perm()|fi.Mode()&(fs.ModeSetuid|fs.ModeSetgid)
	it.text, it.sum, it.large, it.bad = readContent(path, min(maxText, *left))
	*left -= int64(len(it.text))
	return it
}

// readContent reads a regular file whole, or only its checksum when it is larger than limit.
func readContent(path string, limit int64) (text []byte, sum [sha256.Size]byte, large bool, err error) {
	f, err := openRegular(path, false)
	if err != nil {
		return nil, sum, false, err
	}
	defer f.Close()
	h := sha256.New()
	var b bytes.Buffer
	if _, err = io.Copy(io.MultiWriter(h, &b), io.LimitReader(f, limit+1)); err != nil {
		return nil, sum, false, err
	}
	if int64(b.Len()) > limit {
		if _, err = io.Copy(h, f); err != nil {
			return nil, sum, false, err
		}
		return nil, [sha256.Size]byte(h.Sum(nil)), true, nil
	}
	return b.Bytes(), [sha256.Size]byte(h.Sum(nil)), false, nil
}

// openRegular opens a regular file for reading. It blocks on nothing, and follows a link at the end of path only if asked to.
func openRegular(path string, follow bool) (*os.File, error) {
	flags := os.O_RDONLY | openNoBlock
	if !follow {
		flags |= openNoFollow
	}
	f, err := os.OpenFile(path, flags, 0)
	if err != nil {
		return nil, err
	}
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = fmt.Errorf("%s: not a regular file", path)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// readRegular reads a regular file of at most limit bytes.
func readRegular(path string, limit int64, follow bool) ([]byte, error) {
	f, err := openRegular(path, follow)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("%s: larger than %d bytes", path, limit)
	}
	return text, err
}

// isNotDir reports that a parent on the way is no directory, so that nothing can stand at the path.
func isNotDir(err error) bool { return errors.Is(err, syscall.ENOTDIR) }
