package planted

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// kind says how an item is compared.
type kind int

const (
	whole     kind = iota // a hook, attributes, commondir: any new content
	configure             // git configuration, key by key
	place                 // a directory: only a link in its stead matters
	auth
	models
)

// An item is one file, or what stands in its stead. The zero value is an absent one.
type item struct {
	kind kind
	mode fs.FileMode // type and permission bits; 0 when absent
	text []byte      // content, or the target of a link
	bad  error       // why text is not known
}

func (i item) absent() bool { return i.mode == 0 && i.bad == nil }

func (i item) equal(o item) bool {
	return i.mode == o.mode && bytes.Equal(i.text, o.text) && (i.bad == nil) == (o.bad == nil)
}

// maxText is the largest file in bytes that is read. opencode's largest, the list of models, has about 3 MB.
const maxText = 16 << 20

var errLarge = fmt.Errorf("larger than %d bytes", maxText)

// readItem looks at a path without following it, and opens nothing but regular files.
func readItem(path string, k kind) item {
	it := item{kind: k}
	fi, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return it
	}
	if err != nil {
		it.bad = err
		return it
	}
	it.mode = fi.Mode()
	switch {
	case it.mode&fs.ModeSymlink != 0:
		target, err := os.Readlink(path)
		it.text, it.bad = []byte(target), err
	case it.mode.IsRegular() && fi.Size() > maxText:
		it.bad = errLarge
	case it.mode.IsRegular():
		f, err := os.Open(path)
		if err != nil {
			it.bad = err
			return it
		}
		defer f.Close()
		it.text, it.bad = io.ReadAll(io.LimitReader(f, maxText))
	}
	return it
}

// A keeper moves things out of the way.
type keeper struct {
	dir   string
	count int
}

// name returns a new path in the directory. Names of the run's making are reduced to plain characters.
func (k *keeper) name(path string) (string, error) {
	if err := os.MkdirAll(k.dir, 0o700); err != nil {
		return "", err
	}
	base := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.", r) {
			return r
		}
		return '_'
	}, filepath.Base(path))
	for range 1_000_000 {
		k.count++
		target := filepath.Join(k.dir, fmt.Sprintf("opencode-%03d-%s", k.count, base[:min(len(base), 64)]))
		if _, err := os.Lstat(target); errors.Is(err, fs.ErrNotExist) {
			return target, nil
		}
	}
	return "", fmt.Errorf("%s is full", k.dir)
}

// move takes away whatever stands at a path. On another file system it stays beside its place, under a name that nothing looks for.
func (k *keeper) move(path string) (string, error) {
	target, err := k.name(path)
	if err != nil {
		return "", err
	}
	if err := os.Rename(path, target); err == nil {
		return target, nil
	}
	beside := path + ".kept-by-oc-delegate-" + filepath.Base(target)
	if err := os.Rename(path, beside); err != nil {
		return "", err
	}
	return beside, nil
}

// save keeps a text.
func (k *keeper) save(path string, text []byte) (string, error) {
	target, err := k.name(path)
	if err != nil {
		return "", err
	}
	return target, os.WriteFile(target, text, 0o600)
}

// restore puts back an item that was a file or a link before; there must be nothing at its place.
func restore(path string, it item) error {
	switch {
	case it.absent():
		return nil
	case it.bad != nil:
		return it.bad
	case it.mode&fs.ModeSymlink != 0:
		return os.Symlink(string(it.text), path)
	case it.mode.IsRegular():
		return write(path, it.text, it.mode.Perm())
	}
	return nil
}
