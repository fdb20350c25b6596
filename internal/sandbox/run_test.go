package sandbox

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"opencode-delegate/internal/fault"
)

// usage reports whether err is a USAGE fault whose reason or hints hold each of the words.
func usage(err error, words ...string) bool {
	f := fault.Of(err)
	if f == nil || f.Kind != fault.Usage {
		return false
	}
	text := f.Reason + "\n" + strings.Join(f.Hints, "\n")
	for _, w := range words {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}

func TestCheckDir(t *testing.T) {
	b := newBench(t)
	link := filepath.Join(b.root, "link-to-root")
	if err := os.Symlink(b.root, link); err != nil {
		t.Fatal(err)
	}
	for dir, refused := range map[string]bool{
		b.run.Dir: false, b.out: false, filepath.Join(b.run.Home, "work"): false, filepath.Join(b.run.Home, ".config/fish"): false,
		filepath.Join(b.run.Opencode.Data, "worktree/x"): false, b.run.Home + "-other": false,
		b.run.Home: true, b.root: true, "/": true, link: true, filepath.Join(b.run.Home, ".config"): true, filepath.Join(b.run.Home, ".local"): true,
		b.run.Opencode.Config: true, filepath.Join(b.run.Opencode.Config, "plugin"): true, b.run.Opencode.Data: true, b.run.Opencode.Cache: true,
		b.run.Opencode.State: true, b.run.StateRoot: true, filepath.Join(b.run.StateRoot, "jobs/x"): true, filepath.Dir(b.run.StateRoot): true,
	} {
		err := CheckDir(dir, b.run.Home, b.run.StateRoot, b.run.Opencode)
		if refused && !usage(err, dir, "--dir", "--no-sandbox") || !refused && err != nil {
			t.Errorf("%s: %v, want refused = %v", dir, err, refused)
		}
	}
}

func TestWritingRefusesWhatWouldActLater(t *testing.T) {
	b := newBench(t)
	put(t, filepath.Join(b.run.Home, ".bashrc"), "")
	put(t, filepath.Join(b.run.Home, ".local/bin/tool"), "")
	link := filepath.Join(b.root, "innocent")
	if err := os.Symlink(filepath.Join(b.run.Home, ".local/bin"), link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{b.run.Home, b.root, "/", filepath.Join(b.run.Home, ".bashrc"), filepath.Join(b.run.Home, ".local"),
		filepath.Join(b.run.Home, ".local/bin"), filepath.Join(b.run.Home, ".local/bin/tool"), b.run.Opencode.Config, b.run.StateRoot, link} {
		r := b.run
		r.AllowWrite = []string{path}
		if p, err := r.Writing(); !usage(err, "--allow-write "+path) {
			t.Errorf("--allow-write %s: %v, %v", path, p.Write, err)
		}
	}
	r := b.run
	r.AllowWrite = []string{filepath.Join(b.root, "missing")}
	if _, err := r.Writing(); !usage(err, "--allow-write", "missing") {
		t.Errorf("a missing path: %v", err)
	}
	r = b.run
	r.Git = []string{b.root}
	if _, err := r.Writing(); !usage(err, "git directory") {
		t.Errorf("a git directory that holds HOME: %v", err)
	}
}

func TestReadOnlyRefusesWhatItCannotKeep(t *testing.T) {
	b := newBench(t)
	inside := filepath.Join(b.run.Opencode.Data, "worktree/x")
	if err := os.MkdirAll(inside, 0o700); err != nil {
		t.Fatal(err)
	}
	r := b.run
	r.Dir = inside
	if _, err := r.ReadOnly(); !usage(err, inside, "read-only") {
		t.Errorf("a project inside opencode's data: %v", err)
	}
	r.Dir = b.run.Tmp
	if _, err := r.ReadOnly(); !usage(err, b.run.Tmp) {
		t.Errorf("a project inside the private temporary directory: %v", err)
	}

	// One directory for all four XDG variables makes the configuration writable with the data.
	r = b.run
	r.Opencode.Config = r.Opencode.Data
	if _, err := r.ReadOnly(); !usage(err, "XDG_CONFIG_HOME") {
		t.Errorf("configuration and data in one place: %v", err)
	}
	r = b.run
	r.Opencode.Cache = b.root
	if _, err := r.Writing(); !usage(err, b.root) {
		t.Errorf("a cache that holds HOME: %v", err)
	}
	r.Opencode.Config, r.StateRoot, r.Opencode.Cache = b.out, filepath.Join(b.root, "records"), b.run.Home
	if _, err := r.ReadOnly(); !usage(err, b.run.Home) {
		t.Errorf("a cache that is HOME: %v", err)
	}
	r.Opencode.Config, r.Opencode.Cache, r.StateRoot = b.run.Opencode.Config, b.out, filepath.Join(b.out, "records")
	if _, err := r.ReadOnly(); !usage(err, b.out) {
		t.Errorf("a cache that holds the records: %v", err)
	}
	for _, spoil := range []func(*Run){func(r *Run) { r.Home = "" }, func(r *Run) { r.Tmp = "tmp" }, func(r *Run) { r.StateRoot = "" }, func(r *Run) { r.Opencode.Data = "x" }} {
		r := b.run
		spoil(&r)
		if _, err := r.ReadOnly(); !usage(err, "absolute") {
			t.Errorf("%+v: %v", r, err)
		}
	}
}

// A probe has no project, and may be started in the private directory.
func TestReadOnlyWithoutAProject(t *testing.T) {
	b := newBench(t)
	with := b.readOnly(t)
	b.run.Dir = ""
	if p := b.readOnly(t); !slices.Equal(p.Write, with.Write) || len(p.Read) != 0 {
		t.Errorf("%+v, with a project %+v", p, with)
	}
	if _, err := b.run.Writing(); err == nil {
		t.Error("a writing run needs a project")
	}
}

func TestTheDatabaseMayLieElsewhere(t *testing.T) {
	b := newBench(t)
	environ := b.run.Environ
	b.run.Environ = append(slices.Clone(environ), "OPENCODE_DB="+filepath.Join(b.out, "my.db"))
	if p := b.readOnly(t); !slices.Contains(p.Write, b.out) {
		t.Errorf("%v lacks the directory of the database", p.Write)
	}
	b.run.Environ = append(slices.Clone(environ), "OPENCODE_DB="+filepath.Join(b.run.Home, "my.db"))
	if _, err := b.run.ReadOnly(); !usage(err, b.run.Home, "OPENCODE_DB") {
		t.Errorf("a database in HOME: %v", err)
	}
	for _, db := range []string{":memory:", "other.db", ""} {
		b.run.Environ = append(slices.Clone(environ), "OPENCODE_DB="+db)
		b.readOnly(t)
	}
}

// HOME itself can be a project that is only read.
func TestReadOnlyInHome(t *testing.T) {
	b := newBench(t)
	b.run.Dir = b.run.Home
	if _, err := b.run.ReadOnly(); err != nil {
		t.Error(err)
	}
}

func TestTemporaryDirectoriesAreGrantedUnlessTheyHoldHome(t *testing.T) {
	b := newBench(t)
	p := b.writing(t)
	if tmp := dirOf(os.TempDir()); within(b.root, "/tmp") && slices.Contains(p.Write, tmp) {
		t.Errorf("%s is writable, and with it the home %s", tmp, b.run.Home)
	}
	if runtime.GOOS != "linux" {
		return
	}
	r := b.run
	r.Home = "/home/somebody-else"
	r.StateRoot = "/home/somebody-else/.local/state/opencode-delegate"
	r.Environ = []string{"HOME=" + r.Home}
	config, err := os.MkdirTemp("/dev/shm", "oc-config-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(config) })
	r.Opencode.Config = config
	p, err = r.Writing()
	if err != nil || !slices.Contains(p.Write, "/tmp") {
		t.Errorf("/tmp is missing from %v, %v", p.Write, err)
	}
}

func TestBuildCaches(t *testing.T) {
	b := newBench(t)
	bin := filepath.Join(b.root, "bin")
	put(t, filepath.Join(bin, "go"), "#!/bin/sh\n")
	put(t, filepath.Join(bin, "npm"), "#!/bin/sh\n")
	if err := os.Chmod(filepath.Join(bin, "go"), 0o755); err != nil {
		t.Fatal(err)
	}
	home := b.run.Home
	put(t, filepath.Join(home, ".cargo/registry/index"), "")
	put(t, filepath.Join(home, ".cargo/.package-cache"), "")
	env := func(more ...string) func(string) string {
		return lookup(append([]string{"PATH=" + bin + ":relative", "HOME=" + home}, more...))
	}
	has := func(list []string, path string) bool { return slices.Contains(list, filepath.Join(home, path)) }

	got := buildCaches(home, env())
	for path, want := range map[string]bool{
		".cache/go-build": true, "go/pkg/mod": true, ".cargo/registry": true, ".cargo/.package-cache": true,
		".npm/_cacache": false, // there, but no program
		".cargo/git":    false, "go/bin": false, ".cargo/bin": false, ".cache": false,
	} {
		if has(got, path) != want {
			t.Errorf("%s granted: %v, want %v", path, !want, want)
		}
	}
	if _, err := os.Stat(filepath.Join(home, ".npm")); err == nil {
		t.Error("a cache of a tool that is not there was made")
	}
	got = buildCaches(home, env("GOCACHE="+filepath.Join(b.root, "elsewhere"), "GOPATH="+filepath.Join(home, "gopath")+":/other", "CARGO_HOME="+filepath.Join(home, "c")))
	if !slices.Contains(got, filepath.Join(b.root, "elsewhere")) || has(got, ".cache/go-build") || !has(got, "gopath/pkg/mod") || has(got, ".cargo/registry") {
		t.Errorf("variables do not move caches: %v", got)
	}
	if got = buildCaches(home, env("GOCACHE=off")); has(got, ".cache/go-build") {
		t.Error("GOCACHE=off still grants a cache")
	}

	// A variable cannot widen the grant to a place that is kept.
	r := b.run
	r.Environ = append(slices.Clone(r.Environ), "GOCACHE="+home, "PIP_CACHE_DIR="+filepath.Join(home, ".local"), "UV_CACHE_DIR=/", "GOMODCACHE="+r.Opencode.Config)
	p, err := r.Writing()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{home, filepath.Join(home, ".local"), "/", r.Opencode.Config} {
		if slices.Contains(p.Write, path) {
			t.Errorf("%s became writable as a cache", path)
		}
	}
}

func TestDirs(t *testing.T) {
	d, err := Dirs([]string{"HOME=/h", "XDG_DATA_HOME=/d", "XDG_STATE_HOME=", "XDG_CACHE_HOME=/old", "XDG_CACHE_HOME=/c"})
	if want := (OpencodeDirs{Data: "/d/opencode", Cache: "/c/opencode", State: "/h/.local/state/opencode", Config: "/h/.config/opencode"}); err != nil || d != want {
		t.Errorf("%+v, %v, want %+v", d, err, want)
	}
	for _, env := range [][]string{{}, {"HOME="}, {"HOME=h"}, {"HOME=/h", "XDG_CONFIG_HOME=relative"}} {
		if _, err := Dirs(env); !usage(err) {
			t.Errorf("%q: %v", env, err)
		}
	}
	all := []string{"XDG_DATA_HOME=/a", "XDG_STATE_HOME=/b", "XDG_CACHE_HOME=/c", "XDG_CONFIG_HOME=/d"}
	if _, err := Dirs(all); err != nil {
		t.Errorf("without HOME, but with all the others: %v", err)
	}
}

func TestEnsureMakesPrivateDirectories(t *testing.T) {
	home := t.TempDir()
	d, err := Dirs([]string{"HOME=" + home})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := d.Ensure(); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{d.Data, d.Cache, d.State, d.Config} {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() || runtime.GOOS != "windows" && info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", dir, info, err)
		}
	}
	put(t, filepath.Join(home, "file"), "")
	d.Data = filepath.Join(home, "file/opencode")
	if err := d.Ensure(); err == nil {
		t.Error("a file in the way goes unnoticed")
	}
}

func TestDropped(t *testing.T) {
	for name, want := range map[string]bool{
		"SSH_AUTH_SOCK": true, "DBUS_SESSION_BUS_ADDRESS": true, "DOCKER_HOST": true, "TMUX": true, "TMUX_PANE": true, "VSCODE_IPC_HOOK_CLI": true,
		"DISPLAY": true, "XDG_RUNTIME_DIR": true, "PATH": false, "HOME": false, "XDG_DATA_HOME": false, "TMUXINATOR": false, "DBUS": false, "GOPATH": false, "": false,
	} {
		if Dropped(name) != want {
			t.Errorf("%q leaves: %v", name, !want)
		}
	}
}

func TestAddEnv(t *testing.T) {
	for _, c := range []struct {
		environ []string
		writing bool
		want    []string
	}{
		{nil, false, []string{"npm_config_offline=true"}}, {[]string{"NPM_CONFIG_OFFLINE=false"}, false, nil},
		{[]string{"npm_config_offline_x=1", "npm_config_fetch_retry_maxtimeout=9"}, true, []string{"npm_config_fetch_retry_mintimeout=1000"}},
	} {
		if got := AddEnv(c.environ, c.writing); !slices.Equal(got, c.want) {
			t.Errorf("%q, writing %v: %q, want %q", c.environ, c.writing, got, c.want)
		}
	}
}

func TestCommandRefusesUncleanPaths(t *testing.T) {
	for name, err := range map[string]error{
		"relative program": second(Policy{}.Command("/self", []string{"opencode"})),
		"relative self":    second(Policy{}.Command("self", []string{"/opencode"})),
		"no program":       second(Policy{}.Command("/self", nil)),
		"relative grant":   second(Policy{Write: []string{"x"}}.Command("/self", []string{"/opencode"})),
		"dots in a grant":  second(Policy{Read: []string{"/x/../etc"}}.Command("/self", []string{"/opencode"})),
		"a NUL":            second(Policy{Hide: []string{"/x\x00y"}}.Command("/self", []string{"/opencode"})),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	wrapped, env, err := Policy{Write: []string{"/w"}}.Command("/self", []string{"/opencode", "run", "-x"})
	if err != nil || !slices.Equal(wrapped, []string{"/self", role, "/opencode", "run", "-x"}) || len(env) != 1 {
		t.Errorf("%q, %q, %v", wrapped, env, err)
	}
}

func second(_, _ []string, err error) error { return err }

func TestMainLeavesOrdinaryCallsAlone(t *testing.T) {
	for _, args := range [][]string{{}, {"oc-delegate"}, {"oc-delegate", "a prompt"}, {role}, {"oc-delegate", "--", role}} {
		if code, ok := Main(args); ok || code != 0 {
			t.Errorf("%q: %d, %v", args, code, ok)
		}
	}
}
