package planted

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"opencode-delegate/internal/sandbox"
)

// A bench is opencode's directories after some use: a snapshot, a reference, a program, a plugin, logins, a list of models.
type bench struct {
	dirs sandbox.OpencodeDirs
	keep string
	root string
}

const hash = "snapshot/c5c365cbbf00269eaae57673e18c6fcc348b1031/25e8f55eb0f9295641f1c3dc6489dc8faf3fe65b"

func newBench(t testing.TB) bench {
	t.Helper()
	root := t.TempDir()
	b := bench{sandbox.OpencodeDirs{Data: filepath.Join(root, "data"), Cache: filepath.Join(root, "cache")}, filepath.Join(root, "record", "kept"), root}
	b.snapshot(t, hash)
	b.clone(t, "repos/github.com/owner/hooks")
	b.put(t, "cache/bin/rg", "the program")
	b.put(t, "cache/packages/plugin/node_modules/plugin/index.js", "export default 1")
	b.put(t, "data/auth.json", `{"mock":{"type":"api","key":"k"},"https://ours":{"type":"wellknown","key":"K","token":"t"}}`)
	b.put(t, "cache/models.json", `{"mock":{"npm":"@ai-sdk/openai","api":"https://api.example","models":{"m":{"provider":{"npm":"@ai-sdk/x"}}}}}`)
	return b
}

// snapshot makes a repository as opencode 1.18.33 does.
func (b bench) snapshot(t testing.TB, at string) string {
	t.Helper()
	dir := filepath.Join(b.dirs.Data, at)
	git(t, "", "init", "-q", "--bare", dir)
	b.put(t, "data/"+at+"/config", "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n"+
		"\tworktree = /some/project\n\tautocrlf = false\n\tlongpaths = true\n\tsymlinks = true\n\tfsmonitor = false\n\tuntrackedCache = true\n"+
		"[feature]\n\tmanyFiles = true\n[index]\n\tversion = 4\n\tthreads = true\n")
	b.put(t, "data/"+at+"/info/exclude", "x")
	b.put(t, "data/"+at+"/objects/info/alternates", "/some/project/.git/objects\n")
	return dir
}

func (b bench) clone(t testing.TB, at string) string {
	t.Helper()
	dir := filepath.Join(b.dirs.Data, at)
	git(t, "", "init", "-q", dir)
	git(t, dir, "remote", "add", "origin", "https://git.example/a.git")
	git(t, dir, "config", "branch.main.remote", "origin")
	b.put(t, "data/"+at+"/hooks/pre-commit", "a file of the checkout "+at)
	return dir
}

func git(t testing.TB, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func (b bench) put(t testing.TB, at, text string) {
	t.Helper()
	path := filepath.Join(b.root, at)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (b bench) get(t *testing.T, at string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(b.root, at))
	if errors.Is(err, os.ErrNotExist) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func (b bench) capture(t *testing.T) *State {
	t.Helper()
	s, err := Capture(t.Context(), b.dirs)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// check is Check, and a second one that must find nothing any more.
func (b bench) check(t *testing.T, before *State) []Violation {
	t.Helper()
	found, err := Check(t.Context(), before, b.keep)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := Check(t.Context(), before, b.keep); err != nil || len(again) > 0 {
		t.Errorf("a second check found %v (%v)", again, err)
	}
	return found
}

func TestPlanted(t *testing.T) {
	const config = "data/" + hash + "/config"
	const reference = "data/repos/github.com/owner/hooks/.git"
	evil := "[core]\n\tfsmonitor = /tmp/evil.sh\n"
	link := func(t *testing.T, b bench, at, target string) {
		path := filepath.Join(b.root, at)
		if err := errors.Join(os.RemoveAll(path), os.MkdirAll(filepath.Dir(path), 0o700), os.Symlink(target, path)); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		do       func(t *testing.T, b bench)
		at       string // what must be as before
		says     string
		download bool
	}{
		"fsmonitor":              {func(t *testing.T, b bench) { b.put(t, config, b.get(t, config)+evil) }, config, "core.fsmonitor", false},
		"no configuration":       {func(t *testing.T, b bench) { b.put(t, config, "[core\n") }, config, "no git configuration", false},
		"worktree configuration": {func(t *testing.T, b bench) { b.put(t, config+".worktree", evil) }, "", "core.fsmonitor", false},
		"configuration as link":  {func(t *testing.T, b bench) { link(t, b, config, "/tmp/evil") }, config, "no git configuration", false},
		"another work tree": {func(t *testing.T, b bench) {
			git(t, "", "config", "-f", filepath.Join(b.root, config), "core.worktree", "/etc")
		}, config, "core.worktree", false},
		"hook":                {func(t *testing.T, b bench) { b.put(t, "data/"+hash+"/hooks/post-index-change", "x") }, "data/" + hash + "/hooks/post-index-change", "git runs", false},
		"attributes":          {func(t *testing.T, b bench) { b.put(t, "data/"+hash+"/info/attributes", "* filter=x") }, "data/" + hash + "/info/attributes", "git runs or obeys", false},
		"commondir":           {func(t *testing.T, b bench) { b.put(t, "data/"+hash+"/commondir", "/tmp/evil") }, "data/" + hash + "/commondir", "git runs or obeys", false},
		"hooks as link":       {func(t *testing.T, b bench) { link(t, b, "data/"+hash+"/hooks", "/tmp/evil") }, "", "no directory", false},
		"repository as link":  {func(t *testing.T, b bench) { link(t, b, "data/snapshot/p/new", "/tmp/evil") }, "", "no directory", false},
		"new repository":      {func(t *testing.T, b bench) { b.put(t, "data/snapshot/p/new/config", evil) }, "", "core.fsmonitor", false},
		"hooks in advance":    {func(t *testing.T, b bench) { b.put(t, "data/snapshot/p/new/hooks/post-index-change", "x") }, "data/snapshot/p/new/hooks/post-index-change", "git runs", false},
		"reference":           {func(t *testing.T, b bench) { b.put(t, reference+"/config", b.get(t, reference+"/config")+evil) }, reference + "/config", "core.fsmonitor", false},
		"hook of a reference": {func(t *testing.T, b bench) { b.put(t, reference+"/hooks/post-checkout", "x") }, reference + "/hooks/post-checkout", "git runs", false},
		"new program":         {func(t *testing.T, b bench) { b.put(t, "cache/bin/gopls", "x") }, "cache/bin/gopls", "appeared", true},
		"program in data":     {func(t *testing.T, b bench) { b.put(t, "data/bin/rg", "x") }, "data/bin/rg", "appeared", true},
		"new package":         {func(t *testing.T, b bench) { b.put(t, "cache/node_modules/evil/index.js", "x") }, "cache/node_modules/evil/index.js", "appeared", true},
		"file in a package":   {func(t *testing.T, b bench) { b.put(t, "cache/packages/plugin/node_modules/plugin/x.js", "x") }, "cache/packages/plugin/node_modules/plugin/x.js", "appeared", true},
		"programs as link":    {func(t *testing.T, b bench) { link(t, b, "data/bin", "/tmp/evil") }, "", "appeared", false},
		"packages as link":    {func(t *testing.T, b bench) { link(t, b, "cache/packages", "/tmp/evil") }, "", "changed", false},
		"server": {func(t *testing.T, b bench) {
			b.put(t, "data/auth.json", `{"https://evil":{"type":"wellknown","key":"LD_PRELOAD","token":"x"}}`)
		}, "", "1 entries", false},
		"auth with a BOM":      {func(t *testing.T, b bench) { b.put(t, "data/auth.json", "\ufeff{}") }, "data/auth.json", "no JSON", false},
		"models from the disk": {func(t *testing.T, b bench) { b.put(t, "cache/models.json", `{"new":{"npm":"file:///tmp/evil.js"}}`) }, "cache/models.json", "packages on this disk", false},
		"models in a list": {func(t *testing.T, b bench) {
			b.put(t, "cache/models-1.json", `[{"models":[{"provider":{"npm":"../evil"}}]}]`)
		}, "cache/models-1.json", "packages on this disk", false},
		"models elsewhere": {func(t *testing.T, b bench) { b.put(t, "cache/models.json", `{"mock":{"api":"https://evil.example"}}`) }, "cache/models.json", "addresses", false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			before, text := b.capture(t), ""
			if c.at != "" {
				text = b.get(t, c.at)
			}
			c.do(t, b)
			found := b.check(t, before)
			if len(found) != 1 || !strings.Contains(found[0].What, c.says) || found[0].Download != c.download || strings.Contains(found[0].What, "\n") {
				t.Fatalf("found %+v, want one with %q", found, c.says)
			}
			if _, err := os.Lstat(found[0].Kept); err != nil || filepath.Dir(found[0].Kept) != b.keep {
				t.Errorf("kept: %v", err)
			}
			if c.at != "" && strings.Join(strings.Fields(b.get(t, c.at)), "") != strings.Join(strings.Fields(text), "") && !sameSettings(t, b, c.at, text) {
				t.Errorf("%s is now %q, was %q", c.at, b.get(t, c.at), text)
			}
			if strings.Contains(b.get(t, config)+b.get(t, config+".worktree")+b.get(t, "data/snapshot/p/new/config")+b.get(t, "data/auth.json"), "evil") {
				t.Error("what was planted is still there")
			}
		})
	}
}

// sameSettings compares git configurations by what git reads.
func sameSettings(t *testing.T, b bench, at, text string) bool {
	t.Helper()
	old := filepath.Join(b.root, "old")
	if err := os.WriteFile(old, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	list := func(path string) map[string]bool {
		out, err := exec.Command("git", "config", "-f", path, "--list").Output()
		if err != nil {
			t.Fatal(err)
		}
		lines := map[string]bool{}
		for line := range strings.Lines(string(out)) {
			lines[line] = true
		}
		return lines
	}
	a, z := list(old), list(filepath.Join(b.root, at))
	for line := range a {
		if !z[line] {
			return false
		}
	}
	return len(a) == len(z)
}

func TestChangedProgramIsMovedAway(t *testing.T) {
	b := newBench(t)
	before := b.capture(t)
	rg := filepath.Join(b.root, "cache/bin/rg")
	fi, err := os.Stat(rg)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(20 * time.Millisecond) // a tick of the kernel's clock
	b.put(t, "cache/bin/rg", "the PROGRAM")
	if err := os.Chtimes(rg, fi.ModTime(), fi.ModTime()); err != nil {
		t.Fatal(err)
	}
	found := b.check(t, before)
	if len(found) != 1 || found[0].Download || !strings.Contains(found[0].What, "cache/bin/rg") || b.get(t, "cache/bin/rg") != "" {
		t.Fatalf("found %+v", found)
	}
	if text, err := os.ReadFile(found[0].Kept); err != nil || string(text) != "the PROGRAM" {
		t.Errorf("kept %q (%v)", text, err)
	}
}

func TestChangedHookIsPutBack(t *testing.T) {
	b := newBench(t)
	const hook = "data/" + hash + "/hooks/pre-auto-gc"
	b.put(t, hook, "ours")
	before := b.capture(t)
	if err := os.Chmod(filepath.Join(b.root, hook), 0o700); err != nil {
		t.Fatal(err)
	}
	if found := b.check(t, before); len(found) != 1 {
		t.Errorf("a changed mode: %+v", found)
	}
	b.put(t, "data/snapshot/p/other/hooks/pre-auto-gc", "ours")
	if err := os.Chmod(filepath.Join(b.root, "data/snapshot/p/other/hooks/pre-auto-gc"), 0o700); err != nil {
		t.Fatal(err)
	}
	if found := b.check(t, before); len(found) != 1 {
		t.Errorf("a copy that can be executed, of one that cannot: %+v", found)
	}
	b.put(t, "data/snapshot/p/third/hooks/pre-auto-gc", "theirs")
	before = b.capture(t)
	b.put(t, hook, "theirs")
	if found := b.check(t, before); len(found) != 1 || b.get(t, hook) != "ours" {
		t.Errorf("found %+v, the hook is %q", found, b.get(t, hook))
	}
}

// What opencode does by itself, in this run or in another session of the user, is not flagged.
func TestOrdinaryUse(t *testing.T) {
	b := newBench(t)
	b.put(t, "data/"+hash+"/hooks/pre-auto-gc", "from the user's template")
	before := b.capture(t)
	b.snapshot(t, "snapshot/new/repository")
	b.put(t, "data/snapshot/new/repository/hooks/pre-auto-gc", "from the user's template")
	b.clone(t, "repos/github.com/other/project")
	b.put(t, "data/"+hash+"/index", "x")
	b.put(t, "data/"+hash+"/objects/aa/bb", "x")
	b.put(t, "data/"+hash+"/info/exclude", "y")
	git(t, "", "config", "-f", filepath.Join(b.root, "data", hash, "config"), "gc.auto", "0")
	const auth = `{"mock":{"type":"oauth","refresh":"new","expires":1764451561000},"https://ours":{"type":"wellknown","key":"K","token":"t"}}`
	b.put(t, "data/auth.json", auth)
	b.put(t, "cache/models.json", `{"mock":{"npm":"@ai-sdk/openai","api":"https://api.example"},"other":{"npm":"@ai-sdk/y","api":"https://y.example"}}`)
	b.put(t, "data/storage/x.json", "{}")
	if err := errors.Join(os.Remove(filepath.Join(b.root, "cache/bin/rg")), os.MkdirAll(filepath.Join(b.root, "data/bin"), 0o700)); err != nil {
		t.Fatal(err)
	}
	if found := b.check(t, before); len(found) != 0 || b.get(t, "data/auth.json") != auth {
		t.Errorf("found %+v", found)
	}
	if _, err := os.Lstat(b.keep); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory for what is kept: %v", err)
	}
}

func TestOnlyTheServerLeavesTheLogins(t *testing.T) {
	b := newBench(t)
	before := b.capture(t)
	b.put(t, "data/auth.json", `{"mock":{"type":"api","key":"NEW"},"https://ours":{"type":"wellknown","key":"PATH","token":"x"},"https://evil":{"type":"wellknown"}}`)
	found := b.check(t, before)
	var now map[string]map[string]string
	if err := json.Unmarshal([]byte(b.get(t, "data/auth.json")), &now); err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 || len(now) != 2 || now["mock"]["key"] != "NEW" || now["https://ours"]["key"] != "K" {
		t.Errorf("found %+v, now %v", found, now)
	}
	if kept, err := os.ReadFile(found[0].Kept); err != nil || strings.Contains(string(kept), "NEW") {
		t.Errorf("kept %s (%v)", kept, err)
	}
}

func TestNothingThereAndNoTime(t *testing.T) {
	dirs := sandbox.OpencodeDirs{Data: filepath.Join(t.TempDir(), "none"), Cache: filepath.Join(t.TempDir(), "none")}
	s, err := Capture(t.Context(), dirs)
	if err != nil {
		t.Fatal(err)
	}
	if found, err := Check(t.Context(), s, t.TempDir()); err != nil || len(found) != 0 {
		t.Errorf("%v, %v", found, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Capture(ctx, dirs); !errors.Is(err, context.Canceled) {
		t.Errorf("after its time: %v", err)
	}
	if _, err := Check(ctx, s, t.TempDir()); !errors.Is(err, context.Canceled) {
		t.Errorf("after its time: %v", err)
	}
}

func TestWhatCannotBeReadIsSaid(t *testing.T) {
	b := newBench(t)
	before := b.capture(t)
	deep := strings.Repeat("x/", maxDepth) + "y"
	if err := os.MkdirAll(filepath.Join(b.dirs.Data, "snapshot", deep), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Check(t.Context(), before, b.keep); !errors.Is(err, ErrIncomplete) {
		t.Errorf("a repository too deep: %v", err)
	}
}

func TestNothingIsMovedThroughALink(t *testing.T) {
	b := newBench(t)
	b.put(t, "elsewhere/rg", "not opencode's")
	if err := os.Symlink(filepath.Join(b.root, "elsewhere"), filepath.Join(b.dirs.Cache, "link")); err != nil {
		t.Fatal(err)
	}
	c := &check{after: &State{dirs: b.dirs}, keeper: keeper{dir: b.keep}}
	for _, path := range []string{filepath.Join(b.dirs.Cache, "link/rg"), filepath.Join(b.root, "elsewhere/rg")} {
		if kept, err := c.move(path); err == nil {
			t.Errorf("%s was moved to %s", path, kept)
		}
	}
	if _, err := c.move(filepath.Join(b.dirs.Cache, "link")); err != nil {
		t.Errorf("the link itself: %v", err)
	}
}
