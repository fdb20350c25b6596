package realopencode

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestRealIsThePinnedVersion proves that what the other tests call the real opencode is the pinned one.
func TestRealIsThePinnedVersion(t *testing.T) {
	cmd := exec.Command(Path(t), "--version")
	cmd.Dir = t.TempDir()
	cmd.Env = Environ(t.TempDir())
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.TrimSpace(string(out)), Version(t); got != want {
		t.Errorf("--version = %q, pinned is %q", got, want)
	}
}

func TestFindNamesWhatToDo(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module m\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Find(dir)
	if !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), "make tools") {
		t.Errorf("Find(empty module) = %v, want ErrMissing and what to do", err)
	}
}

func TestRootOutsideAModule(t *testing.T) {
	dir := t.TempDir()
	if root, err := Root(dir); err == nil {
		t.Errorf("Root(%s) = %s, want an error", dir, root)
	}
}

func TestPlatformPackages(t *testing.T) {
	for _, c := range []struct {
		os, arch string
		avx2     bool
		want     []string
	}{
		{"linux", "amd64", true, []string{"opencode-linux-x64", "opencode-linux-x64-baseline"}},
		{"linux", "amd64", false, []string{"opencode-linux-x64-baseline"}},
		{"darwin", "arm64", false, []string{"opencode-darwin-arm64"}},
		{"windows", "arm64", false, []string{"opencode-windows-arm64"}},
	} {
		if got := platformPackages(c.os, c.arch, c.avx2); !slices.Equal(got, c.want) {
			t.Errorf("platformPackages(%s, %s, %v) = %v, want %v", c.os, c.arch, c.avx2, got, c.want)
		}
	}
}

// TestEnvironIsPrivate proves that a run of the real program can touch nothing of the user's.
func TestEnvironIsPrivate(t *testing.T) {
	t.Setenv("HOME", "/nonexistent/user")
	t.Setenv("OPENCODE_CONFIG", "/nonexistent/user/opencode.json")
	t.Setenv("ANTHROPIC_API_KEY", "not-a-key")
	home := t.TempDir()
	env := Environ(home, "OPENCODE_CONFIG="+home+"/mock.json")
	for _, e := range env {
		if strings.Contains(e, "/nonexistent/user") || strings.Contains(e, "not-a-key") {
			t.Errorf("Environ leaks %q", e)
		}
	}
	for _, want := range []string{"HOME=" + home, "OPENCODE_CONFIG=" + home + "/mock.json"} {
		if !slices.Contains(env, want) {
			t.Errorf("Environ lacks %q", want)
		}
	}
}
