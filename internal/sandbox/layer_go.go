package sandbox

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"opencode-delegate/internal/gocache"
)

// Directories of go in a layer.
const (
	goBuild   = "go-build"
	goModules = "go-mod"
)

// goEnv sends go to a layer. Modules are taken from the user's cache as from a proxy: extracted again, and checked against go.sum, which nobody does with
// what is extracted already. Builds are found in the user's cache, and what is new goes into the layer.
func (r Run) goEnv(self string, layers []string) ([]string, error) {
	env := lookup(r.Environ)
	settings := goSettings(r.Home, env)
	modules := (cache{env: "GOMODCACHE", path: "go/pkg/mod"}).locate(r.Home, settings)
	builds := (cache{env: "GOCACHE", path: ".cache/go-build"}).locate(r.Home, settings)
	var lower, proxies []string
	for _, layer := range layers[1:] {
		lower = append(lower, filepath.Join(layer, goBuild))
		proxies = append(proxies, proxyOf(filepath.Join(layer, goModules)))
	}
	if builds != "" {
		lower = append(lower, builds)
	}
	if modules != "" {
		proxies = append(proxies, proxyOf(modules))
	}
	prog, err := gocache.Command(self, filepath.Join(layers[0], goBuild), lower...)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(layers[0], "go-path")
	if own := settings("GOPATH"); own != "" {
		path += string(filepath.ListSeparator) + own
	} else {
		path += string(filepath.ListSeparator) + filepath.Join(r.Home, "go")
	}
	add := []string{
		"GOCACHE=" + filepath.Join(layers[0], goBuild), "GOCACHEPROG=" + prog,
		"GOMODCACHE=" + filepath.Join(layers[0], goModules), "GOPATH=" + path,
		// Without -modcacherw a layer could not be removed.
		"GOFLAGS=" + strings.TrimSpace(settings("GOFLAGS")+" -modcacherw"),
	}
	beyond := settings("GOPROXY")
	if private := settings("GOPRIVATE") + settings("GONOPROXY"); private != "" && private != "none" {
		// A private module that lies in the cache has to be asked for like any other, and one that does not must not be asked for at a public proxy.
		add = append(add, "GONOPROXY=none")
		beyond = "direct"
	}
	if beyond == "" {
		beyond = "direct"
	}
	add = append(add, "GOPROXY="+strings.Join(append(proxies, beyond), ","))
	return add, linkToolchains(modules, filepath.Join(layers[0], goModules))
}

// proxyOf is the address of what a module cache has downloaded.
func proxyOf(modules string) string {
	path := filepath.ToSlash(filepath.Join(modules, "cache", "download"))
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // C:/…
	}
	address := url.URL{Scheme: "file", Path: path}
	return strings.NewReplacer(",", "%2C", "|", "%7C").Replace(address.String())
}

// linkToolchains lets a layer find the toolchains of the user's cache, which go keeps like modules: each is some hundred megabytes.
func linkToolchains(modules, layer string) error {
	if modules == "" {
		return nil
	}
	found, _ := filepath.Glob(filepath.Join(escapeGlob(modules), "golang.org", "toolchain@*"))
	if len(found) == 0 {
		return nil
	}
	if downloads := filepath.Join(modules, "cache", "download", "golang.org", "toolchain"); isDir(downloads) {
		found = append(found, downloads)
	}
	for _, from := range found {
		rel, err := filepath.Rel(modules, from)
		if err != nil {
			return err
		}
		to := filepath.Join(layer, rel)
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		if err := os.Symlink(from, to); err != nil && !os.IsExist(err) {
			return err
		}
	}
	return nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// escapeGlob keeps the characters of a path from being a pattern.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `[`, `\[`, `*`, `\*`, `?`, `\?`).Replace(path)
}

// goSettings is what go takes a variable of its own to be: the environment, the file that `go env -w` writes, the defaults that come with
// the go that PATH names. None of it is run.
func goSettings(home string, env func(string) string) func(string) string {
	file := env("GOENV")
	if file == "" {
		file = locate(".config/go/env", home, env)
	}
	root := env("GOROOT")
	for _, dir := range filepath.SplitList(env("PATH")) {
		if root != "" {
			break
		}
		if real, err := filepath.EvalSymlinks(filepath.Join(dir, "go")); err == nil && filepath.IsAbs(dir) {
			root = filepath.Dir(filepath.Dir(real))
		}
	}
	sources := []func(string) string{env}
	for _, path := range []string{file, filepath.Join(root, "go.env")} {
		if filepath.IsAbs(path) {
			sources = append(sources, lookup(strings.Split(readSmall(path), "\n")))
		}
	}
	return func(name string) string {
		for _, source := range sources {
			if value := strings.TrimSpace(source(name)); value != "" {
				return value
			}
		}
		return ""
	}
}
