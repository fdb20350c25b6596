package plugin_test

import (
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
	os.Exit(m.Run())
}
