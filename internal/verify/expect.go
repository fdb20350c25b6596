package verify

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"opencode-delegate/internal/fault"
)

// CheckExpected checks the path of an expected file before anything is started: it is relative, as the caller's work tree has it, and
// stays inside. Another one is a USAGE fault. What it returns is clean.
func CheckExpected(path string) (string, error) {
	clean := filepath.Clean(path)
	if path == "" || !filepath.IsLocal(path) || clean == "." || strings.ContainsAny(path, "\x00\n") {
		return "", fault.New(fault.Usage, "--expect-file %q: a file is named by its path inside the project directory", path)
	}
	return clean, nil
}

// ExpectFile looks for a file that the worker was to leave in dir: a regular one, not empty, and inside, whatever links lead to it. What
// is wrong with it comes as one phrase; empty means nothing. Only the file itself is judged, not who made it.
func ExpectFile(dir, path string) string {
	clean, err := CheckExpected(path)
	if err != nil {
		return err.Error()
	}
	// A root opens nothing outside of it, be it by a link that the worker puts there this moment.
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Sprintf("the directory of %s cannot be opened", path)
	}
	defer root.Close()
	switch info, err := root.Stat(clean); {
	case err == nil && info.Mode().IsRegular() && info.Size() > 0:
		return ""
	case err == nil && info.Mode().IsRegular():
		return path + " is empty"
	case err == nil:
		return path + " is no regular file"
	case os.IsNotExist(err):
		return path + " is not there"
	case isEscape(root, clean):
		return path + " leads out of the work tree"
	}
	return path + " cannot be looked at"
}

// isEscape reports whether it is a link that kept the root from opening a path.
func isEscape(root *os.Root, path string) bool {
	for part := path; part != "."; part = filepath.Dir(part) {
		if info, err := root.Lstat(part); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return true
		}
	}
	return false
}
