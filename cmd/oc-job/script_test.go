package main

import (
	"fmt"
	"os"
	"os/exec"
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
	testscript.Main(m, map[string]func(){
		"oc-job":   main,
		"opencode": func() { os.Exit(fakeopencode.Main()) },
	})
}

// buildInto builds commands of this module as they are shipped, but for tags.
func buildInto(dir, tags string, commands ...string) error {
	args := []string{"build", "-trimpath", "-buildvcs=false", // which the test binary has not got either: setup compares
		"-ldflags=-s -w", "-tags", tags, "-o", dir + string(filepath.Separator)}
	cmd := exec.Command("go", append(args, commands...)...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// TestScript runs what a user could type against the fake opencode.
func TestScript(t *testing.T) {
	others := t.TempDir()
	if err := buildInto(others, "", "../oc-delegate"); err != nil {
		t.Fatal(err)
	}
	script.Run(t, script.Params{Dir: "../../testdata/script", Others: others, Match: func(name string) bool { return strings.HasPrefix(name, "job_") }})
}
