package repocode

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"opencode-delegate/internal/lazyregexp"

	"opencode-delegate/internal/gitconfig"
)

// extras are the places in the work tree, or in a git directory, that the configuration before the run makes code of.
type extras struct {
	includes []string // configuration files
	hookDirs []string // named by core.hooksPath
	programs []string // files
}

const (
	maxExtras       = 1024
	maxIncludeDepth = 10 // as in git
	maxTops         = 64
)

// hookNames are the files that git starts in a hooks directory (githooks(5) of git 2.54). In a directory of the work tree only
// these are guarded: a README beside them is the project's.
var hookNames = []string{
	"applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit", "prepare-commit-msg", "commit-msg",
	"post-commit", "pre-rebase", "post-checkout", "post-merge", "pre-push", "pre-receive", "update", "proc-receive", "post-receive",
	"post-update", "reference-transaction", "push-to-checkout", "pre-auto-gc", "post-rewrite", "sendemail-validate",
	"fsmonitor-watchman", "p4-changelist", "p4-prepare-changelist", "p4-post-changelist", "p4-pre-submit", "post-index-change",
}

// startsProgram matches the variables whose value is a command.
var startsProgram = lazyregexp.New(`(command|cmd|program|helper|driver|textconv|editor|pager|fsmonitor|gitproxy|clean|smudge|` +
	`process|askpass|external|difffilter|hook)$`)

// findExtras reads the configuration of each repository and of the user for places that lie where the run may write.
// Conditions of includeIf are taken as met: a guarded place too many does no harm.
func (s *scanner) findExtras() {
	tops := s.tops()
	seen := map[string]bool{}
	for _, path := range slices.Sorted(maps.Keys(s.items)) {
		if it := s.items[path]; it.kind == kindConfig && it.form == regular {
			s.findIn(path, it.text, tops, 0, seen)
		}
	}
	for _, path := range s.options.UserConfig {
		if text, err := readRegular(path, gitconfig.MaxSize, true); err == nil {
			s.findIn(path, text, tops, 0, seen)
		}
	}
}

// tops are the directories that a relative path in a configuration may start from.
func (s *scanner) tops() []string {
	tops := []string{s.dir}
	for _, path := range slices.Sorted(maps.Keys(s.items)) {
		if s.items[path].kind == kindGit && len(tops) < maxTops {
			tops = append(tops, filepath.Dir(path))
		}
	}
	for _, g := range slices.Sorted(maps.Keys(s.gitDirs)) {
		if filepath.Base(g) != ".git" && len(tops) < maxTops {
			tops = append(tops, g)
		}
	}
	return tops
}

func (s *scanner) findIn(path string, text []byte, tops []string, depth int, seen map[string]bool) {
	f, err := gitconfig.Parse(text)
	if err != nil || seen[path] || depth > maxIncludeDepth {
		return
	}
	seen[path] = true
	for _, e := range f.Entries {
		section, _, variable := gitconfig.Split(e.Key)
		switch {
		case (section == "include" || section == "includeif") && variable == "path":
			included, ok := s.absolute(filepath.Dir(path), e.Value)
			if !ok {
				continue
			}
			s.mark(&s.extras.includes, included)
			if text, err := readRegular(included, gitconfig.MaxSize, true); err == nil {
				s.findIn(included, text, tops, depth+1, seen)
			}
		case e.Key == "core.hookspath":
			for _, top := range tops {
				if dir, ok := s.absolute(top, e.Value); ok {
					s.mark(&s.extras.hookDirs, dir)
				}
			}
		case section == "alias" && strings.HasPrefix(e.Value, "!"), section == "pager", startsProgram().MatchString(variable):
			for word := range strings.FieldsSeq(strings.TrimPrefix(e.Value, "!")) {
				s.markProgram(tops, strings.Trim(word, `"';`))
			}
		}
	}
}

func (s *scanner) markProgram(tops []string, word string) {
	for _, top := range tops {
		path, ok := s.absolute(top, word)
		if !ok {
			continue
		}
		if fi, err := os.Lstat(path); strings.Contains(word, "/") && err != nil || err == nil && !fi.IsDir() {
			s.mark(&s.extras.programs, path)
		}
	}
}

// mark adds a place if the run may write there and it is not guarded already.
func (s *scanner) mark(list *[]string, path string) {
	path = resolveParent(path)
	if _, guarded := s.items[path]; guarded || len(*list) >= maxExtras || slices.Contains(*list, path) {
		return
	}
	reachable := inside(s.dir, path)
	for g := range s.gitDirs {
		reachable = reachable || inside(g, path)
	}
	for p, it := range s.items {
		reachable = reachable || it.kind == kindGit && inside(filepath.Dir(p), path)
	}
	if reachable {
		*list = append(*list, path)
	}
}

// absolute resolves a path of a configuration as git does.
func (s *scanner) absolute(base, path string) (string, bool) {
	if path == "" || strings.ContainsRune(path, 0) {
		return "", false
	}
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		if s.options.Home == "" {
			return "", false
		}
		base, path = s.options.Home, rest
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(base, path)
	}
	return filepath.Clean(path), true
}

// resolveParent resolves the links of a path but for its last part, as far as it exists.
func resolveParent(path string) string {
	rest := filepath.Base(path)
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, rest)
		}
		if dir == filepath.Dir(dir) {
			return path
		}
		rest = filepath.Join(filepath.Base(dir), rest)
	}
}

func (s *scanner) addExtras() {
	for _, path := range s.extras.includes {
		s.config(path, "")
	}
	for _, dir := range s.extras.hookDirs {
		real, ok := s.enter(dir, "")
		if !ok {
			continue
		}
		for _, name := range hookNames {
			s.follow(filepath.Join(real, name), kindHook, "")
		}
	}
	for _, path := range s.extras.programs {
		s.follow(path, kindFile, "")
	}
}
