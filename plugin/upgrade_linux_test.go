package plugin_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"opencode-delegate/internal/realopencode"
	"opencode-delegate/internal/testplace"
)

// An owner is somebody with the plugin's release folder on a machine with the fake opencode.
type owner struct {
	*testplace.Place
	folder string
}

func (o owner) copyFolder(from string) {
	o.T.Helper()
	if out, err := exec.Command("cp", "-a", from, o.folder).CombinedOutput(); err != nil {
		o.T.Fatalf("%v: %s", err, out)
	}
}

// job runs the launcher of the folder.
func (o owner) job(args ...string) (stdout string, exit int) {
	o.T.Helper()
	cmd := exec.Command(filepath.Join(o.folder, "bin", "oc-job"), args...)
	cmd.Dir, cmd.Env = o.Project, o.Env
	out, err := cmd.Output()
	if err != nil && cmd.ProcessState == nil {
		o.T.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// another is a release folder of another version: the same source, but for its number.
func another(t *testing.T, version string) string {
	t.Helper()
	from, err := release()
	if err != nil {
		t.Fatal(err)
	}
	root, err := realopencode.Root(".")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "release")
	if out, err := exec.Command("cp", "-a", from, dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	source := filepath.Join(root, "internal", "cli", "version.go")
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	changed := filepath.Join(t.TempDir(), "version.go")
	overlay := filepath.Join(t.TempDir(), "overlay.json")
	layers, err := json.Marshal(map[string]map[string]string{"Replace": {source: changed}})
	if err == nil {
		err = os.WriteFile(overlay, layers, 0o644)
	}
	if err == nil {
		err = os.WriteFile(changed, []byte(strings.Replace(string(text), `Release = "`, `Release = "`+version+`-was-`, 1)), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-overlay", overlay, "-o", filepath.Join(dir, "lib", runtime.GOOS+"-"+runtime.GOARCH)+"/", "./cmd/oc-delegate", "./cmd/oc-job")
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=readonly -buildvcs=false")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir
}

// TestUpgradeAndRemoval: one job runs and one waits for its turn while the folder that both were started from is removed, or replaced by another version's. Both come
// to their end, and the other version shows both results.
func TestUpgradeAndRemoval(t *testing.T) {
	old, err := release()
	if err != nil {
		t.Fatal(err)
	}
	fresh := another(t, "9.9.9")
	for _, c := range []struct {
		name   string
		change func(o *owner)
	}{
		{"removed, and another version elsewhere", func(o *owner) {
			if err := os.RemoveAll(o.folder); err != nil {
				t.Fatal(err)
			}
			o.folder += " of another version"
			o.copyFolder(fresh)
		}},
		{"replaced", func(o *owner) {
			if err := os.Rename(o.folder, o.folder+".old"); err != nil {
				t.Fatal(err)
			}
			o.copyFolder(fresh)
			if err := os.RemoveAll(o.folder + ".old"); err != nil {
				t.Fatal(err)
			}
		}},
		{"overwritten file by file", func(o *owner) {
			for _, name := range []string{"oc-delegate", "oc-job"} {
				path := filepath.Join("lib", runtime.GOOS+"-"+runtime.GOARCH, name)
				if err := os.Remove(filepath.Join(o.folder, path)); err != nil {
					t.Fatal(err)
				}
				if out, err := exec.Command("cp", filepath.Join(fresh, path), filepath.Join(o.folder, path)).CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := owner{Place: testplace.Fake(t, "OC_FAKE=sh,ok", "OC_FAKE_SH=n=0; until [ -e over ] || [ $n = 600 ]; do n=$((n+1)); sleep 0.05; done", "OC_FAKE_TEXT=It is done.")}
			o.folder = filepath.Join(o.Root, "plug in")
			o.copyFolder(old)
			var ids []string
			for range 2 {
				out, exit := o.job("start", "--max-jobs", "1", "What is there?")
				if exit != 0 {
					t.Fatalf("start: exit %d, %s", exit, out)
				}
				ids = append(ids, strings.TrimSpace(out))
			}
			for i, state := range []string{"running", "queued"} {
				var got struct{ State string }
				for deadline := time.Now().Add(10 * time.Second); got.State != state; time.Sleep(20 * time.Millisecond) {
					if out, exit := o.job("status", "--json", ids[i]); exit != 0 || json.Unmarshal([]byte(out), &got) != nil || time.Now().After(deadline) {
						t.Fatalf("job %d is not %s: exit %d, %s", i, state, exit, out)
					}
				}
			}
			c.change(&o)
			if out, _ := o.job("--version"); !strings.HasPrefix(out, "oc-job 9.9.9-was-") {
				t.Fatalf("the other version is %q", out)
			}
			o.Write("project/over", "")
			if out, exit := o.job("wait", "--timeout", "300s", ids[0], ids[1]); exit != 0 || strings.Count(out, " succeeded OK") != 2 {
				t.Fatalf("wait: exit %d, %s", exit, out)
			}
			for _, id := range ids {
				if out, exit := o.job("result", id); exit != 0 || out != "It is done.\n" {
					t.Errorf("result: exit %d, %q", exit, out)
				}
			}
		})
	}
}
