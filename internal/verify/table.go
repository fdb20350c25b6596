package verify

// testFiles are the globs of the files that count as tests where a caller names none. What a glob takes in too much costs a second execution
// of the check and no more, since only a difference in verdict counts; what it leaves out can be changed unseen.
var testFiles = []string{
	// directories, whatever the language
	"test/", "tests/", "Test/", "Tests/", "spec/", "specs/", "__tests__/", "__mocks__/", "__snapshots__/", "__fixtures__/", "fixtures/", "testdata/",
	"golden/", "goldens/", "e2e/", "cypress/", "features/", "androidTest/", "integrationTest/", "testFixtures/", "benches/", "t/*.t",
	"*.Test/", "*.Tests/", "*.UnitTests/", "*.IntegrationTests/", "*Tests.xctest/",
	// what a test compares with
	"*.snap", "*.golden", "*.approved.*", "*.verified.*", "*.expected", "*.expect",
	// Go, C, C++, Rust, Zig, Dart, Elixir, Erlang, Ruby, Crystal, Lua, Clojure, Python, shell, Rego, and whoever else writes so
	"*_test.*", "*_tests.*", "test_*.*", "*_unittest.*", "*_spec.*", "*_SUITE.erl", "*.test_case.*",
	// JavaScript and TypeScript
	"*.test.*", "*.spec.*", "*.cy.*", "*.e2e.*", "*-test.{js,jsx,ts,tsx,mjs,cjs}", "*-spec.{js,jsx,ts,tsx,mjs,cjs}",
	// Java, Kotlin, Groovy, Scala, C#, F#, PHP, Swift, Objective-C, Haskell, Apex
	"*{Test,Tests,TestCase,IT,Spec,Specs}.{java,kt,kts,groovy,scala,cs,fs,vb,php,swift,m,mm,hs,cls}", "Test*.{java,kt,hs,cs,php}",
	// the rest
	"*.bats", "*.shunit2", "*.feature", "*.robot", "*.tftest.hcl", "*.t.sol", "test-*.{R,r,sh,js,ts,lua}", "*.phpt", "conftest.py", "spec_helper.rb",
	"rails_helper.rb", "test_helper.*", "setupTests.*", "jest.setup.*", "vitest.setup.*",
}

// dependencyDirs are the names of directories with libraries of others. What of them is part of the repository is protected, and what is new in
// one is not there in a guard run: Go, for one, builds with a vendor directory as soon as there is one.
var dependencyDirs = []string{
	"node_modules", "bower_components", "vendor", "third_party", "thirdparty", "3rdparty", ".venv", "venv", "site-packages", "__pypackages__", "Pods",
	"Carthage", ".yarn", ".bundle", "elm-stuff",
}

// steering are the globs of files that a runner or an interpreter takes up wherever it finds them, without being told.
var steering = []string{
	"sitecustomize.py", "usercustomize.py", "*.pth", "pytest.py", "_pytest/", "pytest/__init__.py", "unittest.py", "unittest/__init__.py", "nose.py", "pluggy.py",
	"__mocks__/", "*.egg-link", "*.dist-info/entry_points.txt", "*.egg-info/entry_points.txt",
}

// pythonRunner are the modules of python that `python -m unittest` loads before any test (3.11): whoever has one of these names before it, bends it.
var pythonRunner = []string{
	"argparse", "ast", "asyncio", "base64", "concurrent", "contextvars", "copy", "dataclasses", "difflib", "dis", "gettext", "heapq", "inspect", "linecache", "locale", "logging",
	"opcode", "pkgutil", "pprint", "runpy", "selectors", "signal", "socket", "ssl", "string", "subprocess", "textwrap", "token", "tokenize", "traceback", "unittest",
}

// A runner is a program that runs checks, under all of its names, with the globs of the files that tell it what to do.
type runner struct{ programs, config []string }

// runners is the table. Of the files that mixed knows only what concerns a check counts.
var runners = []runner{
	{[]string{"make", "gmake", "bmake"}, []string{"Makefile", "makefile", "GNUmakefile", "BSDmakefile", "*.mk", "*.mak", "Makefile.*"}},
	{
		[]string{
			"npm", "npx", "yarn", "yarnpkg", "pnpm", "pnpx", "bun", "bunx", "node", "tsx", "ts-node", "jest", "vitest", "mocha", "ava", "tap", "tape", "jasmine", "karma",
			"playwright", "cypress", "nyc", "c8", "turbo", "nx", "lerna", "wtr", "web-test-runner", "qunit", "uvu", "xo",
		},
		[]string{
			"package.json", "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", "pnpm-workspace.yaml", "bunfig.toml", ".pnp.*", ".mocharc*", "mocha.opts", "jest.config*",
			"jest-*.config*", "vitest.config*", "vitest.workspace*", "vite.config*", "karma.conf*", "playwright.config*", "cypress.config*", "cypress.json", "ava.config*",
			".nycrc*", ".c8rc*", "babel.config*", ".babelrc*", ".swcrc", "jasmine.json", ".taprc", "nx.json", "turbo.json", "lerna.json", "web-test-runner.config*",
		},
	},
	{[]string{"tsc", "vue-tsc", "tsd", "svelte-check"}, []string{"tsconfig*.json", "jsconfig.json"}},
	{[]string{"eslint", "biome", "prettier", "stylelint", "oxlint", "standard"}, []string{
		".eslintrc*", "eslint.config*", ".eslintignore", "biome.json*", ".prettierrc*", "prettier.config*", ".prettierignore", ".stylelintrc*", "stylelint.config*", ".oxlintrc*",
	}},
	{[]string{"deno"}, []string{"deno.json", "deno.jsonc", "import_map.json"}},
	{
		[]string{
			"pytest", "py.test", "tox", "nox", "python", "python2", "python3", "pypy", "pypy3", "coverage", "nose2", "nosetests", "unittest", "trial", "behave", "uv", "uvx",
			"poetry", "pdm", "pip", "pip3", "hatch", "pipenv", "rye", "mypy", "pyright", "flake8", "pylint", "ruff", "black", "isort", "bandit", "stestr",
		},
		[]string{
			"requirements*.txt", "*requirements.txt", "constraints*.txt", "uv.lock", "poetry.lock", "pdm.lock", "Pipfile", "Pipfile.lock", "pytest.ini", ".pytest.ini", "pytest.toml", "tox.ini", "tox.toml", "setup.cfg", "pyproject.toml", "conftest.py", "noxfile.py", ".coveragerc", "uv.toml", "poetry.toml",
			"hatch.toml", "pdm.toml", "behave.ini", "mypy.ini", ".mypy.ini", "pyrightconfig.json", ".flake8", ".pylintrc", "pylintrc", "ruff.toml", ".ruff.toml", "unittest.cfg",
			"nose2.cfg", ".stestr.conf", ".python-version",
		},
	},
	{[]string{"pre-commit", "prek", "lefthook"}, []string{".pre-commit-config.yaml", "lefthook.yml"}},
	{
		[]string{"go", "gotestsum", "ginkgo", "golangci-lint", "staticcheck", "revive", "gofmt", "gofumpt"},
		[]string{"go.mod", "go.work", ".golangci.*", "staticcheck.conf", "revive.toml"},
	},
	{
		[]string{"cargo", "cargo-nextest", "rustc", "rustfmt", "clippy-driver", "trybuild"},
		[]string{".cargo/", "build.rs", "Cargo.toml", ".config/nextest.toml", "rust-toolchain", "rust-toolchain.toml", "clippy.toml", ".clippy.toml", "rustfmt.toml", ".rustfmt.toml"},
	},
	{
		[]string{"gradle", "gradlew", "kotlinc"},
		[]string{"build.gradle", "build.gradle.kts", "settings.gradle*", "gradle.properties", "gradle/", "buildSrc/", "gradlew", "gradlew.bat", "init.gradle*"},
	},
	{[]string{"mvn", "mvnw", "mvnd"}, []string{"pom.xml", ".mvn/", "mvnw", "mvnw.cmd"}},
	{[]string{"ant"}, []string{"build.xml"}},
	{[]string{"sbt", "mill", "scala-cli"}, []string{"build.sbt", "project/", "build.sc", "build.mill"}},
	{[]string{"lein", "clojure", "clj"}, []string{"project.clj", "deps.edn", "tests.edn"}},
	{
		[]string{"dotnet", "msbuild", "nunit3-console", "vstest.console"},
		[]string{"*.csproj", "*.fsproj", "*.vbproj", "Directory.Build.props", "Directory.Build.targets", "global.json", "*.runsettings", "nuget.config", "NuGet.Config", "*.sln", "*.slnx", "xunit.runner.json"},
	},
	{[]string{"rake", "rspec", "bundle", "ruby", "rails", "minitest", "cucumber", "rubocop"}, []string{"Rakefile", "rakefile", "*.rake", "rakelib/", ".rspec", "Gemfile", "Gemfile.lock", ".rubocop*.yml", "cucumber.yml", ".simplecov", "bin/rails"}},
	{[]string{"phpunit", "composer", "pest", "php", "phpstan", "psalm", "codecept"}, []string{"phpunit.xml*", "composer.json", "composer.lock", "Pest.php", "phpstan*.neon*", "psalm.xml*", "codeception*.yml"}},
	{[]string{"mix", "elixir", "rebar3"}, []string{"mix.exs", ".formatter.exs", ".credo.exs", "rebar.config*"}},
	{[]string{"just"}, []string{"justfile", "Justfile", ".justfile", "*.just"}},
	{[]string{"task", "go-task"}, []string{"Taskfile.*", "taskfile.*"}},
	{[]string{"bazel", "bazelisk", "buck", "buck2", "pants"}, []string{"BUILD", "BUILD.bazel", "BUCK", "WORKSPACE*", "MODULE.bazel", ".bazelrc", ".bazelversion", "*.bzl", ".buckconfig", "pants.toml"}},
	{[]string{"cmake", "ctest"}, []string{"CMakeLists.txt", "CTest*.cmake", "CMakePresets.json", "CMakeUserPresets.json"}},
	{[]string{"meson", "ninja"}, []string{"meson.build", "build.ninja"}},
	{[]string{"dune", "opam"}, []string{"dune", "dune-project", "dune-workspace"}},
	{[]string{"cabal", "stack"}, []string{"cabal.project*", "stack.yaml"}},
	{[]string{"swift", "xcodebuild"}, []string{"Package.swift", "*.xctestplan", "*.xcscheme"}},
	{[]string{"dart", "flutter"}, []string{"dart_test.yaml", "analysis_options.yaml"}},
	{[]string{"zig"}, []string{"build.zig"}},
	{[]string{"prove"}, []string{".proverc"}},
	{[]string{"busted"}, []string{".busted"}},
	{[]string{"earthly"}, []string{"Earthfile"}},
	{[]string{"docker", "docker-compose", "podman"}, []string{"Dockerfile*", "Containerfile*", "docker-compose*", "compose.y*ml", "compose.*.y*ml", ".dockerignore"}},
	{[]string{"nix", "nix-build", "nix-shell", "devenv"}, []string{"flake.nix", "default.nix", "shell.nix"}},
	{[]string{"terraform", "tofu"}, []string{"*.tfvars", ".terraformrc"}},
	{[]string{"forge", "hardhat", "truffle"}, []string{"foundry.toml", "hardhat.config*", "truffle-config*"}},
}
