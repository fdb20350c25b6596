package sandbox

import (
	"archive/zip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"opencode-delegate/internal/gocache"
)

// A gopher is a user with a project that needs a library, and caches that the real go has filled.
type gopher struct {
	bench
	standard string // a layer with the standard library
}

const (
	library = "package greet\n\n// Word is what the library says.\nfunc Word() string { return \"honest\" }\n"
	// The test wants what only a patched library says.
	libraryTest = "package m\n\nimport (\n\t\"os\"\n\t\"testing\"\n\n\t\"example.com/greet\"\n)\n\nfunc TestWord(t *testing.T) {\n\tif w := greet.Word(); w != os.Getenv(\"WANT\") {\n\t\tt.Fatal(\"the library says\", w)\n\t}\n}\n"
)

func newGopher(t *testing.T) gopher {
	t.Helper()
	g := gopher{bench: newBench(t)}
	proxy := filepath.Join(g.root, "proxy/example.com/greet/@v")
	const mod = "module example.com/greet\n\ngo 1.24\n"
	put(t, filepath.Join(proxy, "list"), "v1.0.0\n")
	put(t, filepath.Join(proxy, "v1.0.0.mod"), mod)
	put(t, filepath.Join(proxy, "v1.0.0.info"), `{"Version":"v1.0.0","Time":"2026-01-01T00:00:00Z"}`)
	f, err := os.Create(filepath.Join(proxy, "v1.0.0.zip"))
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	for name, text := range map[string]string{"go.mod": mod, "greet.go": library} {
		w, err := z.Create("example.com/greet@v1.0.0/" + name)
		if err == nil {
			_, err = w.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(g.run.Dir, "go.mod"), "module m\n\ngo 1.24\n\nrequire example.com/greet v1.0.0\n")
	put(t, filepath.Join(g.run.Dir, "m_test.go"), libraryTest)
	g.run.Environ = append(g.run.Environ, "GOPROXY=file://"+filepath.Join(g.root, "proxy"), "GOSUMDB=off", "GOTOOLCHAIN=local", "GOFLAGS=-mod=mod",
		"GOCACHE="+filepath.Join(g.run.Home, "build"), "GOMODCACHE="+filepath.Join(g.run.Home, "mod"), "CGO_ENABLED=0", "WANT=honest")
	t.Cleanup(func() { _ = exec.Command("chmod", "-R", "u+w", g.root).Run() }) // extracted modules are read-only
	// The standard library comes from where it is built already, else this test would take minutes.
	own, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	g.standard = filepath.Join(g.root, "standard")
	if err := os.Mkdir(g.standard, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(strings.TrimSpace(string(own)), filepath.Join(g.standard, goBuild)); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	prog, err := gocache.Command(self, filepath.Join(g.run.Home, "build"), strings.TrimSpace(string(own)))
	if err != nil {
		t.Fatal(err)
	}
	g.run.Environ = append(g.run.Environ, "GOCACHEPROG="+prog)
	if out, code := g.goTest(t, g.run, "honest"); code != 0 {
		t.Fatalf("%d\n%s", code, out)
	}
	return g
}

// layer gives a run a layer of its own.
func (g gopher) layer(t *testing.T, r *Run, dir string, warm ...string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	r.Layer, r.Warm = dir, append(warm, g.standard)
}

// goTest runs the project's test in the cage of a run.
func (g gopher) goTest(t *testing.T, r Run, want string) (string, int) {
	t.Helper()
	return g.script(t, r, "go test -count=1 ./...", "WANT="+want)
}

func (g gopher) script(t *testing.T, r Run, script string, more ...string) (string, int) {
	t.Helper()
	environ := r.Environ
	if r.Layer != "" {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		add, err := r.LayerEnv(self)
		if err != nil {
			t.Fatal(err)
		}
		environ = Replace(environ, add)
	}
	p, err := r.Writing()
	if err != nil {
		t.Fatal(err)
	}
	return g.sh(t, p, script, append(environ, more...)...)
}

// patches are what a worker does to the caches that its go uses.
var patches = map[string]string{
	"module cache": `dir=$(go list -f {{.Dir}} example.com/greet) && chmod -R u+w "$dir" && sed -i s/honest/hacked/ "$dir/greet.go"`,
	"build cache":  `go test -count=1 ./... >&2; files=$(grep -rl honest "$(go env GOCACHE)") && sed -i s/honest/hacked/ $files`,
}

// TestAPatchedCache: without layers a worker that patches a cache decides what the check sees; with them it does not.
func TestAPatchedCache(t *testing.T) {
	for name, patch := range patches {
		t.Run(name, func(t *testing.T) {
			g := newGopher(t)
			for _, layered := range []bool{true, false} {
				worker, check := g.run, g.run
				if layered {
					g.layer(t, &worker, filepath.Join(g.root, "layers/worker"))
					g.layer(t, &check, filepath.Join(g.root, "layers/check"))
				}
				if out, code := g.goTest(t, check, "hacked"); code == 0 {
					t.Fatalf("the check is green before anything was done\n%s", out)
				}
				out, code := g.script(t, worker, patch)
				if code != 0 {
					t.Fatalf("the patch: %d\n%s", code, out)
				}
				if out, code := g.goTest(t, worker, "hacked"); code != 0 {
					t.Fatalf("the patch does not reach the worker's own builds\n%s", out)
				}
				if layered {
					g.layer(t, &check, filepath.Join(g.root, "layers/check 2"))
				}
				out, code = g.goTest(t, check, "hacked")
				if hacked := code == 0; hacked == layered {
					t.Errorf("layers %v: the check is green: %v\n%s", layered, hacked, out)
				}
				out, code = g.goTest(t, check, "honest")
				if honest := code == 0; honest != layered {
					t.Errorf("layers %v: the honest check is green: %v\n%s", layered, honest, out)
				}
			}
		})
	}
}

// TestTheUsersCachesAreClosed: a run with a layer cannot write the user's caches, of whatever tool, nor another layer.
func TestTheUsersCachesAreClosed(t *testing.T) {
	b := newBench(t)
	other := filepath.Join(b.run.StateRoot, "jobs/x/layers/0")
	b.run.Layer = filepath.Join(b.run.StateRoot, "jobs/x/layers/1")
	for _, dir := range []string{other, b.run.Layer} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	b.run.Warm = []string{other}
	var tries []try
	for i, c := range caches {
		dir := c.locate(b.run.Home, lookup(b.run.Environ))
		put(t, filepath.Join(dir, "file"), "x")
		tries = append(tries, try{string(rune('a'+i%26)) + string(rune('a'+i/26)), "echo y >" + dir + "/file || touch " + dir + "/new"})
	}
	tries = append(tries, try{"other", "touch " + other + "/x"}, try{"beside", "touch " + b.run.StateRoot + "/x"}, try{"layer", "touch " + b.run.Layer + "/x"})
	for name, code := range b.results(t, b.writing(t), tries) {
		if (code == 0) != (name == "layer") {
			t.Errorf("%s: exit %d", name, code)
		}
	}
}

// TestWarm: what a layer that is finished holds is found by the next one, although the user's caches are empty and nothing else is there.
func TestWarm(t *testing.T) {
	g := newGopher(t)
	first := g.run
	g.layer(t, &first, filepath.Join(g.root, "layers/first"))
	if out, code := g.goTest(t, first, "honest"); code != 0 {
		t.Fatalf("%d\n%s", code, out)
	}
	second := g.run
	second.Environ = Replace(second.Environ, []string{"GOMODCACHE=" + filepath.Join(g.root, "none"), "GOPROXY=off"})
	g.layer(t, &second, filepath.Join(g.root, "layers/second"))
	if out, code := g.goTest(t, second, "honest"); code == 0 {
		t.Fatalf("the library came from nowhere\n%s", out)
	}
	g.layer(t, &second, filepath.Join(g.root, "layers/third"), first.Layer)
	if out, code := g.goTest(t, second, "honest"); code != 0 {
		t.Errorf("%d\n%s", code, out)
	}
}
