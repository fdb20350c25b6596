package verify

import (
	"opencode-delegate/internal/gitconfig"
	"path/filepath"
	"slices"
	"strings"
)

// loaders are the variables by which a program takes up code or settings that nobody names in the command, with what a value is: one path, a list of
// them, options with paths among them. A name that ends in * stands for all that begin so. The shell's own (ENV, BASH_ENV) come first.
var loaders = []string{
	"ENV", "BASH_ENV", "ZDOTDIR", "LD_*", "DYLD_*", "GCONV_PATH", "LOCPATH", "NLSPATH",
	"PYTHONSTARTUP", "PYTHONPATH", "PYTHONHOME", "PYTHONUSERBASE", "PYTHONINSPECT", "PYTHONPYCACHEPREFIX", "PYTEST_PLUGINS", "PYTEST_ADDOPTS", "COVERAGE_PROCESS_START", "VIRTUAL_ENV",
	"NODE_OPTIONS", "NODE_PATH", "NODE_COMPILE_CACHE", "NPM_CONFIG_*", "npm_config_*", "YARN_RC_FILENAME", "BUN_OPTIONS", "DENO_*",
	"RUBYOPT", "RUBYLIB", "GEM_HOME", "GEM_PATH", "BUNDLE_GEMFILE", "BUNDLE_PATH", "PERL5OPT", "PERL5LIB", "PERLLIB", "PHPRC", "PHP_INI_SCAN_DIR", "LUA_PATH*", "LUA_CPATH*", "LUA_INIT*",
	"JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "CLASSPATH", "JAVA_HOME", "MAVEN_OPTS", "MAVEN_ARGS", "GRADLE_OPTS", "GRADLE_USER_HOME", "SBT_OPTS",
	"GOFLAGS", "GOENV", "GOROOT", "GOWORK", "GOTOOLDIR", "GOPROXY", "GOMODCACHE", "GOCACHE", "GOCACHEPROG", "GOPATH", "GOBIN",
	"RUSTC", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "RUSTFLAGS", "RUSTDOC", "CARGO_*", "RUSTUP_HOME",
	"CC", "CXX", "CPP", "LD", "AR", "AS", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX",
	"CMAKE_*", "PKG_CONFIG*", "MAKEFLAGS", "MAKEFILES", "GNUMAKEFLAGS", "SHELL", "EDITOR", "VISUAL", "PAGER", "DOTNET_STARTUP_HOOKS", "DOTNET_ROOT*", "MSBUILD*", "ERL_*", "ELIXIR_*", "MIX_*", "HEX_HOME",
	"GIT_*",
}

// CheckEnv is the environment of a check, without what leads it to a place that the worker could write. Of PATH and its like the directories
// go that are relative, empty or in such a place; a variable of the table goes whole when a path in it is. writable are those places,
// real paths: the work tree that the worker had, and what else its policy granted.
func CheckEnv(environ, writable []string) []string {
	var kept []string
	for _, e := range environ {
		name, value, _ := strings.Cut(e, "=")
		switch {
		case name == "PATH" || name == "CDPATH":
			kept = append(kept, name+"="+strings.Join(slices.DeleteFunc(filepath.SplitList(value), func(dir string) bool { return reachable(dir, writable) }), string(filepath.ListSeparator)))
		case isLoader(name) && leads(name, value, writable):
		default:
			kept = append(kept, e)
		}
	}
	return kept
}

func isLoader(name string) bool {
	return slices.ContainsFunc(loaders, func(l string) bool {
		prefix, all := strings.CutSuffix(l, "*")
		return name == l || all && strings.HasPrefix(name, prefix)
	})
}

// leads reports whether a value of a loader holds a path that the worker could write. Which of its words is a path is not known, so each that
// could be one counts; a relative one does in any case, since it means the work tree, but for plain words.
func leads(name, value string, writable []string) bool {
	if slices.Contains(gitconfig.Places, name) {
		return true
	}
	for _, word := range strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(" \t\n\"'=,;|"+string(filepath.ListSeparator), r) }) {
		word = strings.TrimPrefix(strings.TrimPrefix(word, "file:"), "//")
		switch {
		case filepath.IsAbs(word):
			if reachable(word, writable) {
				return true
			}
		case strings.HasPrefix(word, "-"):
			// An option may hold its path without a space: -I/x, -L/x, -Wl/x.
			if i := strings.IndexByte(word, '/'); i > 0 && reachable(word[i:], writable) {
				return true
			}
		case strings.HasPrefix(word, "./"), strings.HasPrefix(word, "../"), word == ".", word == "..":
			return true
		}
	}
	return false
}

// reachable reports whether a path is relative, or lies, as written or in truth, in a place that may be written.
func reachable(path string, writable []string) bool {
	if !filepath.IsAbs(path) {
		return true
	}
	paths := []string{filepath.Clean(path), realOf(path)}
	return slices.ContainsFunc(writable, func(w string) bool {
		w = strings.TrimSuffix(filepath.Clean(w), string(filepath.Separator))
		return slices.ContainsFunc(paths, func(p string) bool { return p == w || strings.HasPrefix(p, w+string(filepath.Separator)) })
	})
}

// realOf is the real path as far as it exists: what is missing at its end may be there when the check runs.
func realOf(path string) string {
	path = filepath.Clean(path)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if parent := filepath.Dir(path); parent != path {
		return filepath.Join(realOf(parent), filepath.Base(path))
	}
	return path
}
