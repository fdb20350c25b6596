package house

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/deps anew")

// TestDependencies holds the packages of others that each shipped command links to the list in testdata/deps, so that a new one is
// seen when it is reviewed. `go test ./internal/house -run Dependencies -update` writes the lists anew.
func TestDependencies(t *testing.T) {
	root := repository(t)
	for _, command := range []string{"oc-delegate"} {
		all := linked(t, root, "./cmd/"+command)
		var theirs []string
		for _, pkg := range all {
			first, _, _ := strings.Cut(pkg, "/")
			if strings.Contains(first, ".") {
				theirs = append(theirs, pkg)
			}
		}
		slices.Sort(theirs)
		got := strings.Join(theirs, "\n") + "\n"
		golden := filepath.Join(root, "testdata", "deps", command+".txt")
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s links\n%s\nand %s lists\n%s", command, got, golden, want)
		}
		// A network stack in the tool costs start-up, and nothing of it talks to a network: opencode does.
		for _, heavy := range []string{"net/http", "crypto/tls", "html/template", "database/sql"} {
			if slices.Contains(all, heavy) {
				t.Errorf("%s links %s", command, heavy)
			}
		}
	}
}

// linked lists the packages of a command on Linux, whatever this machine is.
func linked(t *testing.T, root, command string) []string {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", command)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		var stderr []byte
		if e, ok := err.(*exec.ExitError); ok {
			stderr = e.Stderr
		}
		t.Fatalf("go list -deps %s: %v\n%s", command, err, stderr)
	}
	return strings.Fields(string(out))
}
