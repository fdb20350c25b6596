package call

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"opencode-delegate/internal/lazyregexp"
)

// PromptLimit bounds a prompt in bytes: far above what a model takes, far below what would hurt.
const PromptLimit = 64 << 20

// A Prompt says where the task's text comes from.
type Prompt struct {
	Text  string // the positional text
	File  string // absolute; empty = none
	Stdin bool
	Given bool // false: no text, no file, no -
}

// jobVerbs are the verbs of oc-job: alone they are a slip, not a task.
var jobVerbs = map[string]bool{
	"start": true, "list": true, "status": true, "result": true, "wait": true, "cancel": true, "logs": true, "continue": true, "retry": true,
	"recover": true, "gc": true, "doctor": true, "notify": true, "watch": true, "setup": true,
	"quota": true, "report": true, "diff": true, "apply": true, "merge": true, "discard": true, "undo": true, "trust": true,
}

// JobVerb reports whether a whole task, found before any --, is the name of a verb of oc-job.
func JobVerb(task []string) bool { return len(task) == 1 && jobVerbs[task[0]] }

func (r *resolver) prompt() {
	f, p := r.flags, &r.call.Prompt
	texts := 0
	for _, t := range f.Task {
		if t == "-" && !p.Stdin {
			p.Stdin = true
			continue
		}
		texts++
		p.Text = t
	}
	file := r.flag("prompt-file", f.PromptFile)
	switch {
	case texts > 1:
		r.problem("", fmt.Errorf("%d tasks were given; give one, in quotes if it has spaces", texts))
	case file.Set() && (texts > 0 || p.Stdin):
		r.problem("", errors.New("the task is given twice; give either --prompt-file, or a text, or -"))
	case texts == 1:
		r.problem("task", checkText(p.Text))
	case file.Set():
		p.File = r.absolute(file.Text)
		if fi, err := os.Stat(p.File); err != nil {
			r.problem(file.Source, fmt.Errorf("%s is not there; name a file that exists", clip(file.Text)))
		} else if fi.IsDir() {
			r.problem(file.Source, fmt.Errorf("%s is a directory; name a file", clip(file.Text)))
		}
	}
	p.Given = texts > 0 || p.Stdin || file.Set()
}

// Read returns the whole prompt. A problem with it is one clear sentence.
func (p Prompt) Read(stdin io.Reader) (string, error) {
	switch {
	case p.File != "":
		f, err := os.Open(p.File)
		if err != nil {
			return "", fmt.Errorf("--prompt-file: %w", err)
		}
		defer f.Close()
		return readText(f, "the prompt file")
	case !p.Stdin:
		return p.Text, nil
	}
	text, err := readText(stdin, "stdin")
	if err != nil || p.Text == "" {
		return text, err
	}
	return p.Text + "\n\n" + text, nil
}

func readText(r io.Reader, name string) (string, error) {
	var b strings.Builder
	n, err := io.Copy(&b, io.LimitReader(r, PromptLimit+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("%s: %w", name, err)
	case n > PromptLimit:
		return "", fmt.Errorf("%s: more than %d MiB; put the material into files and name them", name, PromptLimit>>20)
	}
	if err := checkText(b.String()); err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return b.String(), nil
}

func checkText(s string) error {
	switch {
	case strings.TrimSpace(s) == "":
		return errors.New("empty; say what is to be done")
	case strings.IndexByte(s, 0) >= 0:
		return errors.New("holds a NUL byte; a task is text")
	case !utf8.ValidString(s):
		return errors.New("is not UTF-8; convert it first")
	}
	return nil
}

// writing matches words that usually ask for a change; a note is all that follows from them.
var writing = lazyregexp.New(`(?i)\b(implement|scaffold|migrate|refactor)\b|` +
	`\b(create|write|edit|modify|change|add|delete|remove|rename|update|fix)\s+(\S+\s+){0,3}?(files?|tests?|functions?|\S*\w\.[a-z]{1,5})\b`)

// LooksLikeWriting reports whether a prompt seems to ask for changes in files, by its first words.
func LooksLikeWriting(prompt string) bool {
	return writing().MatchString(prompt[:min(len(prompt), 400)])
}
