package opencode

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"opencode-delegate/internal/fault"
)

// FindOptions say where an opencode binary may lie.
type FindOptions struct {
	// Explicit is the caller's own choice: a path, taken from the directory Dir when it is relative, or a bare name,
	// looked up on PATH. Empty: search.
	Explicit string
	// Source names the origin of Explicit in messages: "--opencode" or "OC_DELEGATE_OPENCODE".
	Source string
	// Dir is the caller's directory, absolute. It is never searched.
	Dir string
	// Getenv is the environment: PATH, HOME and the variables by which version managers say where they live.
	Getenv func(string) string
	// Self is the absolute path of our own executable. When it lies inside a checkout of this module, the checkout's
	// .tools directory is the last place that is searched.
	Self string
}

// installHints say what a person without opencode can do.
var installHints = []string{
	"install it: npm install -g opencode-ai, or see https://opencode.ai/docs",
	"or name a binary: --opencode PATH or OC_DELEGATE_OPENCODE",
}

// Find returns the absolute path of the opencode binary that a run shall use: the explicit one, else the first usable
// one of PATH, ~/.opencode/bin, the global directories of npm, nvm and their relatives, and .tools of this checkout.
// The launcher of the npm package is resolved to the platform's own binary where that is installed, which spares a
// start of node. Relative entries of PATH are skipped: what lies in the current directory is the repository's, and is
// not to be run.
//
// An error is a *fault.Error of kind OPENCODE_MISSING that says what was found instead.
func Find(o FindOptions) (string, error) {
	if o.Explicit != "" {
		return findExplicit(o)
	}
	var unusable []string
	for _, dir := range searchDirs(o) {
		for _, name := range binaryNames() {
			path := filepath.Join(dir, name)
			if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
				continue
			}
			resolved, err := resolve(path, o.Getenv)
			if err == nil {
				return resolved, nil
			}
			if reason := err.Error(); !slices.Contains(unusable, reason) && len(unusable) < 8 {
				unusable = append(unusable, reason)
			}
		}
	}
	if path := checkoutBinary(o.Self); path != "" {
		return path, nil
	}
	e := fault.New(fault.OpencodeMissing, "no usable opencode binary: not on PATH, not in ~/.opencode/bin and not in the global directories of npm")
	if len(unusable) > 0 {
		e.Reason = "no usable opencode binary: " + unusable[0]
	}
	return "", e.With(append(unusable[min(1, len(unusable)):], installHints...)...)
}

func findExplicit(o FindOptions) (string, error) {
	source := o.Source
	if source == "" {
		source = "--opencode"
	}
	missing := func(why string) error {
		return fault.New(fault.OpencodeMissing, "no usable opencode binary: %s %s: %s", source, o.Explicit, why).With(installHints...)
	}
	path := o.Explicit
	switch {
	case !strings.ContainsAny(path, `/\`):
		found := ""
		for _, dir := range pathDirs(o.Getenv("PATH")) {
			if p := filepath.Join(dir, path); executable(p) == nil {
				found = p
				break
			}
		}
		if found == "" {
			return "", missing("not found on PATH (a file of the current directory is named ./" + path + ")")
		}
		path = found
	case strings.HasPrefix(path, "~/"):
		// A shell expands this, a configuration file or an environment variable does not.
		path = filepath.Join(home(o.Getenv), path[2:])
	case !filepath.IsAbs(path):
		path = filepath.Join(o.Dir, path)
	}
	resolved, err := resolve(path, o.Getenv)
	if err != nil {
		return "", missing(strings.TrimPrefix(err.Error(), path+": "))
	}
	return resolved, nil
}

// binaryNames lists what the program may be called in a directory, best first.
func binaryNames() []string {
	if runtime.GOOS == "windows" {
		return []string{"opencode.exe", "opencode.cmd"}
	}
	return []string{"opencode"}
}

// executable reports why a file cannot be started, or nil.
func executable(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: no such file", path)
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%s: is a directory", path)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s: not a regular file", path)
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o111 == 0:
		return fmt.Errorf("%s: not executable (chmod +x would make it so)", path)
	}
	return nil
}

// checkoutBinary is the pinned binary of the checkout of this module that holds our own executable, or "".
func checkoutBinary(self string) string {
	if self == "" {
		return ""
	}
	if real, err := filepath.EvalSymlinks(self); err == nil {
		self = real
	}
	for at := filepath.Dir(self); ; {
		if mod, err := head(filepath.Join(at, "go.mod"), 4096); err == nil {
			// The first go.mod decides: a checkout inside another project is not searched past its root.
			if !strings.HasPrefix(string(mod), "module opencode-delegate\n") {
				return ""
			}
			return platformBinary(filepath.Join(at, ".tools"))
		}
		up := filepath.Dir(at)
		if up == at {
			return ""
		}
		at = up
	}
}

// head returns at most n bytes from the beginning of a regular file.
func head(path string, n int) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	buf := make([]byte, n)
	got, err := readFull(f, buf)
	return buf[:got], err
}
