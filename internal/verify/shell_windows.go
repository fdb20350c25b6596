package verify

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// shellOf finds the sh.exe that comes with Git for Windows and the like.
func shellOf(env []string) (string, error) {
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		if !strings.EqualFold(name, "PATH") {
			continue
		}
		for _, dir := range filepath.SplitList(value) {
			path := filepath.Join(dir, "sh.exe")
			if fi, err := os.Stat(path); err == nil && filepath.IsAbs(dir) && fi.Mode().IsRegular() {
				return path, nil
			}
		}
	}
	return "", errors.New("there is no sh in PATH")
}
