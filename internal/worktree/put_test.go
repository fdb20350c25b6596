package worktree

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPut: some paths of another tree become what they were, and nothing else does.
func TestPut(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	write := func(dir, name, text string, mode os.FileMode) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	write(from, "a_test.go", "old", 0o755)
	write(from, "deep/er/b_test.go", "old", 0o644)
	write(from, "other", "old", 0o644)
	if err := os.Symlink("other", filepath.Join(from, "link")); err != nil {
		t.Fatal(err)
	}
	base, err := Take(t.Context(), from, filepath.Join(t.TempDir(), "base"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	write(to, "a_test.go", "new", 0o644)
	write(to, "deep", "a file where there was a directory", 0o644)
	write(to, "added_test.go", "new", 0o644)
	write(to, "other", "new", 0o644)
	write(to, "link", "new", 0o644)
	after, err := Take(t.Context(), to, filepath.Join(t.TempDir(), "after"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	paths := []string{"a_test.go", "added_test.go", "link", "was never there"}
	if err := base.Put(t.Context(), to, paths); err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(to, name))
		if err != nil {
			return "absent"
		}
		return string(text)
	}
	if fi, err := os.Lstat(filepath.Join(to, "a_test.go")); err != nil || fi.Mode().Perm() != 0o755 || read("a_test.go") != "old" {
		t.Errorf("a_test.go is %q, %v %v", read("a_test.go"), fi, err)
	}
	if target, err := os.Readlink(filepath.Join(to, "link")); target != "other" || read("added_test.go") != "absent" || read("other") != "new" {
		t.Errorf("link %q %v, added %q, other %q", target, err, read("added_test.go"), read("other"))
	}
	// What somebody has changed meanwhile stays, and is named.
	write(to, "a_test.go", "by hand", 0o644)
	err = after.PutBack(t.Context(), to, paths, base)
	if err == nil || !strings.Contains(err.Error(), "a_test.go") || read("a_test.go") != "by hand" || read("added_test.go") != "new" || read("link") != "new" {
		t.Errorf("%v: %q %q %q", err, read("a_test.go"), read("added_test.go"), read("link"))
	}
	if err := base.Put(t.Context(), to, []string{"deep/er/b_test.go"}); err == nil {
		t.Error("a file became a directory unasked")
	}
	for _, bad := range []string{"../x", "/etc/x", ".git/config", "a/.GIT/config", ""} {
		if err := base.Put(t.Context(), to, []string{bad}); err == nil || !strings.Contains(err.Error(), "no path") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	// Nothing is written through a link.
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(to, "er")); err != nil {
		t.Fatal(err)
	}
	write(from, "er/x", "x", 0o644)
	again, err := Take(t.Context(), from, filepath.Join(t.TempDir(), "again"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Put(t.Context(), to, []string{"er/x"}); err == nil {
		t.Error("it went through the link")
	}
	if _, err := os.Lstat(filepath.Join(outside, "x")); err == nil {
		t.Error("there is a file outside")
	}
}

// TestRead: what a snapshot held can be read without putting it anywhere.
func TestRead(t *testing.T) {
	from := t.TempDir()
	for name, text := range map[string]string{"a/b.txt": "hello", "a/c/d.txt": strings.Repeat("x", 3<<20), "ab": "no"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(from, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(from, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("b.txt", filepath.Join(from, "a/link")); err != nil {
		t.Fatal(err)
	}
	s, err := Take(t.Context(), from, filepath.Join(t.TempDir(), "s"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(s.Files(), " "); got != "a/b.txt a/c/d.txt a/link ab" {
		t.Errorf("files %q", got)
	}
	if got := strings.Join(s.Below("a"), " "); got != "a/b.txt a/c/d.txt a/link" {
		t.Errorf("below a: %q", got)
	}
	for path, want := range map[string]string{"a/b.txt": "hell", "a/c/d.txt": "xxxx", "a/link": "b.txt"} {
		if got, err := s.Read(path, 4); err != nil || string(got) != want {
			t.Errorf("%s: %q %v", path, got, err)
		}
	}
	if _, err := s.Read("a", 4); err == nil {
		t.Error("a directory was read")
	}
}
