// Package realopencode finds the pinned, real opencode that `make tools` has installed, for the tests and the benchmark
// that run it. It is no part of the product: the tool's own search for a binary is another package.
//
// A missing binary is a failure of the test, never a reason to skip it: what the tool promises is a promise about the
// real program.
package realopencode

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/cpu"
)

// Pins is where the pinned versions stand, relative to the root of the module.
const Pins = "tools/npm/package.json"

// ErrMissing is returned (wrapped) when the pinned opencode is not installed.
var ErrMissing = errors.New("the pinned opencode is not installed: run `make tools`")

// Path returns the absolute path of the pinned binary, or ends the test.
func Path(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	path, err := Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Version returns the version that is pinned, such as "1.18.33", or ends the test.
func Version(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	root, err := Root(dir)
	if err != nil {
		t.Fatal(err)
	}
	version, err := pinned(root)
	if err != nil {
		t.Fatal(err)
	}
	return version
}

// Find returns the absolute path of the pinned binary of the module that holds dir.
//
// It is the platform's own binary and not the launcher of the npm package: the launcher is a Node script until the
// package's install script has run, and install scripts are switched off.
func Find(dir string) (string, error) {
	root, err := Root(dir)
	if err != nil {
		return "", err
	}
	name := "opencode"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	for _, p := range platformPackages(runtime.GOOS, runtime.GOARCH, cpu.X86.HasAVX2) {
		path := filepath.Join(root, ".tools", "node_modules", p, "bin", name)
		info, err := os.Stat(path)
		if err == nil && info.Mode().IsRegular() {
			return path, nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("the pinned opencode: %w", err)
		}
	}
	return "", fmt.Errorf("%w (looked below %s)", ErrMissing, filepath.Join(root, ".tools"))
}

// Root returns the nearest directory at or above dir that holds a go.mod.
func Root(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for at := abs; ; {
		if info, err := os.Stat(filepath.Join(at, "go.mod")); err == nil && info.Mode().IsRegular() {
			return at, nil
		}
		up := filepath.Dir(at)
		if up == at {
			return "", fmt.Errorf("no go.mod at or above %s", abs)
		}
		at = up
	}
}

// platformPackages lists the npm packages that may hold the binary, best first. The plain x64 builds need AVX2 and die
// of SIGILL without it; their baseline twins run everywhere.
func platformPackages(goos, goarch string, avx2 bool) []string {
	if goarch == "amd64" {
		goarch = "x64"
	}
	plain := "opencode-" + goos + "-" + goarch
	switch {
	case goarch != "x64":
		return []string{plain}
	case avx2:
		return []string{plain, plain + "-baseline"}
	}
	return []string{plain + "-baseline"}
}

func pinned(root string) (string, error) {
	version, err := Dependency(filepath.Join(root, filepath.FromSlash(Pins)), "opencode-ai")
	if err == nil && version == "" {
		err = fmt.Errorf("%s: opencode-ai has no version", Pins)
	}
	return version, err
}

// Dependency is the version that a package.json names for a dependency; empty when it names none.
func Dependency(path, name string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	var pins struct {
		Dependencies map[string]string `json:"dependencies"`
	}
	if err := json.Unmarshal(text, &pins); err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return pins.Dependencies[name], nil
}
