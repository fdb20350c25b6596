package atomicfile

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestWriteReplacesWithExactMode(t *testing.T) {
	for _, write := range []func(string, []byte, os.FileMode) error{Write, WriteFast} {
		dir := t.TempDir()
		name := filepath.Join(dir, "f")
		if err := os.WriteFile(name, []byte("old and longer"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := write(name, []byte("new"), 0o600); err != nil {
			t.Fatal(err)
		}
		got, _ := os.ReadFile(name)
		fi, _ := os.Stat(name)
		entries, _ := os.ReadDir(dir)
		if string(got) != "new" || len(entries) != 1 {
			t.Errorf("content %q, %d entries", got, len(entries))
		}
		if runtime.GOOS != "windows" && fi.Mode().Perm() != 0o600 {
			t.Errorf("mode %v, want 0600", fi.Mode())
		}
	}
}

func TestFailureLeavesOldFileAndNoTemporary(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "f")
	os.WriteFile(name, []byte("old"), 0o600)
	f, err := Create(name, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	f.Write([]byte("half"))
	f.Abort()
	got, _ := os.ReadFile(name)
	entries, _ := os.ReadDir(dir)
	if string(got) != "old" || len(entries) != 1 {
		t.Errorf("content %q, %d entries", got, len(entries))
	}
}

func TestRefusesWhatIsNoRegularFile(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "target")
	os.WriteFile(target, []byte("keep"), 0o600)
	link := filepath.Join(dir, "link")
	if err := os.Symlink(target, link); err != nil {
		if runtime.GOOS == "windows" {
			return // a user needs a privilege for links there
		}
		t.Fatal(err)
	}
	if err := Write(link, []byte("x"), 0o600); err == nil {
		t.Error("a symlink was replaced")
	}
	if got, _ := os.ReadFile(target); string(got) != "keep" {
		t.Errorf("target %q", got)
	}
}
