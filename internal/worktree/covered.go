package worktree

import (
	"context"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A dependency is the name of directories that a package manager or a build fills and can fill again. They are left out of a snapshot where git ignores them. A
// name that people also give to directories of their own counts only where one of the files stands beside it (or in it, with a slash before)
// that its tool needs.
type dependency struct {
	name string
	with []string // none: the name alone says it. A star at the beginning stands for any text
	why  string
}

// dependencies is the table, by the tool that fills the directory.
var dependencies = []dependency{
	{"node_modules", nil, "npm, pnpm, yarn, bun: install fills it from the lock file"},
	{".pnpm-store", nil, "pnpm: its store, where it lies in the project"},
	{".yarn", nil, "yarn: cache, unplugged packages, state; what of it is committed is not ignored and is covered"},
	{"bower_components", nil, "bower: install fills it"},
	{"jspm_packages", nil, "jspm: install fills it"},
	{".venv", nil, "venv, virtualenv, poetry, uv, pdm: the usual name in a project"},
	{"venv", []string{"/pyvenv.cfg"}, "venv, virtualenv: the other usual name"},
	{"env", []string{"/pyvenv.cfg"}, "venv, virtualenv: an older usual name"},
	{"__pypackages__", nil, "pdm: PEP 582"},
	{".tox", nil, "tox: one virtual environment for each run of the tests"},
	{".nox", nil, "nox: likewise"},
	{".eggs", nil, "setuptools: packages that setup.py asked for"},
	{"target", []string{"Cargo.toml"}, "cargo: everything that it builds"},
	{"target", []string{"pom.xml", "build.sbt", "project.clj"}, "maven, sbt, leiningen: likewise"},
	{"vendor", []string{"go.mod"}, "go mod vendor fills it from go.sum"},
	{"vendor", []string{"composer.json"}, "composer: install fills it from composer.lock"},
	{"vendor", []string{"Gemfile"}, "bundler: vendor/bundle, by configuration"},
	{".bundle", nil, "bundler: its configuration and, by path, the gems"},
	{".gradle", nil, "gradle: caches of the project"},
	{"build", []string{"build.gradle", "build.gradle.kts"}, "gradle: everything that it builds"},
	{"bin", []string{"*.csproj", "*.fsproj", "*.vbproj"}, "dotnet: what it builds"},
	{"obj", []string{"*.csproj", "*.fsproj", "*.vbproj"}, "dotnet: restored packages and intermediate files"},
	{"deps", []string{"mix.exs"}, "elixir: mix deps.get fills it from mix.lock"},
	{"_build", []string{"mix.exs", "rebar.config", "dune-project"}, "elixir, erlang, ocaml: everything that they build"},
	{"Pods", []string{"Podfile"}, "cocoapods: install fills it from Podfile.lock"},
	{"Carthage", []string{"Cartfile"}, "carthage: checkouts and builds"},
	{".build", []string{"Package.swift"}, "swift: packages and everything that it builds"},
	{".zig-cache", nil, "zig: its cache"},
	{"zig-cache", []string{"build.zig"}, "zig before 0.13: likewise"},
	{"zig-out", []string{"build.zig"}, "zig: what it installs"},
	{"dist-newstyle", nil, "cabal: everything that it builds"},
	{".stack-work", nil, "stack: likewise"},
}

// isDependency reports whether a directory is one of the table. p is its path in dir.
func isDependency(dir, p string) bool {
	return slices.ContainsFunc(dependencies, func(d dependency) bool {
		if d.name != path.Base(p) {
			return false
		}
		at := filepath.Join(dir, filepath.FromSlash(p))
		return len(d.with) == 0 || slices.ContainsFunc(d.with, func(with string) bool {
			if in, ok := strings.CutPrefix(with, "/"); ok {
				return isThere(filepath.Join(at, in))
			}
			return isThere(filepath.Join(filepath.Dir(at), with))
		})
	})
}

// isThere reports whether something has this path; a star at the beginning of its last part stands for any text.
func isThere(name string) bool {
	end, any := strings.CutPrefix(filepath.Base(name), "*")
	if !any {
		_, err := os.Lstat(name)
		return err == nil
	}
	names, _ := os.ReadDir(filepath.Dir(name))
	return slices.ContainsFunc(names, func(d fs.DirEntry) bool { return strings.HasSuffix(d.Name(), end) })
}

// covered is the coverage after a snapshot: what was left out then is left out, everything else counts. git is not asked: a run
// may have changed what it would say.
type covered struct{ holes map[string]string }

func newCovered(l list) covered {
	c := covered{map[string]string{}}
	for _, h := range l.holes {
		if !h.git {
			c.holes[h.Path] = h.Why
		}
	}
	return c
}

func (covered) enter(context.Context, string, bool) error { return nil }

func (c covered) hole(path string, _ bool, _, _ int64) string { return c.holes[path] }

// isDotGit reports whether git takes a name for the one of its directory, on some file system at least.
func isDotGit(name string) bool { return strings.EqualFold(name, ".git") }
