package main

import (
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"opencode-delegate/internal/call"
	"opencode-delegate/internal/policy"
)

// TestPolicyKnowsEveryFlag: a flag that the policy of the plugin has not decided about must not appear, and none that it knows may
// mean something else here.
func TestPolicyKnowsEveryFlag(t *testing.T) {
	names := []string{""}
	for _, v := range verbs {
		names = append(names, v.name)
	}
	if known := policy.Verbs(policy.Delegate); !slices.Equal(known, names) {
		t.Errorf("the verbs are %q, the policy knows %q", names, known)
	}
	for _, name := range names {
		p, err := newParser(newCommand(name), name, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		left := map[string]policy.Known{}
		for _, k := range policy.Flags(policy.Delegate, name) {
			left[k.Flag] = k
		}
		for _, f := range p.Model.Flags {
			got := policy.Known{Verb: name, Flag: f.Name, Short: byte(f.Short), Value: !f.IsBool(), Many: f.IsSlice()}
			if want, ok := left[f.Name]; !ok || got != want || len(f.Aliases) > 0 || f.Tag.Negatable != "" || len(f.Envs) > 0 || f.Short > 0x7f {
				t.Errorf("the grammar has %+v, the policy knows %+v", got, want)
			}
			delete(left, f.Name)
		}
		if len(left) > 0 || len(p.Model.Children) > 0 {
			t.Errorf("%q: the policy knows flags that the grammar has not: %v", name, left)
		}
	}
}

// TestPolicyReadsAsTheGrammarDoes: words that the policy may allow have to mean here what it took them to mean, or be an error.
func TestPolicyReadsAsTheGrammarDoes(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2))
	both, refusedHere := map[string]int{}, 0
	parsers := map[string]*kong.Kong{}
	for _, name := range policy.Verbs(policy.Delegate) {
		p, err := newParser(newCommand(name), name, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		parsers[name] = p
	}
	for range 60_000 {
		words := randomWords(r)
		read, err := policy.ReadWords(append([]string{policy.Delegate}, words...))
		if err != nil {
			continue
		}
		if help, version := asked(words); help || version {
			if read.Flags["help"] == nil && read.Flags["version"] == nil {
				t.Fatalf("%q: help is asked for, and the policy read %v", words, read.Flags)
			}
			continue
		}
		verb, behind := verbIn(words)
		if verb != read.Verb {
			t.Fatalf("%q: the verb is %q, the policy read %q", words, verb, read.Verb)
		}
		ctx, err := parsers[verb].Parse(behind) // which takes back what an earlier one has set
		if err != nil {
			refusedHere++
			continue
		}
		both[verb]++
		flags, args := map[string][]string{}, []string(nil)
		for _, step := range ctx.Path {
			switch {
			case step.Flag != nil:
				flags[step.Flag.Name] = values(t, step.Flag)
			case step.Positional != nil:
				args = step.Positional.Target.Interface().([]string)
			}
		}
		given := map[string][]string{}
		for name, texts := range read.Flags {
			if given[name] = texts; strings.Join(texts, "") == "" {
				given[name] = []string{""} // a switch may stand more than once
			}
		}
		equal := len(flags) == len(given) && slices.Equal(args, read.Args)
		for name, texts := range given {
			equal = equal && slices.Equal(flags[name], texts)
		}
		if !equal {
			t.Fatalf("%q\n\tgrammar: %v %q\n\tpolicy: %v %q", words, flags, args, given, read.Args)
		}
		if g := (&grammar{Flags: call.Flags{Task: args}}); verb == "" && g.check(words) != nil && !call.JobVerb(args) {
			t.Fatalf("%q: a word that is or will be a verb", words)
		}
	}
	t.Logf("%v calls read by both, %d more refused by the grammar", both, refusedHere)
	for name := range parsers {
		if both[name] < 1000 {
			t.Errorf("only %d calls of %q were compared", both[name], name)
		}
	}
}

func values(t *testing.T, f *kong.Flag) []string {
	t.Helper()
	switch v := f.Target.Interface().(type) {
	case bool:
		if v {
			return []string{""}
		}
		return []string{"false"}
	case []string:
		return v
	case call.Once:
		return []string{v.Text}
	}
	t.Fatalf("--%s has a value of a kind that is not known", f.Name)
	return nil
}

// randomWords are words of a call: flags in every form, values that look like flags, and what a caller may slip.
func randomWords(r *rand.Rand) (words []string) {
	pick := func(list []string) string { return list[r.IntN(len(list))] }
	verb := pick(policy.Verbs(policy.Delegate))
	flags := policy.Flags(policy.Delegate, verb)
	if verb != "" {
		words = append(words, verb)
	}
	texts := []string{"x", "src", "-", "--", "", "-x", "-h", "--help", "--no-sandbox", "true", "false", "a=b", "=", "=x", "a,b", "-1", "ü", " ", "--title=a", "review", "fix", "--base", "${HOME}", "@file", "a\nb", `a\,b`}
	for range r.IntN(6) {
		f := flags[r.IntN(len(flags))]
		if r.IntN(20) == 0 {
			other := policy.Flags(policy.Delegate, pick(policy.Verbs(policy.Delegate)))
			f = other[r.IntN(len(other))]
		}
		switch r.IntN(12) {
		case 0:
			words = append(words, pick(texts))
		case 1, 2:
			words = append(words, "--"+f.Flag+"="+pick(texts))
		case 3:
			words = append(words, "--"+f.Flag)
		case 4:
			words = append(words, "--no-"+f.Flag)
		case 5:
			words = append(words, "-"+pick([]string{"f", "m", "s", "c", "h", "cf", "fc", "ms", "x"})+pick([]string{"", "", "x", "=x"}), pick(texts))
		case 6:
			words = append(words, "--"+f.Flag[:1+r.IntN(len(f.Flag))])
		default:
			words = append(words, "--"+f.Flag)
			if f.Value {
				words = append(words, pick(texts))
			}
		}
	}
	for range r.IntN(3) {
		words = append(words, pick(texts))
	}
	return words
}
