package plugin_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"opencode-delegate/internal/fakeopencode"
)

// TestMain makes the test binary the fake opencode where it is called so (testplace.Fake).
func TestMain(m *testing.M) {
	if strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe") == "opencode" {
		os.Exit(fakeopencode.Main())
	}
	code := m.Run()
	built, _ := filepath.Glob(filepath.Join(os.TempDir(), releases()+"*"))
	for _, dir := range built {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// releases is how the names of the release folders begin that this process has built for all its tests.
func releases() string { return fmt.Sprintf("oc-release-%d-", os.Getpid()) }
