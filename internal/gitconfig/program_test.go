package gitconfig

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestProgram: a git that a worker can have put into PATH is passed by.
func TestProgram(t *testing.T) {
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.MkdirTemp(cacheDir(t), "git-program-*") // not below the directory for everybody's files
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	plant := func(dir string) string {
		t.Helper()
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "git"), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	if err := os.MkdirAll(filepath.Join(root, "repo/.git"), 0o755); err != nil {
		t.Fatal(err)
	}
	inRepo, shared, own := plant(filepath.Join(root, "repo/node_modules/.bin")), plant(t.TempDir()), plant(filepath.Join(root, "own"))
	linked := filepath.Join(root, "linked")
	if err := os.MkdirAll(linked, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(inRepo, "git"), filepath.Join(linked, "git")); err != nil {
		t.Fatal(err)
	}
	list := func(dirs ...string) string { return strings.Join(dirs, string(filepath.ListSeparator)) }
	for name, c := range map[string]struct{ path, want string }{
		"what a worker could write is passed by": {list("bin", "", inRepo, shared, linked, filepath.Dir(real)), real},
		"the first of the others":                {list(own, filepath.Dir(real)), filepath.Join(own, "git")},
		"nothing else":                           {list(inRepo, shared, "."), ""},
	} {
		got, err := program(c.path)
		if got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%s: %q %v, want %q", name, got, err, c.want)
		}
	}
}

// cacheDir is a place of the user's that is no work tree and not for everybody.
func cacheDir(t *testing.T) string {
	t.Helper()
	dir, err := os.UserCacheDir()
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
