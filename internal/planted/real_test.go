package planted

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"opencode-delegate/internal/realopencode"
	"opencode-delegate/internal/sandbox"
	"opencode-delegate/internal/testmodel"
)

// The real opencode flags nothing by itself: neither in a home in which it has never been, nor in a used one.
func TestRealOrdinaryRun(t *testing.T) {
	model, err := testmodel.Start(testmodel.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	root := t.TempDir()
	b := bench{root: root, keep: filepath.Join(root, "kept")}
	b.put(t, "config.json", string(model.Config()))
	b.put(t, "home/.gitconfig", "")
	b.put(t, "project/a.txt", "a\n")
	project := filepath.Join(root, "project")
	git(t, project, "init", "-q")
	environ := realopencode.Environ(filepath.Join(root, "home"), "OPENCODE_CONFIG="+filepath.Join(root, "config.json"), "PWD="+project, "npm_config_offline=true")
	if b.dirs, err = sandbox.Dirs(environ); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"first", "second"} {
		before := b.capture(t)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		cmd := exec.CommandContext(ctx, realopencode.Path(t), "run", "--title", "T", "--auto", "-m", "mock/worker")
		cmd.Dir, cmd.Env = project, environ
		cmd.Stdin = strings.NewReader(`[[mock:[{"tool":"write","args":{"filePath":"b.txt","content":"` + text + `\n"}},{"text":"done"}]]]`)
		out, err := cmd.CombinedOutput()
		cancel()
		if err != nil || b.get(t, "project/b.txt") != text+"\n" {
			t.Fatalf("%v: %s", err, out)
		}
		if found := b.check(t, before); len(found) != 0 {
			t.Errorf("the %s run: %+v", text, found)
		}
		configs, err := filepath.Glob(filepath.Join(b.dirs.Data, "snapshot/*/*/config"))
		if err != nil || len(configs) != 1 {
			t.Errorf("snapshots after the %s run: %v (%v)", text, configs, err)
		}
		if state := b.capture(t); len(configs) == 1 && !strings.Contains(string(state.files[configs[0]].text), "fsmonitor = false") {
			t.Errorf("the snapshot's configuration was not read: %+v", state.files)
		}
	}
}
