package verify

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
	"unicode"

	"opencode-delegate/internal/lazyregexp"
)

// shellNames are the programs whose argument is a script in any case: what a shell runs is a check, and not the work.
var shellNames = []string{"sh", "bash", "dash", "ksh", "zsh", "busybox", ".", "source"}

// interpreters run the work as well as the check, so that the name of the script decides.
var interpreters = []string{".py", ".js", ".mjs", ".cjs", ".ts", ".mts", ".rb", ".pl", ".php", ".lua", ".go", ".rs", ".java", ".kts", ".groovy", ".R", ".r", ".jl", ".exs", ".ex", ".c", ".cc", ".cpp"}

// configOptions are followed by the name of a file that tells a runner what to do.
var configOptions = []string{"-f", "--file", "--makefile", "-c", "--config", "--configuration", "--rcfile", "-p", "--project", "--config-file", "-b", "--build-file", "--settings", "--require", "-r"}

func isShellName(name string) bool { return slices.Contains(shellNames, name) }

// isScript reports whether the word at a place of a command is a script that is run as it is: the program itself when it is named by a path, or the
// first argument of a shell.
func isScript(words []string, i int) bool {
	word := words[i]
	if strings.HasPrefix(word, "-") {
		return false
	}
	if i > 0 {
		last := i - 1
		for last > 0 && strings.HasPrefix(words[last], "-") {
			last--
		}
		return isShellName(path.Base(words[last]))
	}
	return strings.Contains(word, "/") && !slices.Contains(interpreters, path.Ext(word))
}

// checkWords are what the name of a file says when the file checks something or is what is compared with.
var checkWords = []string{
	"test", "tests", "check", "checks", "checker", "verify", "spec", "specs", "lint", "ci", "expected", "expect", "golden", "fixture", "fixtures", "validate", "assert", "asserts",
	"acceptance", "e2e", "smoke", "bench", "selftest", "runtests", "testrunner", "tester", "testing",
}

// checks reports whether the name of a file, or of the directories above it, says that it is for checking.
func checks(name string) bool {
	words := strings.FieldsFunc(camel().ReplaceAllString(name, "$1 $2"), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(checkWords, strings.ToLower(w)) })
}

var camel = lazyregexp.New(`([a-z0-9])([A-Z])`)

// recipeNames are the files in which runners find the commands that they run.
var recipeNames = []string{
	"Makefile", "makefile", "GNUmakefile", "package.json", "composer.json", "justfile", "Justfile", ".justfile", "Taskfile.yml", "Taskfile.yaml", "tox.ini", "pyproject.toml",
	"deno.json", "lefthook.yml", ".pre-commit-config.yaml", "Earthfile", "Rakefile",
}

// recipeOf is how the commands of a file are found; nil when it has none that can be.
func recipeOf(file string) func([]byte) []string {
	switch base := path.Base(file); {
	case base == "package.json" || base == "composer.json" || base == "deno.json":
		return scriptsOf
	case slices.Contains(recipeNames, base), path.Ext(base) == ".mk", path.Ext(base) == ".just":
		return linesOf
	}
	return nil
}

// scriptsOf are the commands of a package.json and its like.
func scriptsOf(text []byte) []string {
	var p struct {
		Scripts map[string]any `json:"scripts"`
		Tasks   map[string]any `json:"tasks"`
	}
	if json.Unmarshal(text, &p) != nil {
		return nil
	}
	var commands []string
	for _, scripts := range []map[string]any{p.Scripts, p.Tasks} {
		for _, v := range scripts {
			list, _ := v.([]any)
			for _, v := range append(list[:len(list):len(list)], v) {
				if command, ok := v.(string); ok {
					commands = append(commands, command)
				}
			}
		}
	}
	return commands
}

// linesOf takes each line for a command, without what make, just, YAML and TOML put before one. What is none names nothing.
func linesOf(text []byte) []string {
	var commands []string
	whole := strings.ReplaceAll(string(text), "\\\n", " ")
	for line := range strings.Lines(whole) {
		line = leader().ReplaceAllString(line, "")
		line = strings.Trim(strings.ReplaceAll(line, "$$", "$"), " \t\r\n\"',")
		if line != "" {
			line = anywhere().ReplaceAllString(line, "$1./")
			commands = append(commands, variable().ReplaceAllStringFunc(line, func(v string) string {
				if v == "$(MAKE)" || v == "${MAKE}" {
					return "make"
				}
				return ""
			}))
		}
	}
	return commands
}

var (
	leader   = lazyregexp.New(`^\s*[@+-]*\s*(-\s+)?((cmd|run|sh|entry|commands|command|script|test|tests|check)\s*[:=]\s*)?[\["']*`)
	anywhere = lazyregexp.New(`(^|[\s"'=])\$[({][A-Za-z0-9_]+[)}]/`) // a directory that is not known: any in which to look
	variable = lazyregexp.New(`\$[({][A-Za-z0-9_]+[)}]`)
)
