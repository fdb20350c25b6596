package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestLayerEnv: whatever a tool is told to write lies in the layer, and what of the user's it is told to read is where the user has it.
func TestLayerEnv(t *testing.T) {
	b := newBench(t)
	b.run.Layer = filepath.Join(b.root, "the layer")
	warm := filepath.Join(b.root, "warm")
	root := filepath.Join(b.root, "goroot")
	for _, dir := range []string{b.run.Layer, warm} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	b.run.Warm = []string{warm}
	put(t, filepath.Join(root, "bin/go"), "")
	put(t, filepath.Join(root, "go.env"), "# defaults\nGOPROXY=https://proxy.example,direct\nGOFLAGS=-x\n")
	put(t, filepath.Join(b.run.Home, ".config/go/env"), "GOFLAGS=-mod=mod\n")
	put(t, filepath.Join(b.run.Home, "mod, old/golang.org/toolchain@v0.0.1-go1.30.linux-amd64/bin/go"), "")
	put(t, filepath.Join(b.run.Home, "mod, old/cache/download/golang.org/toolchain/@v/list"), "")
	b.run.Environ = []string{"HOME=" + b.run.Home, "PATH=relative:" + root + "/bin", "GOMODCACHE=" + b.run.Home + "/mod, old", "MAVEN_ARGS=-q", "GOCACHE=" + b.run.Home + "/build"}
	add, err := b.run.LayerEnv("/the tool")
	if err != nil {
		t.Fatal(err)
	}
	env := lookup(add)
	for _, name := range []string{"npm_config_cache", "PNPM_HOME", "PIP_CACHE_DIR", "UV_CACHE_DIR", "GOCACHE", "GOMODCACHE", "GRADLE_USER_HOME", "NUGET_PACKAGES", "STATICCHECK_CACHE", "PYTHONPYCACHEPREFIX"} {
		if !within(env(name), b.run.Layer) {
			t.Errorf("%s is %q", name, env(name))
		}
	}
	for name, want := range map[string]string{
		"GOFLAGS":             "-mod=mod -modcacherw",
		"GOPROXY":             "file://" + warm + "/go-mod/cache/download,file://" + b.run.Home + "/mod%2C%20old/cache/download,https://proxy.example,direct",
		"GOCACHEPROG":         "'/the tool' '__gocache' '" + b.run.Layer + "/go-build' '" + warm + "/go-build' '" + b.run.Home + "/build'",
		"GOPATH":              b.run.Layer + "/go-path:" + b.run.Home + "/go",
		"MAVEN_ARGS":          "-q -Dmaven.repo.local=" + b.run.Layer + "/maven -Dmaven.repo.local.tail=" + b.run.Home + "/.m2/repository",
		"GRADLE_RO_DEP_CACHE": b.run.Home + "/.gradle/caches", "POETRY_VIRTUALENVS_PATH": b.run.Home + "/.cache/pypoetry/virtualenvs", "GONOPROXY": "",
	} {
		if env(name) != want {
			t.Errorf("%s is %q, want %q", name, env(name), want)
		}
	}
	for link, to := range map[string]string{"golang.org/toolchain@v0.0.1-go1.30.linux-amd64": "golang.org/toolchain@v0.0.1-go1.30.linux-amd64", "cache/download/golang.org/toolchain": "cache/download/golang.org/toolchain"} {
		if got, err := os.Readlink(filepath.Join(b.run.Layer, goModules, link)); err != nil || got != filepath.Join(b.run.Home, "mod, old", to) {
			t.Errorf("%s: %s, %v", link, got, err)
		}
	}
	// A private module is asked for in the caches, and at no public proxy.
	b.run.Environ = append(b.run.Environ, "GOPRIVATE=example.com/secret")
	if add, err = b.run.LayerEnv("/tool"); err != nil {
		t.Fatal(err)
	}
	if env = lookup(add); env("GONOPROXY") != "none" || strings.Contains(env("GOPROXY"), "https") || !strings.HasSuffix(env("GOPROXY"), ",direct") {
		t.Errorf("%s, %s", env("GONOPROXY"), env("GOPROXY"))
	}
	b.run.Layer = filepath.Join(b.root, "missing")
	if _, err := b.run.LayerEnv("/tool"); err == nil {
		t.Error("a layer that is not there was taken")
	}
	if got := Replace([]string{"A=1", "B=2", "AB=3"}, []string{"A=4"}); !slices.Equal(got, []string{"B=2", "AB=3", "A=4"}) {
		t.Errorf("%q", got)
	}
}
