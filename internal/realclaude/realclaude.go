// Package realclaude finds the pinned versions of the real Claude Code that `make tools-claude` has installed and runs them in a place of their own,
// headless or in a terminal, against a scripted Messages API (internal/testanthropic). It is for the tests of the plugin.
//
// A missing program is a failure of the test, never a reason to skip it: what the plugin promises is a promise about the real program.
package realclaude

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"opencode-delegate/internal/realopencode"
)

// Pins is where the pinned versions stand, relative to the root of the module.
const Pins = "tools/claude/package.json"

// ErrMissing is returned (wrapped) when a pinned version is not installed.
var ErrMissing = errors.New("the pinned Claude Code is not installed: run `make tools-claude`")

// The names of the pinned versions.
const (
	Oldest = "oldest" // the oldest that the plugin supports
	Newest = "newest" // the newest that it was tried with
)

// Claude is a pinned version of the real program.
type Claude struct {
	Name    string // Oldest or Newest
	Version string
	Path    string // of the binary
}

// Each runs a test with each pinned version, the oldest first.
func Each(t *testing.T, test func(t *testing.T, c Claude)) {
	t.Helper()
	for _, name := range []string{Oldest, Newest} {
		t.Run(name, func(t *testing.T) { test(t, Pinned(t, name)) })
	}
}

// Pinned returns the version of that name, or ends the test.
func Pinned(t testing.TB, name string) Claude {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	root, err := realopencode.Root(dir)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Find(root, name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Find returns the pinned version of that name, installed below the module's root.
//
// It is the binary of the platform's own package and not the launcher of the npm package, which stays a stub while install scripts are switched off. Of the two
// versions of that package npm puts one below the package that needs it and one beside it, so the version in its own package.json decides.
func Find(root, name string) (Claude, error) {
	version, err := pinned(root, name)
	if err != nil {
		return Claude{}, err
	}
	binary := "claude"
	if runtime.GOOS == "windows" {
		binary += ".exe"
	}
	modules := filepath.Join(root, ".tools", "claude", "node_modules")
	for _, platform := range platformPackages(runtime.GOOS, runtime.GOARCH) {
		for _, below := range []string{filepath.Join(modules, "claude-"+name, "node_modules"), modules} {
			dir := filepath.Join(below, "@anthropic-ai", platform)
			if got, err := packageVersion(dir); err != nil || got != version {
				if err != nil && !errors.Is(err, fs.ErrNotExist) {
					return Claude{}, err
				}
				continue
			}
			path := filepath.Join(dir, binary)
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				return Claude{Name: name, Version: version, Path: path}, nil
			}
		}
	}
	return Claude{}, fmt.Errorf("%w (%s, looked below %s)", ErrMissing, version, modules)
}

// platformPackages lists the packages that may hold the binary, without their scope.
func platformPackages(goos, goarch string) []string {
	if goos == "windows" {
		goos = "win32"
	}
	if goarch == "amd64" {
		goarch = "x64"
	}
	name := "claude-code-" + goos + "-" + goarch
	if goos == "linux" {
		return []string{name, name + "-musl"} // npm installs only the one that fits the C library
	}
	return []string{name}
}

func pinned(root, name string) (string, error) {
	path := filepath.Join(root, filepath.FromSlash(Pins))
	text, err := realopencode.Dependency(path, "claude-"+name)
	if err != nil {
		return "", err
	}
	version, ok := strings.CutPrefix(text, "npm:@anthropic-ai/claude-code@")
	if !ok || version == "" {
		return "", fmt.Errorf("%s: claude-%s names no version of @anthropic-ai/claude-code", path, name)
	}
	return version, nil
}

func packageVersion(dir string) (string, error) {
	path := filepath.Join(dir, "package.json")
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	var p struct {
		Version string `json:"version"`
	}
	if err := json.Unmarshal(text, &p); err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return p.Version, nil
}
