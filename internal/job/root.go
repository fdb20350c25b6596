package job

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"opencode-delegate/internal/crashpoint"
	"opencode-delegate/internal/fault"
)

// RootPath is where records live: $OC_DELEGATE_STATE, else $XDG_STATE_HOME/opencode-delegate, else
// ~/.local/state/opencode-delegate. A relative $XDG_STATE_HOME is ignored, as its specification asks.
func RootPath(getenv func(string) string, home string) (string, error) {
	if p := getenv("OC_DELEGATE_STATE"); p != "" {
		if !filepath.IsAbs(p) {
			return "", fault.New(fault.Usage, "OC_DELEGATE_STATE is %q; it must be an absolute path", p)
		}
		return filepath.Clean(p), nil
	}
	if p := getenv("XDG_STATE_HOME"); filepath.IsAbs(p) {
		return filepath.Join(p, "opencode-delegate"), nil
	}
	if !filepath.IsAbs(home) {
		return "", fault.New(fault.Usage, "no home directory; set HOME or OC_DELEGATE_STATE")
	}
	return filepath.Join(home, ".local", "state", "opencode-delegate"), nil
}

// makeRoot makes the state directory when it is missing and refuses one that others can reach: a link, or a
// directory that belongs to somebody else or that others may write.
func makeRoot(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return stateError(path, err)
	}
	made := os.Mkdir(path, 0o700)
	if made != nil && !errors.Is(made, os.ErrExist) {
		return stateError(path, made)
	}
	fi, err := os.Lstat(path)
	if err != nil {
		return stateError(path, err)
	}
	switch {
	case fi.Mode()&os.ModeSymlink != 0:
		return fault.New(fault.Usage, "state directory %s is a symbolic link; name the directory itself in OC_DELEGATE_STATE", path)
	case !fi.IsDir():
		return fault.New(fault.Usage, "state directory %s is not a directory; name another in OC_DELEGATE_STATE", path)
	case !ownedByUs(fi):
		return fault.New(fault.Usage, "state directory %s belongs to another user; name one of your own in OC_DELEGATE_STATE", path)
	}
	if made == nil || fi.Mode().Perm()&0o077 != 0 && ours(path) {
		mode := fi.Mode().Perm() & 0o700 // one that the user has closed to himself stays so
		if made == nil {
			mode = 0o700
		}
		if err := os.Chmod(path, mode); err != nil {
			return stateError(path, err)
		}
	} else if fi.Mode().Perm()&0o022 != 0 {
		return fault.New(fault.Usage, "state directory %s may be written by others; name a private one in OC_DELEGATE_STATE", path)
	}
	return nil
}

// ours reports whether a directory holds nothing but our own entries, so that its mode is ours to tighten: a caller
// may have pointed OC_DELEGATE_STATE at a directory that others use too.
func ours(path string) bool {
	d, err := os.Open(path)
	if err != nil {
		return false
	}
	defer d.Close()
	names, _ := d.Readdirnames(64)
	for _, n := range names {
		if !slices.Contains(ownEntries, n) && !strings.HasPrefix(n, ".tmp-") {
			return false
		}
	}
	return true
}

// makeDir makes a directory below the root, 0700 whatever the umask, and refuses a link in its place.
func makeDir(path string) error {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return stateError(path, err)
	}
	crashpoint.Here("directory", path)
	fi, err := os.Lstat(path)
	if err != nil {
		return stateError(path, err)
	}
	if !fi.IsDir() || !ownedByUs(fi) {
		return fault.New(fault.Usage, "%s must be a directory of your own; remove it or name another state directory in OC_DELEGATE_STATE", path)
	}
	if fi.Mode().Perm() != 0o700 {
		if err := os.Chmod(path, 0o700); err != nil {
			return stateError(path, err)
		}
	}
	return nil
}

// stateError says what to do about a state directory that cannot be used.
func stateError(path string, err error) error {
	if f := (*fault.Error)(nil); errors.As(err, &f) {
		return f // it has its own advice
	}
	var pe *os.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return fault.New(fault.Usage, "state directory %s: %w; name a directory that you can write in OC_DELEGATE_STATE", path, err)
}

// cacheDir is where facts about programs are kept between runs; losing it costs only time.
func cacheDir(root string) (string, error) {
	path := filepath.Join(root, cachesDir)
	if err := makeDir(path); err != nil {
		return "", fmt.Errorf("cache: %w", err)
	}
	return path, nil
}
