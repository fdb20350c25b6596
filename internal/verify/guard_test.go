package verify

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"opencode-delegate/internal/tree"
)

// A world is the content of a work tree.
type world map[string]string

func (w world) read(path string) ([]byte, error) {
	text, ok := w[path]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return []byte(text), nil
}

func (w world) base() Base {
	var paths []string
	for p := range w {
		paths = append(paths, p)
	}
	return Base{Paths: paths, Read: w.read}
}

// with is the world after some edits; "" deletes.
func (w world) with(edits world) world {
	after := world{}
	for p, text := range w {
		after[p] = text
	}
	for p, text := range edits {
		if text == "" {
			delete(after, p)
			continue
		}
		after[p] = text
	}
	return after
}

func changes(before, after world) []tree.Change {
	var list []tree.Change
	for p, text := range after {
		switch old, ok := before[p]; {
		case !ok:
			list = append(list, tree.Change{Path: p, Kind: tree.Added})
		case old != text:
			list = append(list, tree.Change{Path: p, Kind: tree.Modified})
		}
	}
	for p := range before {
		if _, ok := after[p]; !ok {
			list = append(list, tree.Change{Path: p, Kind: tree.Deleted})
		}
	}
	return list
}

// project is a repository in several languages.
var project = world{
	"main.go": "package main", "util.go": "package main", "main_test.go": "package main // tests", "pkg/a.go": "package pkg", "pkg/a_test.go": "package pkg", "go.mod": "module m\n\nrequire a v1.0.0\n",
	"Makefile": "test:\n\t@go vet ./... && sh scripts/all.sh \\\n\t\tfast\n\npylib:\n\tpython3 tools/check_all.py\n", "scripts/all.sh": "#!/bin/sh\n. ./scripts/env.sh\nexec ./ci/run\n", "scripts/env.sh": "X=1", "ci/run": "#!/usr/bin/env bash\ntrue\n",
	"tools/check_all.py": "import app", "app.py": "print(1)", "check.sh": "sh lib/more.sh", "lib/more.sh": "diff golden/out.txt out.txt", "golden/out.txt": "1", "out.txt": "1",
	"package.json":      `{"name":"x","scripts":{"test":"node runner/verify.mjs && jest"},"dependencies":{"a":"^1.0.0"}}`,
	"runner/verify.mjs": "1", "src/app.js": "1", "jest.config.js": "1", "tests/unit.py": "1", "vendor/lib/lib.go": "package lib", "third_party/x/x.c": "1", "web/.npmrc": "x", "README.md": "x", "data.txt": "x",
	"Cargo.toml": "[package]\nname = \"x\"\n\n[dependencies]\na = \"1\"\n\n[lib]\ndoctest = false\n", "src/lib.rs": "1", "pyproject.toml": "[project]\nname = \"x\"\ndependencies = [\"a\"]\n\n[tool.pytest.ini_options]\naddopts = \"-q\"\n",
	"sub/check.sh": "1", "sub/deep/x.go": "package deep", "dir.mk": "include settings\n-include .settings\nt:\n\t$(CURDIR)/tools/in.sh\n", "settings": "A=1", "tools/in.sh": "1",
	"requirements.txt": "pytest\nflask>=2\n", "may.sh": "[ -f local ] && . ./local\ntrue\n",
}

func guardOf(t *testing.T, base world, at string, commands ...string) *Guard {
	t.Helper()
	g, err := NewGuard(nil, base.base(), at, commands)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestReset(t *testing.T) {
	list := func(names ...string) []string { return names }
	for name, c := range map[string]struct {
		check           string
		edits           world
		restore, remove []string
	}{
		"only sources":               {"make test", world{"main.go": "x", "util.go": "", "new.go": "package main"}, nil, nil},
		"a new test":                 {"go test ./...", world{"new_test.go": "package main", "main.go": "x"}, nil, nil},
		"a test is edited":           {"go test ./...", world{"main_test.go": "x", "main.go": "y"}, list("main_test.go"), nil},
		"a test is deleted":          {"true", world{"pkg/a_test.go": ""}, list("pkg/a_test.go"), nil},
		"a test directory":           {"true", world{"tests/unit.py": "x", "tests/new.py": "x"}, list("tests/unit.py"), list("tests/new.py")},
		"a directory with a test":    {"true", world{"pkg/a_test.go": "", "pkg/a.go": "", "pkg": "link"}, list("pkg/a_test.go"), list("pkg")},
		"TestMain":                   {"go test ./...", world{"pkg/more_test.go": "package pkg\nfunc  TestMain (m *testing.M) {}"}, nil, list("pkg/more_test.go")},
		"init in a test":             {"go test ./...", world{"more_test.go": "func init() { os.Exit(0) }"}, nil, list("more_test.go")},
		"TestMain of a new package":  {"go test ./...", world{"fresh/x_test.go": "func TestMain(m *testing.M) {}"}, nil, nil},
		"the script":                 {"sh check.sh", world{"check.sh": "exit 0"}, list("check.sh"), nil},
		"the script's script":        {"sh check.sh", world{"lib/more.sh": "exit 0"}, list("lib/more.sh"), nil},
		"what it compares with":      {"sh check.sh", world{"golden/out.txt": "2"}, list("golden/out.txt"), nil},
		"what it compares":           {"sh check.sh", world{"out.txt": "2"}, nil, nil},
		"by a path":                  {"./ci/run", world{"ci/run": "x"}, list("ci/run"), nil},
		"after cd":                   {"cd sub && ./check.sh", world{"sub/check.sh": "x"}, list("sub/check.sh"), nil},
		"in quotes":                  {`bash -c "sh 'check.sh'"`, world{"check.sh": "x"}, list("check.sh"), nil},
		"by PWD":                     {`sh "$PWD/check.sh"`, world{"check.sh": "x"}, list("check.sh"), nil},
		"on stdin":                   {`sh -s < check.sh`, world{"check.sh": "x"}, list("check.sh"), nil},
		"no shell syntax":            {`sh check.sh &&& (`, world{"check.sh": "x"}, list("check.sh"), nil},
		"a script of the work":       {"python3 app.py", world{"app.py": "x"}, nil, nil},
		"a script that checks":       {"python3 tools/check_all.py", world{"tools/check_all.py": "x"}, list("tools/check_all.py"), nil},
		"a file that is looked into": {"grep -q x README.md && test -f data.txt", world{"README.md": "y", "data.txt": "y"}, nil, nil},
		"make's file":                {"make test", world{"Makefile": "test:\n"}, list("Makefile"), nil},
		"make's better file":         {"make test", world{"GNUmakefile": "test:\n"}, nil, list("GNUmakefile")},
		"make's script":              {"make test", world{"scripts/all.sh": "x"}, list("scripts/all.sh"), nil},
		"its sourced file":           {"make test", world{"scripts/env.sh": "x"}, list("scripts/env.sh"), nil},
		"its script's program":       {"cd . && make -s test", world{"ci/run": "x"}, list("ci/run"), nil},
		"make is not called":         {"go test ./...", world{"Makefile": "x"}, nil, nil},
		"npm's scripts":              {"npm test", world{"package.json": `{"name":"x","scripts":{"test":"true"},"dependencies":{"a":"^1.0.0"}}`}, list("package.json"), nil},
		"npm's libraries":            {"npm test", world{"package.json": `{"name":"x", "version":"2", "scripts":{"test":"node runner/verify.mjs && jest"},"dependencies":{"a":"^2.0.0","b":"1"}}`}, nil, nil},
		"a library from elsewhere":   {"npm test", world{"package.json": `{"name":"x","scripts":{"test":"node runner/verify.mjs && jest"},"dependencies":{"a":"file:./fake"}}`}, list("package.json"), nil},
		"npm's script's script":      {"npm test", world{"runner/verify.mjs": "x"}, list("runner/verify.mjs"), nil},
		"the runner of npm's script": {"npm test", world{"jest.config.js": "x"}, list("jest.config.js"), nil},
		"a new configuration":        {"npm test", world{".npmrc": "script-shell=./x"}, nil, list(".npmrc")},
		"a nested configuration":     {"npm test", world{"web/.npmrc": "y"}, list("web/.npmrc"), nil},
		"one of a new package":       {"npm test", world{"packages/new/package.json": "{}"}, nil, nil},
		"go.mod needs more":          {"go test ./...", world{"go.mod": "module m\n\nrequire (\n\ta v1.0.0\n\tb v2.0.0\n)\n"}, nil, nil},
		"go.mod replaces":            {"go test ./...", world{"go.mod": "module m\n\nrequire a v1.0.0\nreplace a => ./fake\n"}, list("go.mod"), nil},
		"a module inside":            {"go test ./...", world{"pkg/go.mod": "module other"}, nil, list("pkg/go.mod")},
		"a workspace":                {"go test ./...", world{"go.work": "go 1.26"}, nil, list("go.work")},
		"a vendored library":         {"go test ./...", world{"vendor/lib/lib.go": "x"}, list("vendor/lib/lib.go"), nil},
		"a new vendored library":     {"go test ./...", world{"vendor/modules.txt": "x"}, nil, list("vendor/modules.txt")},
		"third_party":                {"true", world{"third_party/x/x.c": ""}, list("third_party/x/x.c"), nil},
		"a stub of the runner":       {"npm test", world{"node_modules/.bin/jest": "x"}, nil, list("node_modules/.bin/jest")},
		"conftest":                   {"python3 -m pytest", world{"conftest.py": "x"}, nil, list("conftest.py")},
		"sitecustomize":              {"true", world{"sub/deep/sitecustomize.py": "x"}, nil, list("sub/deep/sitecustomize.py")},
		"a shadow of pytest":         {"python3 -m pytest", world{"pytest.py": "x"}, nil, list("pytest.py")},
		"cargo's tests off":          {"cargo test", world{"Cargo.toml": "[package]\nname = \"x\"\n\n[dependencies]\na = \"1\"\n\n[lib]\ndoctest = false\ntest = false\n"}, list("Cargo.toml"), nil},
		"cargo's libraries":          {"cargo test", world{"Cargo.toml": "[package]\nname = \"x\"\n\n[dependencies]\na = \"2\"\nb = \"1\"\n\n[lib]\ndoctest = false\n"}, nil, nil},
		"cargo's patch":              {"cargo test", world{"Cargo.toml": "[package]\nname = \"x\"\n\n[dependencies]\na = { path = \"fake\" }\n\n[lib]\ndoctest = false\n"}, list("Cargo.toml"), nil},
		"cargo's configuration":      {"cargo test", world{".cargo/config.toml": "x"}, nil, list(".cargo/config.toml")},
		"pytest's options":           {"pytest", world{"pyproject.toml": "[project]\nname = \"x\"\ndependencies = [\"a\"]\n\n[tool.pytest.ini_options]\naddopts = \"--co\"\n"}, list("pyproject.toml"), nil},
		"python's libraries":         {"pytest", world{"pyproject.toml": "[project]\nname = \"y\"\ndependencies = [\"a\", \"b\"]\n\n[tool.pytest.ini_options]\naddopts = \"-q\"\n"}, nil, nil},
		"new tests beside an edit":   {"go test ./...", world{"main_test.go": "x", "helper_test.go": "package main", "other.go": "package main"}, list("main_test.go"), list("helper_test.go")},
		"below an unknown place":     {`sh "$(dirname "$0")/lib/more.sh"`, world{"lib/more.sh": "x"}, list("lib/more.sh"), nil},
		"below a variable":           {`. "${ROOT}"/scripts/env.sh`, world{"scripts/env.sh": "x"}, list("scripts/env.sh"), nil},
		"a variable in the middle":   {`sh lib/$NAME/more.sh`, world{"lib/more.sh": "x"}, nil, nil},
		"make's variable":            {"make -f dir.mk", world{"tools/in.sh": "x"}, list("tools/in.sh"), nil},
		"what make includes":         {"make -f dir.mk", world{"settings": "x"}, list("settings"), nil},
		"what make could include":    {"make -f dir.mk", world{".settings": "x"}, nil, list(".settings")},
		"what a script could source": {"sh may.sh", world{"local": "x"}, nil, list("local")},
		"what a shell loads":         {"BASH_ENV=settings bash -c true", world{"settings": "x"}, list("settings"), nil},
		"what a shell could load":    {"BASH_ENV=new.env bash -c true", world{"new.env": "x"}, nil, list("new.env")},
		"what a program loads":       {`export NODE_OPTIONS="--import=./app.py" && node x`, world{"app.py": "x"}, list("app.py"), nil},
		"what a variable names":      {"OUT=app.py sh -c true", world{"app.py": "x"}, nil, nil},
		"a file of that name":        {"sh check.sh", world{"local": "x", ".settings": "x"}, nil, nil},
		"compiled for python":        {"python3 -m unittest", world{"helper.pyc": "x"}, nil, list("helper.pyc")},
		"python's own cache":         {"python3 -m unittest", world{"tests/__pycache__/unit.pyc": "x"}, nil, nil},
		"a shadow of the runner":     {"python3 -m unittest", world{"argparse.py": "x", "tests/traceback/__init__.py": "x"}, nil, list("argparse.py", "tests/traceback/__init__.py")},
		"a module of that name":      {"python3 -m unittest", world{"pkg/argparse.py": "x"}, nil, nil},
		"a package of tests":         {"python3 -m unittest", world{"tests/__init__.py": "x"}, nil, list("tests/__init__.py")},
		"a plain package of tests":   {"python3 -m unittest", world{"tests/__init__.py": "\n"}, nil, nil},
		"a package":                  {"python3 -m unittest", world{"src/__init__.py": "x"}, nil, nil},
		"a test that ends them all":  {"python3 -m unittest", world{"tests/test_a.py": "import os\nos._exit(0)"}, nil, list("tests/test_a.py")},
		"one that bends the runner":  {"python3 -m unittest", world{"tests/test_a.py": "unittest.TestCase.assertEqual = print"}, nil, list("tests/test_a.py")},
		"a new test of python":       {"python3 -m unittest", world{"tests/test_a.py": "if __name__ == '__main__':\n    unittest.main()"}, nil, nil},
		"one of Go by another name":  {"go test ./...", world{"more_test.go": "import o \"os\"; var _ = f(o.Exit)"}, nil, list("more_test.go")},
		"one of node":                {"node --test", world{"tests/a.js": "process.exit( )"}, nil, list("tests/a.js")},
		"a new test of node":         {"node --test", world{"tests/a.js": "process.exit(failed ? 1 : 0)"}, nil, nil},
		"a new lock file":            {"npm test", world{"package-lock.json": `{"packages":{"node_modules/a":{"resolved":"` + address("org.npmjs.registry") + `/a/-/a-1.0.0.tgz"}}}`}, nil, nil},
		"one of the worker's own":    {"npm ci && npm test", world{"package-lock.json": "{\n\"resolved\": \"file:fake.tgz\"\n}"}, nil, list("package-lock.json")},
		"a link in a lock file":      {"npm ci && npm test", world{"package-lock.json": `{"resolved": "fake", "link": true}`}, nil, list("package-lock.json")},
		"other requirements":         {"pip install -r requirements.txt && pytest", world{"requirements.txt": "pytest==8\nflask>=3 # https://pypi.org/x\n"}, nil, nil},
		"requirements from here":     {"pip install -r requirements.txt && pytest", world{"requirements.txt": "pytest @ file:./fake\n"}, list("requirements.txt"), nil},
		"requirements from a mirror": {"pip install -r requirements.txt && pytest", world{"requirements.txt": "--index-url https://evil.example/simple\npytest\n"}, list("requirements.txt"), nil},
		"a directory required":       {"pip install -r requirements.txt && pytest", world{"requirements.txt": "./fake\n"}, list("requirements.txt"), nil},
		"a file became a directory":  {"sh check.sh", world{"check.sh": "", "check.sh/x": "x"}, list("check.sh"), list("check.sh/x")},
	} {
		after := project.with(c.edits)
		g := guardOf(t, project, ".", c.check)
		r := g.Reset(changes(project, after), after.read)
		if !slices.Equal(r.Restore, c.restore) || !slices.Equal(r.Remove, c.remove) || r.Needed() != (len(c.restore)+len(c.remove) > 0) {
			t.Errorf("%s (%s): restore %q, remove %q, touched %q; want %q, %q", name, c.check, r.Restore, r.Remove, r.Touched, c.restore, c.remove)
		}
	}
}

func TestResetOfRenames(t *testing.T) {
	g := guardOf(t, project, ".", "go test ./...")
	none := func(string) ([]byte, error) { return nil, errors.New("not there") }
	for name, c := range map[string]struct {
		change          tree.Change
		restore, remove []string
	}{
		"a test":             {tree.Change{Path: "other_test.go", From: "main_test.go", Kind: tree.Renamed}, []string{"main_test.go"}, []string{"other_test.go"}},
		"a test out":         {tree.Change{Path: "main_off.go", From: "main_test.go", Kind: tree.Renamed}, []string{"main_test.go"}, []string{"main_off.go"}},
		"a source":           {tree.Change{Path: "other.go", From: "main.go", Kind: tree.Renamed}, nil, nil},
		"to what steers":     {tree.Change{Path: "sitecustomize.py", From: "app.py", Kind: tree.Renamed}, []string{"app.py"}, []string{"sitecustomize.py"}},
		"the mode of a test": {tree.Change{Path: "main_test.go", Kind: tree.Mode}, []string{"main_test.go"}, nil},
	} {
		r := g.Reset([]tree.Change{c.change}, none)
		if !slices.Equal(r.Restore, c.restore) || !slices.Equal(r.Remove, c.remove) {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// TestProtectIsTheCallersOwn: globs of the caller take the place of the table, and not that of what the command names.
func TestProtectIsTheCallersOwn(t *testing.T) {
	g, err := NewGuard([]string{"src/*.rs"}, project.base(), "sub", []string{"sh check.sh"})
	if err != nil {
		t.Fatal(err)
	}
	after := project.with(world{"src/lib.rs": "x", "main_test.go": "x", "sub/check.sh": "x", "check.sh": "x"})
	if r := g.Reset(changes(project, after), after.read); !slices.Equal(r.Touched, []string{"src/lib.rs", "sub/check.sh"}) {
		t.Errorf("%+v", r)
	}
	if _, err := NewGuard([]string{"["}, project.base(), ".", nil); !usage(err) || !strings.Contains(err.Error(), "--protect") {
		t.Errorf("%v", err)
	}
}

// TestTheTable: names of tests and of sources, as their languages write them.
func TestTheTable(t *testing.T) {
	g, err := ParseGlobs("test files", testFiles)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range strings.Fields(`a_test.go x/testdata/y a.test.ts a.spec.jsx src/__tests__/a.js test_a.py a_test.py tests/a.py conftest.py a_spec.rb spec/a.rb test/a.rb
		ATest.java src/test/java/A.java FooIT.kt FooSpec.scala FooTests.cs Foo.Tests/Foo.cs FooTest.php a_test.exs a_SUITE.erl FooSpec.hs a_test.dart FooTests.swift a_test.cc test_a.c a_unittest.cc
		t/a.t a_spec.lua test-a.R a.bats test_a.sh a.feature a.robot a.tftest.hcl A.t.sol a.snap a.golden a.approved.txt e2e/a.ts cypress/a.ts benches/a.rs a.cy.js test_helper.exs`) {
		if !g.Match(name) {
			t.Errorf("%s is no test", name)
		}
	}
	for _, name := range strings.Fields(`main.go latest.go contest.py testing.go attest.rs src/lib.rs protest.js Latest.java manifest.json inspect.py spectrum.ts README.md src/greatest/x.go`) {
		if g.Match(name) {
			t.Errorf("%s is a test", name)
		}
	}
	for _, r := range runners {
		if _, err := ParseGlobs("x", r.config); err != nil || len(r.config) == 0 || len(r.programs) == 0 {
			t.Errorf("%q: %v", r.programs, err)
		}
	}
	if _, err := ParseGlobs("x", steering); err != nil {
		t.Error(err)
	}
}

func TestMixedFiles(t *testing.T) {
	for name, c := range map[string][3]string{ // before, a change that does not count, one that does
		"build.gradle.kts": {"plugins { java }\ndependencies {\n  implementation(\"a:b:1\")\n}\n", "plugins { java }\ndependencies {\n  implementation(\"a:b:2\")\n  testImplementation(\"c:d:1\")\n}\n", "plugins { java }\ndependencies {\n  implementation(\"a:b:1\")\n}\ntest { enabled = false }\n"},
		"Gemfile":          {"gem \"rspec\"\n", "gem \"rspec\", \"~> 3.1\"\ngem 'rake'\n", "gem \"rspec\", path: \"fake\"\n"},
		"A.csproj":         {"<Project>\n</Project>", "<Project>\n<PackageReference Include=\"A\" Version=\"1.0\" />\n</Project>", "<Project>\n<Compile Remove=\"**\" />\n</Project>"},
		"CMakeLists.txt":   {"add_library(a a.c)\nadd_test(t t)\n", "add_library(a a.c b.c)\nadd_test(t t)\n", "add_library(a a.c)\nadd_test(t true)\n"},
		"composer.json":    {`{"require":{"a/b":"1"},"scripts":{"test":"x"}}`, `{"require":{"a/b":"2"},"scripts":{"test":"x"}}`, `{"require":{"a/b":"1"},"scripts":{"test":"y"}}`},
		"package.json":     {`{"scripts":{}}`, `{"scripts":{},"description":"d"}`, `{"scripts":{}`},
	} {
		same := mixedFile("dir/" + name)
		if !same([]byte(c[0]), []byte(c[0])) || !same([]byte(c[0]), []byte(c[1])) || same([]byte(c[0]), []byte(c[2])) {
			t.Errorf("%s: %v %v", name, same([]byte(c[0]), []byte(c[1])), same([]byte(c[0]), []byte(c[2])))
		}
	}
	if mixedFile("Makefile") != nil {
		t.Error("every change of a Makefile counts")
	}
}

// TestSearchEnds: files that name one another, and a file that cannot be read, keep nobody waiting.
func TestSearchEnds(t *testing.T) {
	base := world{"a.sh": "sh b.sh; sh a.sh", "b.sh": "sh a.sh; ./big.sh", "big.sh": strings.Repeat("x ", scriptLimit)}
	g := guardOf(t, base, ".", "sh a.sh", "sh none.sh", "")
	if !g.named["a.sh"] || !g.named["b.sh"] || !g.named["big.sh"] || len(g.named) != 3 {
		t.Errorf("%v", g.named)
	}
	broken := base.base()
	broken.Read = func(string) ([]byte, error) { return nil, errors.New("broken") }
	if g, err := NewGuard(nil, broken, ".", []string{"sh a.sh"}); err != nil || !g.named["a.sh"] {
		t.Errorf("%v", err)
	}
}
