package sandbox

import (
	"os"
	"path/filepath"
	"strings"
)

// A cache is a directory in which a build tool keeps what it can fetch or make again. Only such directories are granted to
// a writing run: never one with programs that are run later by name (~/go/bin, ~/.cargo/bin, ~/.npm/_npx, ~/.cache/pre-commit,
// ~/.gradle/wrapper, ~/.rustup), since a program planted there would run outside every sandbox. What is in a granted
// cache could be poisoned by a worker; that risk is the price of builds that work.
type cache struct {
	program string // the tool; a missing directory is made when this is on PATH, because the tool could not make it
	env     string // holds the directory, where set
	path    string // default, below HOME or an XDG directory
}

var caches = []cache{
	{"go", "GOCACHE", ".cache/go-build"}, {"go", "GOMODCACHE", "go/pkg/mod"}, {"go", "", "go/pkg/sumdb"},
	{"golangci-lint", "GOLANGCI_LINT_CACHE", ".cache/golangci-lint"}, {"staticcheck", "STATICCHECK_CACHE", ".cache/staticcheck"},
	{"gopls", "GOPLSCACHE", ".cache/gopls"},
	{"npm", "", ".npm/_cacache"}, {"npm", "", ".npm/_logs"}, {"node-gyp", "", ".cache/node-gyp"},
	{"pnpm", "", ".local/share/pnpm/store"}, {"pnpm", "", ".cache/pnpm"}, {"pnpm", "", ".local/state/pnpm"},
	{"yarn", "YARN_CACHE_FOLDER", ".cache/yarn"}, {"yarn", "", ".yarn/berry/cache"}, {"yarn", "", ".yarn/berry/metadata"},
	{"bun", "BUN_INSTALL_CACHE_DIR", ".bun/install/cache"}, {"deno", "DENO_DIR", ".cache/deno"},
	{"pip", "PIP_CACHE_DIR", ".cache/pip"}, {"uv", "UV_CACHE_DIR", ".cache/uv"}, {"poetry", "POETRY_CACHE_DIR", ".cache/pypoetry"},
	{"pdm", "", ".cache/pdm"},
	{"cargo", "", ".cargo/registry"}, {"cargo", "", ".cargo/git"},
	{"gradle", "", ".gradle/caches"}, {"gradle", "", ".gradle/daemon"}, {"gradle", "", ".gradle/native"},
	{"gradle", "", ".gradle/notifications"}, {"gradle", "", ".gradle/workers"}, {"gradle", "", ".gradle/.tmp"},
	{"mvn", "", ".m2/repository"}, {"sbt", "", ".ivy2/cache"}, {"cs", "COURSIER_CACHE", ".cache/coursier"},
	{"dotnet", "NUGET_PACKAGES", ".nuget/packages"}, {"dotnet", "", ".local/share/NuGet"},
	{"composer", "COMPOSER_CACHE_DIR", ".cache/composer"}, {"bundle", "", ".bundle/cache"}, {"mix", "", ".hex/packages"},
	{"swift", "", ".cache/org.swift.swiftpm"}, {"zig", "ZIG_GLOBAL_CACHE_DIR", ".cache/zig"}, {"bazel", "", ".cache/bazel"},
	{"ccache", "CCACHE_DIR", ".cache/ccache"}, {"sccache", "SCCACHE_DIR", ".cache/sccache"},
}

// lockFiles are single files that a tool has to lock, as far as they exist.
var lockFiles = []cache{
	{"cargo", "", ".cargo/.package-cache"}, {"cargo", "", ".cargo/.package-cache-mutate"}, {"cargo", "", ".cargo/.global-cache"},
	{"npm", "", ".npm/_update-notifier-last-checked"},
}

// buildCaches lists the real paths of the caches, after making those whose tool is there. One that cannot be made is left out:
// the tool will say so itself.
func buildCaches(home string, env func(string) string) []string {
	var found []string
	for _, c := range caches {
		path := c.locate(home, env)
		if path == "" {
			continue
		}
		if _, err := os.Stat(path); err != nil && onPath(c.program, env("PATH")) {
			_ = os.MkdirAll(path, 0o755)
		}
		if real, err := filepath.EvalSymlinks(path); err == nil {
			found = append(found, real)
		}
	}
	for _, c := range lockFiles {
		if real, err := filepath.EvalSymlinks(c.locate(home, env)); err == nil {
			found = append(found, real)
		}
	}
	return found
}

// locate is the directory of the cache; empty when its variable switches it off or makes no sense.
func (c cache) locate(home string, env func(string) string) string {
	if c.env != "" && env(c.env) != "" {
		if path := env(c.env); filepath.IsAbs(path) {
			return filepath.Clean(path)
		}
		return ""
	}
	if rest, ok := strings.CutPrefix(c.path, "go/"); ok {
		if paths := filepath.SplitList(env("GOPATH")); len(paths) > 0 && filepath.IsAbs(paths[0]) {
			return filepath.Join(paths[0], rest)
		}
	}
	if rest, ok := strings.CutPrefix(c.path, ".cargo/"); ok && filepath.IsAbs(env("CARGO_HOME")) {
		return filepath.Join(env("CARGO_HOME"), rest)
	}
	if rest, ok := strings.CutPrefix(c.path, ".gradle/"); ok && filepath.IsAbs(env("GRADLE_USER_HOME")) {
		return filepath.Join(env("GRADLE_USER_HOME"), rest)
	}
	return locate(c.path, home, env)
}

// onPath reports whether a program is in one of the directories of PATH. It runs nothing.
func onPath(program, path string) bool {
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if info, err := os.Stat(filepath.Join(dir, program)); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return true
		}
	}
	return false
}
