package verify

import (
	"encoding/json"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"opencode-delegate/internal/lazyregexp"
)

// A mixed file tells a runner what to do, and which libraries the work needs. mixedFile is the comparison that leaves out the libraries, as far
// as they come from a registry; nil when every change of a file counts.
func mixedFile(name string) func(before, after []byte) bool {
	switch base := path.Base(name); {
	case isLock(base):
		return sameSources
	case base == "package.json" || base == "composer.json":
		return sameManifest
	case base == "go.mod":
		return sameLines(goReplaces(), true)
	case base == "Cargo.toml":
		return sameSections(cargoLibraries())
	case base == "pyproject.toml":
		return sameSections(pythonLibraries())
	case base == "CMakeLists.txt" || base == "meson.build":
		return sameLines(buildTests(), true)
	case strings.HasPrefix(base, "build.gradle"):
		return sameLines(gradleLibraries(), false)
	case base == "Gemfile":
		return sameLines(gemLibraries(), false)
	case slices.Contains([]string{".csproj", ".fsproj", ".vbproj"}, path.Ext(base)):
		return sameLines(dotnetLibraries(), false)
	}
	return nil
}

var (
	goReplaces      = lazyregexp.New(`=>`)
	buildTests      = lazyregexp.New(`(?i)test|check|benchmark|add_custom|execute_process|run_command|include\s*\(`)
	gradleLibraries = lazyregexp.New(`^\s*(test|androidTest|kapt|ksp)?(api|[iI]mplementation|[cC]ompileOnly|[rR]untimeOnly|[aA]nnotationProcessor)\s*[( ]\s*["'][\w.\-]+:[\w.\-]+(:[\w.\-+]+)?["']\s*\)?\s*$`)
	gemLibraries    = lazyregexp.New(`^\s*gem\s+["'][\w\-]+["'](\s*,\s*["'][~><=!\d.\s]+["'])*\s*$`)
	dotnetLibraries = lazyregexp.New(`^\s*<PackageReference\s+Include="[\w.\-]+"\s+Version="[\w.\-]+"\s*/>\s*$`)
	cargoLibraries  = lazyregexp.New(`^\[(target\.[^\]]+\.)?(dev-|build-)?dependencies(\.[^\]]+)?\]|^\[features\]`)
	pythonLibraries = lazyregexp.New(`^\[(project|project\.optional-dependencies|dependency-groups|tool\.poetry\.dependencies|tool\.poetry\.group\.[^\]]+\.dependencies)\]`)
	elsewhere       = lazyregexp.New(`\b(path|git|url|file|editable|workspace|registry)\b\s*=|://|@\s*file:|entry-points|scripts`)
)

// sameLines compares the lines that an expression matches, or those that it does not, white space at their ends left aside.
func sameLines(match *regexp.Regexp, matching bool) func(before, after []byte) bool {
	kept := func(text []byte) []string {
		var lines []string
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSpace(line); line != "" && match.MatchString(line) == matching {
				lines = append(lines, line)
			}
		}
		return lines
	}
	return func(before, after []byte) bool { return slices.Equal(kept(before), kept(after)) }
}

// sameSections compares a file of sections: those of libraries only by the lines that take one from elsewhere than a registry.
func sameSections(libraries *regexp.Regexp) func(before, after []byte) bool {
	kept := func(text []byte) []string {
		var lines []string
		aside := false
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSpace(line)
			if strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]") {
				aside = libraries.MatchString(line)
			}
			if line != "" && (!aside || elsewhere().MatchString(line)) {
				lines = append(lines, line)
			}
		}
		return lines
	}
	return func(before, after []byte) bool { return slices.Equal(kept(before), kept(after)) }
}

// libraryMembers are the members of a package.json and a composer.json that no check is told anything by, as far as their values are versions.
var libraryMembers = []string{
	"dependencies", "devDependencies", "peerDependencies", "optionalDependencies", "peerDependenciesMeta", "require", "require-dev",
	"version", "description", "keywords", "author", "contributors", "license", "homepage", "repository", "bugs", "funding",
}

// sameManifest compares two JSON objects without those.
func sameManifest(before, after []byte) bool {
	kept := func(text []byte) (map[string]any, bool) {
		var m map[string]any
		if json.Unmarshal(text, &m) != nil {
			return nil, false
		}
		for _, name := range libraryMembers {
			list, _ := m[name].(map[string]any)
			delete(m, name)
			for library, v := range list {
				// "file:x", "git+ssh://…", "owner/name", "npm:other@1": another library under this name.
				if version, ok := v.(string); ok && strings.ContainsAny(version, ":/") {
					m[name+"\x00"+library] = version
				}
			}
		}
		return m, true
	}
	b, ok := kept(before)
	a, ok2 := kept(after)
	return ok && ok2 && reflect.DeepEqual(b, a)
}

// lockFiles are those by which an installer knows where each library comes from.
var lockFiles = []string{
	"package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock", "uv.lock", "poetry.lock", "pdm.lock", "Pipfile", "Pipfile.lock", "Gemfile.lock", "composer.lock",
}

func isLock(base string) bool {
	return slices.Contains(lockFiles, base) || isRequirements(base)
}

func isRequirements(base string) bool {
	return path.Ext(base) == ".txt" && (strings.HasPrefix(base, "requirements") || strings.HasPrefix(base, "constraints") || strings.HasSuffix(base, "requirements.txt"))
}

// sameSources reports whether a file of libraries takes none from a place that it did not know before. Other versions from the same places are the work's.
func sameSources(before, after []byte) bool {
	known := append(sourcesOf(before), registries...)
	return !slices.ContainsFunc(sourcesOf(after), func(s string) bool { return !slices.Contains(known, s) })
}

// registries are where installers look by themselves. The labels are written from the right: nothing in this repository shall send anybody to a registry.
var registries = []string{
	address("org.npmjs.registry"), address("com.yarnpkg.registry"), address("org.pythonhosted.files"), address("org.pypi"), address("org.rubygems"), address("com.github.api"),
}

// address is that of a host whose labels are written from the right.
func address(labels string) string {
	list := strings.Split(labels, ".")
	slices.Reverse(list)
	return "https://" + strings.Join(list, ".")
}

// sourcesOf are the hosts of a text, and its lines that name a place without one: a directory, a file, a repository.
func sourcesOf(text []byte) []string {
	var all []string
	for line := range strings.Lines(string(text)) {
		all = append(all, hosts().FindAllString(line, -1)...)
		if places().MatchString(line) {
			all = append(all, strings.TrimSpace(line))
		}
	}
	return all
}

var (
	hosts  = lazyregexp.New(`[A-Za-z][A-Za-z0-9+.\-]*://[^/\s"'?#]+`)
	places = lazyregexp.New(`\b(file|link|portal):|file:///|"type":\s*"path"|"resolved":\s*"([^h"]|h[^t])|^\s*(PATH|GIT)\s*$|\b(path|editable|directory|virtual)\s*=|git@|^\s*(-e|--editable|--find-links|-f|-r|-c)[\s=]|^\s*\.{0,2}/|^\s*remote:\s*\.`)
)
