// Package script runs the testscript files of testdata/script: what a user could type. testdata/script/README.md lists the
// commands that they use.
package script

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// Params say which scripts to run, and with what.
type Params struct {
	Dir    string                 // testdata/script
	Match  func(name string) bool // which files of it, by their names
	Others string                 // a directory with programs that the test binary is not; empty = none
}

// Run runs the scripts, each as a subtest.
func Run(t *testing.T, p Params) {
	recordings, err := filepath.Abs(filepath.Join(p.Dir, "..", "recordings"))
	if err != nil {
		t.Fatal(err)
	}
	all, err := filepath.Glob(filepath.Join(p.Dir, "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, f := range all {
		if p.Match(filepath.Base(f)) {
			files = append(files, f)
		}
	}
	if len(files) == 0 {
		t.Fatalf("no script in %s", p.Dir)
	}
	// Not below /tmp: there a writing run may write.
	cache, err := os.UserCacheDir()
	if err == nil {
		err = os.MkdirAll(cache, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.MkdirTemp(cache, "oc-delegate-script-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) }) // parallel subtests have ended by then
	testscript.Run(t, testscript.Params{
		Files:               files,
		WorkdirRoot:         root,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			bin, _, _ := strings.Cut(env.Getenv("PATH"), string(filepath.ListSeparator))
			// What is not the project lies outside of $WORK, which is the project.
			user, err := os.MkdirTemp(root, "user-")
			if err != nil {
				return err
			}
			home, config := filepath.Join(user, "home"), filepath.Join(user, "config")
			for _, dir := range []string{home, config} {
				if err := os.MkdirAll(dir, 0o755); err != nil {
					return err
				}
			}
			for _, f := range []struct{ name, data string }{{"nul.txt", "a\x00b\n"}, {"latin1.txt", "caf\xe9\n"}} {
				if err := os.WriteFile(filepath.Join(env.WorkDir, f.name), []byte(f.data), 0o644); err != nil {
					return err
				}
			}
			if p.Others != "" {
				env.Setenv("PATH", env.Getenv("PATH")+string(filepath.ListSeparator)+p.Others)
				env.Setenv("OC_JOB", filepath.Join(bin, "oc-job"))
			}
			env.Setenv("HOME", home)
			env.Setenv("GORACE", "atexit_sleep_ms=0") // a race build sleeps a second at its end otherwise
			env.Setenv("XDG_CONFIG_HOME", config)
			env.Setenv("OC_DELEGATE_STATE", filepath.Join(user, "state"))
			env.Setenv("OC_DELEGATE_OPENCODE", filepath.Join(bin, "opencode"))
			env.Setenv("OC_DELEGATE", filepath.Join(bin, "oc-delegate"))
			env.Defer(func() { endJobs(filepath.Join(user, "state")) })
			env.Setenv("OC_FAKE_RECORDINGS", recordings)
			// Where a worker in its cage can write.
			env.Setenv("OC_FAKE_LOG", filepath.Join(home, ".local/share/opencode/log.jsonl"))
			return nil
		},
		Cmds: commands,
	})
}
