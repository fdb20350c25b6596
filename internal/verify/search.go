package verify

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A search follows the commands of the checks into the files that they name, and those into what they name.
type search struct {
	guard   *Guard
	runners map[string]bool // programs of the table that are called
	files   []string        // named files whose own commands have not been looked at
	read    int
}

// filesRead is how many files a search looks into, and scriptLimit how far into each.
const (
	filesRead   = 200
	scriptLimit = 256 << 10
)

func (s *search) commands(at string, commands []string) {
	for _, text := range commands {
		s.script(text, at)
	}
	for ; len(s.files) > 0 && s.read < filesRead; s.read++ {
		file := s.files[0]
		s.files = s.files[1:]
		text, err := s.guard.read(file)
		if err != nil {
			continue
		}
		text = text[:min(len(text), scriptLimit)]
		// A script finds things from where it was called, from where it lies, or from the top.
		dirs := []string{at, path.Dir(file), "."}
		switch kind := recipeOf(file); {
		case kind != nil:
			for _, command := range kind(text) {
				s.script(command, dirs...)
			}
		case isShell(file, text):
			s.script(string(text), dirs...)
		}
	}
}

// config are the globs of all runners that were seen.
func (s *search) config() []string {
	var globs []string
	for _, r := range runners {
		if slices.ContainsFunc(r.programs, func(p string) bool { return s.runners[p] }) {
			globs = append(globs, r.config...)
		}
	}
	return globs
}

// name adds a file of the base to those that are named.
func (s *search) name(file string) {
	if s.guard.base[file] && !s.guard.named[file] {
		s.guard.named[file] = true
		s.files = append(s.files, file)
	}
}

// follow looks into a file that need not be named: a runner's own, which is protected by the table.
func (s *search) follow(file string) {
	if s.guard.base[file] && !slices.Contains(s.files, file) {
		s.files = append(s.files, file)
	}
}

// script looks at the commands of a text for a shell, in each of the directories in which it may run.
func (s *search) script(text string, dirs ...string) {
	parsed, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		for line := range strings.Lines(text) {
			s.call(strings.Fields(line), dirs)
		}
		return
	}
	syntax.Walk(parsed, func(node syntax.Node) bool {
		switch node := node.(type) {
		case *syntax.CallExpr:
			words := make([]string, len(node.Args))
			for i, w := range node.Args {
				words[i] = literal(w)
			}
			if len(words) == 2 && words[0] == "cd" {
				for _, dir := range dirs {
					dirs = append(dirs, path.Join(dir, words[1]))
				}
			}
			s.call(words, dirs)
		case *syntax.Assign:
			if node.Name != nil && node.Value != nil && isLoader(node.Name.Value) {
				s.loaded(literal(node.Value), dirs)
			}
		case *syntax.Redirect:
			if node.Word != nil {
				s.call([]string{"<", literal(node.Word)}, dirs)
			}
		}
		return true
	})
}

// unknown stands for what of a word is not known before it runs.
const unknown = "\x00"

// literal is the text of a word as far as it is known before it runs. What is not makes it empty, but at its beginning: there it is a directory in which
// to look, as in "$(dirname "$0")/lib.sh", and which one does not matter.
func literal(w *syntax.Word) string {
	text := partsOf(w.Parts)
	if below, ok := strings.CutPrefix(text, unknown+"/"); ok && below != "" {
		text = "./" + below
	}
	if strings.Contains(text, unknown) {
		return ""
	}
	return text
}

func partsOf(parts []syntax.WordPart) string {
	var b strings.Builder
	for _, part := range parts {
		switch part := part.(type) {
		case *syntax.Lit:
			b.WriteString(strings.ReplaceAll(part.Value, `\`, ""))
		case *syntax.SglQuoted:
			b.WriteString(part.Value)
		case *syntax.DblQuoted:
			b.WriteString(partsOf(part.Parts))
		case *syntax.ParamExp:
			if part.Param == nil || part.Param.Value != "PWD" || part.Exp != nil {
				b.WriteString(unknown)
				continue
			}
			b.WriteByte('.')
		default:
			b.WriteString(unknown)
		}
	}
	return b.String()
}

// call looks at the words of one command.
func (s *search) call(words, dirs []string) {
	runs := false // a runner is called
	for i, word := range words {
		for _, program := range []string{path.Base(word), strings.TrimSuffix(path.Base(word), ".exe")} {
			if isRunner(program) {
				s.runners[program], runs = true, true
				for _, dir := range dirs {
					s.own(program, dir)
				}
			}
		}
		option, value, ok := strings.Cut(word, "=")
		switch {
		case runs && ok && slices.Contains(configOptions, option):
			s.resolve(value, dirs, true)
		case runs && i > 0 && slices.Contains(configOptions, words[i-1]):
			s.resolve(word, dirs, true)
		case i > 0 && words[i-1] == "-c" && isShellName(path.Base(words[max(i-2, 0)])):
			s.script(word, dirs...)
		case i > 0 && slices.Contains(takingIn, words[0]):
			s.include(word, dirs)
			s.resolve(word, dirs, true)
		default:
			s.resolve(word, dirs, isScript(words, i))
		}
	}
}

// loaded are the files in the value of a variable by which a program takes up code or settings, as in BASH_ENV=ci.env or NODE_OPTIONS="--require ./setup.js".
func (s *search) loaded(value string, dirs []string) {
	for _, word := range strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(" \t\n,:=", r) }) {
		s.include(word, dirs)
		s.resolve(word, dirs, true)
	}
}

// takingIn are the words by which a script and a makefile take in a file, which need not be there at the base.
var takingIn = []string{".", "source", "include", "sinclude"}

func (s *search) include(word string, dirs []string) {
	if word == "" || len(word) > 4096 || path.IsAbs(word) {
		return
	}
	for _, dir := range dirs {
		if name := path.Join(dir, word); !s.guard.base[name] {
			s.guard.included[name] = true
		}
	}
}

// resolve names the file of the base that a word may mean.
func (s *search) resolve(word string, dirs []string, script bool) {
	word, _, _ = strings.Cut(word, "::") // pytest's way to name a test
	if word == "" || len(word) > 4096 || path.IsAbs(word) || !script && !checks(word) {
		return
	}
	for _, dir := range dirs {
		s.name(path.Join(dir, word))
	}
}

// own looks into the files by which a runner is told what to run, from a directory up to the top.
func (s *search) own(program, dir string) {
	for {
		for _, name := range recipeNames {
			s.follow(path.Join(dir, name))
		}
		if dir == "." || dir == "/" || strings.HasPrefix(dir, "..") {
			return
		}
		dir = path.Dir(dir)
	}
}

func isRunner(program string) bool {
	return slices.ContainsFunc(runners, func(r runner) bool { return slices.Contains(r.programs, program) })
}

// isShell reports whether a file is a script for a shell.
func isShell(name string, text []byte) bool {
	switch path.Ext(name) {
	case ".sh", ".bash", ".ksh", ".dash", ".zsh":
		return true
	}
	first, _, _ := bytes.Cut(text, []byte("\n"))
	return bytes.HasPrefix(first, []byte("#!")) && bytes.Contains(first, []byte("sh"))
}
