package house

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"testing"
)

var initLine = regexp.MustCompile(`init (\S+) @[^,]*, [^,]* clock, (\d+) bytes, (\d+) allocs`)

// TestStartUpDoesNothing: a delegation starts this binary three times (tool, guardian, cage), and what a package does before main is
// done each time. Regular expressions in package variables are the usual reason: compile them when they are first needed
// (sync.OnceValue). Bytes are counted and not time, because they are the same on every machine.
func TestStartUpDoesNothing(t *testing.T) {
	const most = 200 << 10
	root := repository(t)
	tool := filepath.Join(t.TempDir(), "oc-delegate")
	if runtime.GOOS == "windows" {
		tool += ".exe"
	}
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", tool, "./cmd/oc-delegate")
	build.Dir = root
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	cmd := exec.Command(tool, "--version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var trace bytes.Buffer
	cmd.Stderr = &trace
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, trace.String())
	}
	packages := initLine.FindAllStringSubmatch(trace.String(), -1)
	if len(packages) < 10 {
		t.Fatalf("the trace has %d packages:\n%s", len(packages), trace.String())
	}
	for _, p := range packages {
		if n, err := strconv.Atoi(p[2]); err != nil || n > most {
			t.Errorf("%s allocates %d bytes in %s allocations before main, more than %d (%v)", p[1], n, p[3], most, err)
		}
	}
}
