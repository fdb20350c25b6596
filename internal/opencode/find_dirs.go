package opencode

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// searchDirs lists the directories that may hold an opencode, in the order of the search, without repetitions.
func searchDirs(o FindOptions) []string {
	env, h := o.Getenv, home(o.Getenv)
	dirs := pathDirs(env("PATH"))
	in := func(base string, rest ...string) {
		if filepath.IsAbs(base) {
			dirs = append(dirs, filepath.Join(append([]string{base}, rest...)...))
		}
	}
	// opencode's own installer, and the variables that it honours.
	in(h, ".opencode", "bin")
	in(env("OPENCODE_INSTALL_DIR"))
	in(env("XDG_BIN_DIR"))
	in(h, "bin")
	in(h, ".local", "bin")
	// npm: the prefix of the environment or of ~/.npmrc, then the places that people choose for it.
	in(env("npm_config_prefix"), "bin")
	in(env("NPM_CONFIG_PREFIX"), "bin")
	in(npmrcPrefix(h), "bin")
	in(h, ".npm-global", "bin")
	in(h, ".npm-packages", "bin")
	in(h, ".local", "share", "npm", "bin")
	// nvm keeps one global directory for each version of node.
	in(env("NVM_BIN"))
	nvm := env("NVM_DIR")
	if nvm == "" && h != "" {
		nvm = filepath.Join(h, ".nvm")
	}
	dirs = append(dirs, versionDirs(filepath.Join(nvm, "versions", "node"), "bin")...)
	dirs = append(dirs, versionDirs(filepath.Join(h, ".local", "share", "fnm", "node-versions"), "installation", "bin")...)
	in(env("VOLTA_HOME"), "bin")
	in(h, ".volta", "bin")
	in(env("BUN_INSTALL"), "bin")
	in(h, ".bun", "bin")
	in(env("PNPM_HOME"))
	in(h, ".local", "share", "pnpm")
	in(h, "Library", "pnpm")
	in(h, ".yarn", "bin")
	in(h, ".local", "share", "mise", "shims")
	in(h, ".asdf", "shims")
	in(h, ".nix-profile", "bin")
	if runtime.GOOS == "windows" {
		in(env("APPDATA"), "npm")
		in(h, "scoop", "shims")
		in(env("ChocolateyInstall"), "bin")
	} else {
		dirs = append(dirs, "/usr/local/bin", "/opt/homebrew/bin", "/home/linuxbrew/.linuxbrew/bin", "/usr/bin", "/snap/bin")
	}
	seen := make(map[string]bool, len(dirs))
	return slices.DeleteFunc(dirs, func(d string) bool {
		known := seen[d]
		seen[d] = true
		return known
	})
}

// pathDirs are the absolute entries of a PATH. An empty or relative entry means the current directory or a part of it:
// there a repository could plant a program of that name.
func pathDirs(path string) []string {
	var dirs []string
	for _, d := range filepath.SplitList(path) {
		if filepath.IsAbs(d) {
			dirs = append(dirs, filepath.Clean(d))
		}
	}
	return dirs
}

func home(env func(string) string) string {
	if runtime.GOOS == "windows" {
		return env("USERPROFILE")
	}
	return env("HOME")
}

// npmrcPrefix is the "prefix" of ~/.npmrc, "" when there is none. ~ and ${HOME} are what npm itself expands there.
func npmrcPrefix(home string) string {
	if home == "" {
		return ""
	}
	text, err := head(filepath.Join(home, ".npmrc"), 64<<10)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		key, value, ok := strings.Cut(line, "=")
		if !ok || strings.TrimSpace(key) != "prefix" {
			continue
		}
		value = strings.Trim(strings.TrimSpace(value), `"'`)
		value = strings.ReplaceAll(value, "${HOME}", home)
		if rest, ok := strings.CutPrefix(value, "~/"); ok {
			value = filepath.Join(home, rest)
		}
		return value
	}
	return ""
}

// versionDirs lists base/*/sub…, the newest version first.
func versionDirs(base string, sub ...string) []string {
	if !filepath.IsAbs(base) {
		return nil
	}
	entries, err := os.ReadDir(base)
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	slices.SortFunc(names, func(a, b string) int { return slices.Compare(versionNumbers(b), versionNumbers(a)) })
	var dirs []string
	for _, n := range names[:min(len(names), 64)] {
		dirs = append(dirs, filepath.Join(append([]string{base, n}, sub...)...))
	}
	return dirs
}

// versionNumbers are the numbers of a name such as "v20.11.1".
func versionNumbers(name string) []int {
	var numbers []int
	for part := range strings.SplitSeq(strings.TrimPrefix(name, "v"), ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			break
		}
		numbers = append(numbers, n)
	}
	return numbers
}
