package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"opencode-delegate/internal/call"
	"opencode-delegate/internal/cli"
)

// A verb is a word that stands for a kind of task. It only reads, unless it writes.
type verb struct {
	name, summary, description, examples string
	new                                  func() command
	writes                               bool
}

// verbs are all of them.
var verbs = []verb{
	{name: "review", summary: "findings about a change or files", description: reviewDescription, examples: reviewExamples, new: func() command { return &review{} }},
	{name: "fix", summary: "findings of a review repaired", description: fixDescription, examples: fixExamples, new: func() command { return &fix{} }, writes: true},
	{name: "diagnose", summary: "causes of a failure, from its log", description: diagnoseDescription, examples: diagnoseExamples, new: func() command { return &diagnose{} }},
	{name: "research", summary: "claims with their sources from the web", description: researchDescription, examples: researchExamples, new: func() command { return &research{} }},
}

func verbOf(name string) (verb, bool) {
	i := slices.IndexFunc(verbs, func(v verb) bool { return v.name == name })
	if i < 0 {
		return verb{}, false
	}
	return verbs[i], true
}

// verbIn is the verb that the words begin with, and the words behind it. Without one the name is empty.
func verbIn(args []string) (name string, words []string) {
	if len(args) > 0 {
		if v, ok := verbOf(args[0]); ok {
			return v.name, args[1:]
		}
	}
	return "", args
}

// nearVerb is the verb that a word is a slip of the hand from: one letter more, less, other, or two that changed places. A word that is run as
// a task by mistake costs money.
func nearVerb(word string) (string, bool) {
	for _, v := range verbs {
		if word != v.name && slipOf(word, v.name) {
			return v.name, true
		}
	}
	return "", false
}

func slipOf(word, name string) bool {
	n := 0 // how many letters the two begin with in common
	for n < len(word) && n < len(name) && word[n] == name[n] {
		n++
	}
	w, v := word[n:], name[n:]
	switch len(w) - len(v) {
	case 1:
		return w[1:] == v
	case -1:
		return w == v[1:]
	case 0:
		return len(w) > 0 && w[1:] == v[1:] || len(w) > 1 && w[0] == v[1] && w[1] == v[0] && w[2:] == v[2:]
	}
	return false
}

// newCommand is the empty grammar of a verb or, without a name, of an ordinary call.
func newCommand(name string) command {
	if v, ok := verbOf(name); ok {
		return v.new()
	}
	return &grammar{}
}

// verbList are the verbs for the help of the program, a line each.
func verbList() string {
	var b strings.Builder
	for _, v := range verbs {
		fmt.Fprintf(&b, "  %-10s%s\n", v.name, v.summary)
	}
	return b.String()
}

// recipeFlags are the flags that every verb has.
type recipeFlags struct {
	call.ModelFlags
	call.AnswerFlags
	call.LimitFlags
	call.LookFlags
	ownFlags
}

// delegation is the ordinary call that a verb stands for. Its answer is a digest.
func (f recipeFlags) delegation(r call.Recipe, words []string) call.Flags {
	return call.Flags{
		Task: words, ModelFlags: f.ModelFlags, AnswerFlags: f.AnswerFlags, LimitFlags: f.LimitFlags, LookFlags: f.LookFlags,
		Digest: true, Recipe: r,
	}
}

// words are the caller's own, which may be none, and remarks about them.
func words(ctx context.Context, a *cli.App, c call.Call) (text string, notes []string, err error) {
	if !c.Prompt.Given {
		return "", a.Notes(c, ""), nil
	}
	text, err = a.ReadPrompt(ctx, c.Prompt)
	return text, a.Notes(c, text), err
}

func writes(name string) bool {
	v, ok := verbOf(name)
	return ok && v.writes
}

// foreign explains a flag of an ordinary call that a verb does not have.
func foreign(name string, err error) error {
	word, unknown := strings.CutPrefix(err.Error(), "unknown flag ")
	p, perr := newParser(&grammar{}, "", io.Discard)
	if name == "" || !unknown || perr != nil {
		return err
	}
	word, _, _ = strings.Cut(word, ",") // what may follow is a guess at another flag
	for _, f := range p.Model.Flags {
		switch {
		case word != "--"+f.Name && (f.Short == 0 || word != "-"+string(f.Short)):
		case f.Group != nil && f.Group.Key == "grant" && !writes(name):
			return fmt.Errorf("%s only reads, and --%s would let it do more; leave the flag out", name, f.Name)
		case f.Name == "digest":
			return fmt.Errorf("%s answers with a digest anyway; leave --digest out", name)
		default:
			return fmt.Errorf("%s has no --%s; leave it out", name, f.Name)
		}
	}
	return err
}
