package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"opencode-delegate/internal/cli"
	"opencode-delegate/internal/fakeopencode"
	"opencode-delegate/internal/script"
)

func TestMain(m *testing.M) {
	if code, ok := cli.Role(os.Args); ok {
		os.Exit(code)
	}
	testscript.Main(cleaner{m}, map[string]func(){
		"oc-delegate": main,
		"opencode":    func() { os.Exit(fakeopencode.Main()) },
	})
}

// A cleaner removes what the tests have built together.
type cleaner struct{ *testing.M }

func (c cleaner) Run() int {
	code := c.M.Run()
	if !builtOnce.Load() {
		return code
	}
	if path, err := built(); err == nil {
		os.RemoveAll(filepath.Dir(path))
	}
	return code
}

// TestScript runs what a user could type against the fake opencode.
func TestScript(t *testing.T) {
	script.Run(t, script.Params{Dir: "../../testdata/script", Match: func(name string) bool { return !strings.HasPrefix(name, "job_") }})
}
