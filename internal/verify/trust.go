package verify

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"opencode-delegate/internal/atomicfile"
	"opencode-delegate/internal/fault"
)

// Limits of a store of trust.
const (
	trustMost  = 32      // contents of one repository; the oldest go
	trustBytes = 8 << 10 // of one file
)

// A trust is one file of the store, store/<hash of the root>/<hash of the content>.json: files of their own need no lock, and who
// dies while one is written leaves the others as they are.
type trust struct {
	Root string    `json:"root"`
	Hash string    `json:"hash"`
	At   time.Time `json:"at"`
}

// place is where a trust is kept. root is the real, absolute path of a repository, hash is made by [Hash].
func place(store, root, hash string) (dir, file string, err error) {
	if !filepath.IsAbs(root) || filepath.Clean(root) != root {
		return "", "", fmt.Errorf("trust: %q is no clean absolute path of a repository", root)
	}
	dir = filepath.Join(store, Hash([]byte(root)))
	if len(hash) != len(Hash(nil)) || filepath.Base(hash) != hash {
		return dir, "", fmt.Errorf("trust: %.80q is no hash of a project file", hash)
	}
	return dir, filepath.Join(dir, hash+".json"), nil
}

// Trusted reports whether a person has trusted this content of the project file of this repository. What cannot be read is not trusted.
func Trusted(store, root, hash string) bool {
	_, file, err := place(store, root, hash)
	if err != nil {
		return false
	}
	t, err := readTrust(file)
	return err == nil && t.Root == root && t.Hash == hash
}

func readTrust(file string) (trust, error) {
	if info, err := os.Lstat(file); err != nil {
		return trust{}, err
	} else if !info.Mode().IsRegular() {
		return trust{}, fault.New(fault.Usage, "%s is no regular file", file)
	}
	f, err := os.Open(file)
	if err != nil {
		return trust{}, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, trustBytes))
	if err != nil {
		return trust{}, err
	}
	var t trust
	return t, json.Unmarshal(data, &t)
}

// Trust keeps that a person has trusted a content. When it returns nil, that is on the disk.
func Trust(store, root, hash string, now time.Time) error {
	dir, file, err := place(store, root, hash)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("trust: %w", err)
	}
	data, err := json.Marshal(trust{root, hash, now.UTC()})
	if err != nil {
		return fmt.Errorf("trust: %w", err)
	}
	if len(data) > trustBytes {
		return fault.New(fault.Usage, "trust: the path of the repository is longer than can be kept")
	}
	if err := atomicfile.Write(file, data, 0o600); err != nil {
		return fmt.Errorf("trust: %w", err)
	}
	return forget(dir, file)
}

// forget drops the oldest contents of a repository beyond the limit, never the one just kept.
func forget(dir, kept string) error {
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) <= trustMost {
		return err
	}
	at := map[string]time.Time{}
	var files []string
	for _, e := range entries {
		file := filepath.Join(dir, e.Name())
		if file == kept {
			continue
		}
		if t, err := readTrust(file); err == nil {
			at[file] = t.At
		}
		files = append(files, file)
	}
	slices.SortFunc(files, func(a, b string) int { return at[a].Compare(at[b]) })
	for _, file := range files[:len(entries)-trustMost] {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("trust: %w", err)
		}
	}
	return nil
}

// Untrust takes back every trust in the project files of a repository. had says whether there was one.
func Untrust(store, root string) (had bool, err error) {
	dir, _, err := place(store, root, Hash(nil))
	if err != nil {
		return false, err
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	for _, e := range entries {
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return had, fmt.Errorf("trust: %w", err)
		}
		had = true
	}
	if err != nil {
		return had, fmt.Errorf("trust: %w", err)
	}
	return had, nil
}
