package sandbox

import (
	"os"
	"path/filepath"
	"strings"
)

// A cache is a directory in which a build tool keeps what it can fetch or make again. Only such directories are granted to
// a writing run: never one with programs that are run later by name (~/go/bin, ~/.cargo/bin, ~/.npm/_npx, ~/.cache/pre-commit,
// ~/.gradle/wrapper, ~/.rustup), since a program planted there would run outside every sandbox. What is in a granted
// cache could be poisoned by a worker; that risk is the price of builds that work, but for a run that is to be checked: it has a [Run.Layer].
type cache struct {
	program string // the tool; a missing directory is made when this is on PATH, because the tool could not make it
	env     string // holds the directory, where set
	path    string // default, below HOME or an XDG directory
	// moves are the variables that give the tool another directory, the only one that it writes; see [Run.LayerEnv]. Empty: there is none, or
	// goEnv and its like know a better way.
	moves []string
}

var caches = []cache{
	{"go", "GOCACHE", ".cache/go-build", nil}, {"go", "GOMODCACHE", "go/pkg/mod", nil}, {"go", "", "go/pkg/sumdb", nil},
	{"golangci-lint", "GOLANGCI_LINT_CACHE", ".cache/golangci-lint", []string{"GOLANGCI_LINT_CACHE"}},
	{"staticcheck", "STATICCHECK_CACHE", ".cache/staticcheck", []string{"STATICCHECK_CACHE"}}, {"gopls", "GOPLSCACHE", ".cache/gopls", []string{"GOPLSCACHE"}},
	{"npm", "", ".npm/_cacache", []string{"npm_config_cache"}}, {"npm", "", ".npm/_logs", nil}, {"node-gyp", "", ".cache/node-gyp", nil},
	{"pnpm", "", ".local/share/pnpm/store", []string{"PNPM_HOME", "pnpm_config_store_dir"}},
	{"pnpm", "", ".cache/pnpm", []string{"pnpm_config_cache_dir"}},
	{"pnpm", "", ".local/state/pnpm", []string{"pnpm_config_state_dir"}},
	{"yarn", "YARN_CACHE_FOLDER", ".cache/yarn", []string{"YARN_CACHE_FOLDER"}},
	{"yarn", "", ".yarn/berry/cache", []string{"YARN_GLOBAL_FOLDER"}}, {"yarn", "", ".yarn/berry/metadata", nil},
	{"bun", "BUN_INSTALL_CACHE_DIR", ".bun/install/cache", []string{"BUN_INSTALL_CACHE_DIR"}}, {"deno", "DENO_DIR", ".cache/deno", []string{"DENO_DIR"}},
	{"pip", "PIP_CACHE_DIR", ".cache/pip", []string{"PIP_CACHE_DIR"}}, {"uv", "UV_CACHE_DIR", ".cache/uv", []string{"UV_CACHE_DIR"}},
	{"poetry", "POETRY_CACHE_DIR", ".cache/pypoetry", []string{"POETRY_CACHE_DIR"}}, {"pdm", "", ".cache/pdm", []string{"PDM_CACHE_DIR"}},
	{"cargo", "", ".cargo/registry", nil}, {"cargo", "", ".cargo/git", nil},
	{"gradle", "", ".gradle/caches", nil}, {"gradle", "", ".gradle/daemon", nil}, {"gradle", "", ".gradle/native", nil},
	{"gradle", "", ".gradle/notifications", nil}, {"gradle", "", ".gradle/workers", nil}, {"gradle", "", ".gradle/.tmp", nil},
	{"mvn", "", ".m2/repository", nil}, {"sbt", "", ".ivy2/cache", nil}, {"cs", "COURSIER_CACHE", ".cache/coursier", []string{"COURSIER_CACHE"}},
	{"dotnet", "NUGET_PACKAGES", ".nuget/packages", nil}, {"dotnet", "", ".local/share/NuGet", []string{"NUGET_HTTP_CACHE_PATH"}},
	{"composer", "COMPOSER_CACHE_DIR", ".cache/composer", []string{"COMPOSER_CACHE_DIR"}}, {"bundle", "", ".bundle/cache", []string{"BUNDLE_USER_CACHE"}},
	{"mix", "", ".hex/packages", nil}, {"swift", "", ".cache/org.swift.swiftpm", nil},
	{"zig", "ZIG_GLOBAL_CACHE_DIR", ".cache/zig", []string{"ZIG_GLOBAL_CACHE_DIR"}}, {"bazel", "", ".cache/bazel", nil},
	{"ccache", "CCACHE_DIR", ".cache/ccache", nil}, {"sccache", "SCCACHE_DIR", ".cache/sccache", nil},
}

// lockFiles are single files that a tool has to lock, as far as they exist.
var lockFiles = []cache{
	{"cargo", "", ".cargo/.package-cache", nil}, {"cargo", "", ".cargo/.package-cache-mutate", nil}, {"cargo", "", ".cargo/.global-cache", nil},
	{"npm", "", ".npm/_update-notifier-last-checked", nil},
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
